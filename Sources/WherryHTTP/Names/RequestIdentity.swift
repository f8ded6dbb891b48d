// Wherry: identifiers of requests and downloads.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// Identifiers of requests and downloads, for caches and partial files: MD5 digests of their parts,
/// joined by `_`.
///
/// They equal the identifiers of SJNetwork with sorted parameter names:
/// `host_url_method_parameters` for a request and `host_url_` for a download. A prefix of complete
/// parts matches all identifiers with those parts.
package enum RequestIdentity {
    /// Returns the identifier of a request.
    ///
    /// - Parameters:
    ///   - base: The base URL at the time of the call; `nil` if there is none or it is ignored.
    ///   - url: The URL as the caller wrote it.
    ///   - method: The method as sent: `GET`.
    ///   - parameters: The caller's parameters, before default ones are merged; `nil` for none,
    ///     which differs from an empty object. Fails with `bad_parameters` if they are not valid
    ///     JSON.
    package static func request(
        base: String?, url: String, method: String, parameters: JSON?
    ) throws(JSONError) -> String {
        request(
            base: base, url: url, method: method, printed: try parameters?.printed(.pretty))
    }

    /// Returns the identifier of a request with parameters already printed with sorted names.
    package static func request(
        base: String?, url: String, method: String, printed: [UInt8]?
    ) -> String {
        prefix(base: base, url: url) + own(method: method, printed: printed)
    }

    /// Returns the part of a request's identifier after the URL's prefix.
    package static func own(method: String, printed: [UInt8]?) -> String {
        let prefix = self.prefix(method: method)
        return printed.map { prefix + digest("Parameters:", $0) } ?? prefix
    }

    /// Returns the identifier of a download.
    package static func download(base: String?, url: String) -> String {
        prefix(base: base, url: url)
    }

    /// Returns the common prefix of the identifiers of all requests to a URL, including the last
    /// `_`.
    package static func prefix(base: String?, url: String) -> String {
        let host = digest("Host:", Array((base ?? "(null)").utf8))
        return "\(host)_\(digest("Url:", Array(url.utf8)))_"
    }

    /// Returns the common part of the identifiers of all requests with a method, after the URL's
    /// prefix and including the last `_`.
    package static func prefix(method: String) -> String {
        digest("Method:", Array(method.utf8)) + "_"
    }

    private static func digest(_ label: String, _ bytes: [UInt8]) -> String {
        Hex.encode(Digest.hash(of: Array(label.utf8) + bytes, .md5))
    }
}
