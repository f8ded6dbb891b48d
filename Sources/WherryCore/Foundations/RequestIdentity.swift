// Wherry: the name by which caches and partial downloads know a request.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// Identifiers of requests and downloads: MD5 digests of their parts, joined by `_`.
///
/// They are SJNetwork's, with sorted parameter names: `host_url_method_parameters` for a request
/// and `host_url_` for a download. A prefix of whole parts names everything with those parts.
package enum RequestIdentity {
    /// The identifier of a request.
    ///
    /// - Parameters:
    ///   - base: the base URL at the time of the call; `nil` where there is none or it is ignored.
    ///   - url: the URL as the caller wrote it.
    ///   - method: as it is sent: `GET`.
    ///   - parameters: the caller's own, before default ones are merged; `nil` for none, which is
    ///     not the same as an empty object. What JSON cannot hold is `bad_parameters`.
    package static func request(
        base: String?, url: String, method: String, parameters: JSON?
    ) throws(JSONError) -> String {
        request(
            base: base, url: url, method: method, printed: try parameters?.printed(.pretty))
    }

    /// The same with parameters that have been printed with sorted names.
    package static func request(
        base: String?, url: String, method: String, printed: [UInt8]?
    ) -> String {
        prefix(base: base, url: url) + own(method: method, printed: printed)
    }

    /// What follows the URL's prefix in the identifier of a request.
    package static func own(method: String, printed: [UInt8]?) -> String {
        let prefix = self.prefix(method: method)
        return printed.map { prefix + digest("Parameters:", $0) } ?? prefix
    }

    /// The identifier of a download.
    package static func download(base: String?, url: String) -> String {
        prefix(base: base, url: url)
    }

    /// What the identifiers of all requests to a URL start with, the last `_` included.
    package static func prefix(base: String?, url: String) -> String {
        let host = digest("Host:", Array((base ?? "(null)").utf8))
        return "\(host)_\(digest("Url:", Array(url.utf8)))_"
    }

    /// What follows the URL's prefix in the identifiers of all requests by a method, the last `_`
    /// included.
    package static func prefix(method: String) -> String {
        digest("Method:", Array(method.utf8)) + "_"
    }

    private static func digest(_ label: String, _ bytes: [UInt8]) -> String {
        Hex.encode(Digest.hash(of: Array(label.utf8) + bytes, .md5))
    }
}
