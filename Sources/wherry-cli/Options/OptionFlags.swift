// Wherry: what the flags that are one option each do.
// SPDX-License-Identifier: Apache-2.0
// Written by scripts/make-options from options.toml.

import ArgumentParser
import Wherry

extension ConnectionOptions {
    /// Sets the options of a client that one flag of this group sets each.
    func applyFlags(to configuration: inout Client.Configuration) {
        if let idleTimeout {
            configuration.values.options[.idleTimeout] = idleTimeout.duration.settingMilliseconds
        }
        if let connectTimeout {
            configuration.values.options[.connectTimeout] =
                connectTimeout.duration.settingMilliseconds
        }
        if let totalTimeout {
            configuration.values.options[.totalTimeout] = totalTimeout.duration.settingMilliseconds
        }
        if let maxRedirects { configuration.values.options[.maxRedirects] = Int64(maxRedirects) }
        if let waitForNetwork {
            configuration.values.options[.waitForNetwork] =
                waitForNetwork.duration.settingMilliseconds
        }
        if denyMetered { configuration.values.options[.denyMetered] = 1 }
        if requireVerifiedLength { configuration.values.options[.requireVerifiedLength] = 1 }
    }

    /// Checks the numbers of these flags.
    func validateFlags() throws {
        if let maxRedirects, !(0...100).contains(maxRedirects) {
            throw ValidationError(
                "--max-redirects takes 0 to 100, not \(maxRedirects).")
        }
    }
}

extension ProxyOptions {
    /// Sets the options of a client that one flag of this group sets each.
    func applyFlags(to configuration: inout Client.Configuration) {
        if let proxy { configuration.values.texts[.proxy] = proxy }
        if let proxyHTTP { configuration.values.texts[.proxyHTTP] = proxyHTTP }
        if let proxyHTTPS { configuration.values.texts[.proxyHTTPS] = proxyHTTPS }
    }
}

extension TLSOptions {
    /// Sets the options of a client that one flag of this group sets each.
    func applyFlags(to configuration: inout Client.Configuration) {
        if httpsOnly { configuration.values.options[.httpsOnly] = 1 }
        if requireTLS13 { configuration.values.options[.requireTLS13] = 1 }
        if requireStaple { configuration.values.options[.requireStaple] = 1 }
        if let caFile { configuration.values.texts[.caFile] = caFile }
        if let caDirectory { configuration.values.texts[.caDirectory] = caDirectory }
        if let crlFile { configuration.values.texts[.crlFile] = crlFile }
    }
}
