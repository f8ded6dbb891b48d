// Wherry: what the flags that are one option each do.
// SPDX-License-Identifier: Apache-2.0
// Written by scripts/make-options from options.toml.

import ArgumentParser
import WherryAsync

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

extension RequestOptions {
    /// Sets the options of a request that one flag of this group sets each.
    func applyFlags(to request: inout Request) {
        if let maxRetries { request.set(.maxRetries, Int64(maxRetries)) }
    }

    /// Checks the numbers of these flags.
    func validateFlags() throws {
        if let maxRetries, !(0...1000).contains(maxRetries) {
            throw ValidationError(
                "--retries takes 0 to 1000, not \(maxRetries).")
        }
    }
}

extension BodyOptions {
    /// Sets the options of a request that one flag of this group sets each.
    func applyFlags(to request: inout Request) {
        if let bodyDigest { request.set(.bodyDigest, bodyDigest.number) }
        if let bodyCoding { request.set(.bodyCoding, bodyCoding.number) }
    }
}

extension DownloadCommand {
    /// Sets the options of a request that one flag of this group sets each.
    func applyFlags(to request: inout Request) {
        if let maxRetries { request.set(.maxRetries, Int64(maxRetries)) }
        if let maxReceiveSpeed { request.set(.maxReceiveSpeed, maxReceiveSpeed.number) }
        if makeDirectories { request.set(.makeDirectories, 1) }
        if let segments { request.set(.segments, segments.number) }
        if let stallTimeout {
            request.set(.stallTimeout, stallTimeout.duration.settingMilliseconds)
        }
        if keepServerTime { request.set(.keepServerTime, 1) }
    }

    /// Checks the numbers of these flags.
    func validateFlags() throws {
        if let maxRetries, !(0...1000).contains(maxRetries) {
            throw ValidationError(
                "--retries takes 0 to 1000, not \(maxRetries).")
        }
    }
}

extension UploadCommand {
    /// Sets the options of a request that one flag of this group sets each.
    func applyFlags(to request: inout Request) {
        if let separateImages { request.set(.separateImages, Int64(separateImages)) }
        if let imageRetries { request.set(.imageRetries, Int64(imageRetries)) }
        if extendedNames { request.set(.extendedNames, 1) }
        if let bodyDigest { request.set(.bodyDigest, bodyDigest.number) }
        if let partDigests { request.set(.partDigests, partDigests.number) }
    }

    /// Checks the numbers of these flags.
    func validateFlags() throws {
        if let separateImages, !(1...1000).contains(separateImages) {
            throw ValidationError(
                "--separate takes 1 to 1000, not \(separateImages).")
        }
        if let imageRetries, !(0...1000).contains(imageRetries) {
            throw ValidationError(
                "--retries takes 0 to 1000, not \(imageRetries).")
        }
    }
}
