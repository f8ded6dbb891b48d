// Wherry: a Host header that a caller sets.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem
import WherryTransport

/// A `Host` header of the caller's makes a server respond for another host than the one in the URL.
/// Cookies and cached responses belong to the URL. Such a request therefore uses neither (SEC-U11).
extension Request {
    /// The `Host` header that the request or its client sets; `nil` if the host of the URL is sent.
    package func ownHost(_ settings: ClientSettings) -> String? {
        headers.isEmpty ? settings.ownHost : headers["Host"] ?? settings.ownHost
    }
}

extension Headers {
    /// Refuses a second `Host`, since servers and proxies do not agree on which of two counts, and a
    /// request without one.
    package func checkHost() throws(WherryError) {
        var count = 0
        for field in fields where Headers.areEqual(field.name, "Host") {
            count += 1
            guard field.value != nil else {
                throw WherryError(
                    .badHeader, "The header Host cannot be left out: set a host, or remove the header.")
            }
        }
        guard count > 1 else { return }
        throw WherryError(
            .badHeader, "The header Host cannot be sent twice: set one value and add no other.")
    }
}

extension RequestTransfer {
    /// Whether the current hop has the cookies of the jar, and the jar takes those of the response.
    func usesJar(_ state: State) -> Bool {
        options[.cookies] == 1 && (state.edited ?? request).ownHost(settings) == nil
    }
}

extension DownloadTransfer {
    /// Whether the download sends and takes cookies.
    var usesJar: Bool { options[.cookies] == 1 && request.ownHost(settings) == nil }
}

extension DownloadIdentity {
    /// The identity of a request at a URL. Partial files of two hosts never mix.
    init(url: String, ownHost: String?) {
        guard let ownHost else {
            self.init(url: url)
            return
        }
        // No URL holds a line feed.
        let host = "\nHost: " + ownHost.asciiLowercased
        let plain = url.prefix { $0 != "#" }
        self.init(
            whole: plain + host, withoutQuery: plain.prefix { $0 != "?" } + host)
    }
}
