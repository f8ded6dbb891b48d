// Wherry: the parts of a request that matter to the HTTP cache.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherrySystem
import WherryTransport

/// The parts of a request that decide about stored responses.
package final class CacheRequest: Sendable {
    /// The method as sent; case-sensitive (RFC 9110, section 9.1).
    package let method: String
    package let target: HTTPURL
    /// The key of the responses: ``HTTPURL/cacheText`` without ignored query pairs.
    package let url: String
    /// All headers as sent, including those that the library adds.
    package let headers: Headers
    package let control: RequestCacheControl
    /// The names of ignored query pairs (K19).
    package let ignored: Set<String>
    /// Whether the transport removes content encodings. A body stored with one does not match then.
    package let decodes: Bool

    /// - Parameters:
    ///   - ignored: The names of ignored query pairs (K19).
    ///   - decodes: Whether the transport removes the content encoding of the response.
    package convenience init(
        method: String, target: HTTPURL, headers: Headers, ignored: Set<String> = [],
        decodes: Bool = false
    ) {
        self.init(
            method: method, target: target, headers: headers,
            control: RequestCacheControl(headers), ignored: ignored, decodes: decodes)
    }

    /// - Parameter control: The cache directives of the headers.
    package init(
        method: String, target: HTTPURL, headers: Headers, control: RequestCacheControl,
        ignored: Set<String>, decodes: Bool
    ) {
        self.method = method
        self.target = target
        url = target.cacheText(without: ignored)
        self.headers = headers
        self.control = control
        self.ignored = ignored
        self.decodes = decodes
    }

    /// Whether a stored response may satisfy the request (RFC 9111, section 4).
    package var isServable: Bool { method == "GET" || method == "HEAD" }

    /// Whether the method changes nothing at the origin; an unknown method may (RFC 9111, section
    /// 4.4).
    package var isSafe: Bool { Self.isSafe(method) }

    package static func isSafe(_ method: String) -> Bool {
        switch method {
        case "GET", "HEAD", "OPTIONS", "TRACE", "PROPFIND", "REPORT", "SEARCH", "QUERY": true
        default: false
        }
    }

    /// Whether the request has conditions that only the origin can evaluate (section 4.3.2).
    package var hasOriginConditions: Bool {
        headers.contains("if-match") || headers.contains("if-unmodified-since")
    }

    /// Whether the application wants a response only if it has changed.
    package var isConditional: Bool {
        headers.contains("if-none-match") || headers.contains("if-modified-since")
    }

    /// The entity tags of the application's `If-None-Match`; empty for `*` and for a malformed
    /// list.
    package var ownTags: [EntityTag] {
        let lines = headers.values("if-none-match")
        guard !lines.isEmpty, case .tags(let tags) = EntityTagList(lines.joined(separator: ","))
        else { return [] }
        return tags
    }
}

extension HTTPURL {
    /// The URL in the cache's canonical form (RFC 9110, section 4.2.3): scheme and host in lower
    /// case, an explicit port, path and query unchanged, no fragment.
    package var cacheText: String {
        guard let query else { return origin.text + path }
        return origin.text + path + "?" + query
    }

    /// Returns ``HTTPURL/cacheText`` without the query pairs of these names, even in lists.
    package func cacheText(without names: Set<String>) -> String {
        guard !names.isEmpty, let query else { return cacheText }
        let counted = query.split(separator: "&", omittingEmptySubsequences: false).filter { pair in
            let coded = Array(pair.prefix { $0 != "=" }.utf8)
            let name = String(decoding: PercentCoding.decode(coded) ?? coded, as: UTF8.self)
            return !names.contains(String(name.prefix { $0 != "[" }))
        }
        guard !counted.isEmpty else { return origin.text + path }
        return origin.text + path + "?" + counted.joined(separator: "&")
    }
}
