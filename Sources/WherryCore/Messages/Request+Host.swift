// Wherry: custom Host headers.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem
import WherryTransport

/// A custom `Host` header makes a server respond for another host than the one in the URL. Cookies
/// and cached responses belong to the URL, so such a request uses neither (SEC-U11).
extension Request {
    /// The `Host` header that the request or its client sets. `nil` if the URL's host is sent.
    package func ownHost(_ settings: ClientSettings) -> String? {
        headers.isEmpty ? settings.ownHost : headers["Host"] ?? settings.ownHost
    }
}

extension Headers {
    /// Rejects a suppressed `Host`, and a second one, since servers and proxies disagree on which
    /// of two applies.
    package func checkHost() throws(WherryError) {
        var count = 0
        for field in fields where Headers.areEqual(field.name, "Host") {
            count += 1
            guard field.value != nil else {
                throw WherryError(
                    .badHeader,
                    "The header Host cannot be left out. Set a host, or remove the header.")
            }
        }
        guard count > 1 else { return }
        throw WherryError(
            .badHeader, "The header Host cannot be sent twice. Set only one value.")
    }
}

extension RequestTransfer {
    /// Whether the current hop sends the jar's cookies and stores those of the response.
    func usesJar(_ state: State) -> Bool {
        options.cookieHandling != .off && (state.edited ?? request).ownHost(settings) == nil
    }
}

extension DownloadTransfer {
    /// Whether the download sends and stores cookies.
    var usesJar: Bool { options.cookieHandling != .off && request.ownHost(settings) == nil }
}

extension DownloadIdentity {
    /// Creates the identity of a download with a custom `Host`. Partial files of two hosts never
    /// mix.
    package init(url: String, ownHost: String?) {
        guard let ownHost else {
            self.init(url: url)
            return
        }
        // No URL contains a line feed, so this cannot equal the identity of another URL.
        let host = "\nHost: " + ownHost.asciiLowercased
        let plain = url.prefix { $0 != "#" }
        self.init(
            whole: plain + host, withoutQuery: plain.prefix { $0 != "?" } + host)
    }
}
