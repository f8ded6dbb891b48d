// Wherry: a request as the HTTP cache looks at it.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem
import WherryTransport

/// The parts of a request that decide about stored answers.
package final class CacheRequest: Sendable {
    /// As it is sent; methods have case (RFC 9110, section 9.1).
    package let method: String
    package let target: HTTPURL
    /// What its answers are stored under: ``HTTPURL/cacheText``, without what does not count.
    package let url: String
    /// All fields as they are sent, those that the library writes too.
    package let headers: Headers
    package let control: RequestCacheControl
    /// Names of pairs in a query that do not count (K19).
    package let ignored: Set<String>
    /// The transport undoes content codings for it: a body that is stored with one does not serve.
    package let decodes: Bool

    /// - Parameters:
    ///   - ignored: names of pairs in the query that do not count (K19).
    ///   - decodes: whether the transport undoes the content coding of the answer.
    package convenience init(
        method: String, target: HTTPURL, headers: Headers, ignored: Set<String> = [],
        decodes: Bool = false
    ) {
        self.init(
            method: method, target: target, headers: headers,
            control: RequestCacheControl(headers), ignored: ignored, decodes: decodes)
    }

    /// - Parameter control: what the fields say to caches.
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

    /// Whether a stored answer may serve it (RFC 9111, section 4).
    package var isServable: Bool { method == "GET" || method == "HEAD" }

    /// Whether it changes nothing at the origin; an unknown method may (RFC 9111, section 4.4).
    package var isSafe: Bool { Self.isSafe(method) }

    package static func isSafe(_ method: String) -> Bool {
        switch method {
        case "GET", "HEAD", "OPTIONS", "TRACE", "PROPFIND", "REPORT", "SEARCH", "QUERY": true
        default: false
        }
    }

    /// Whether the request has conditions that only the origin can judge (section 4.3.2).
    package var hasOriginConditions: Bool {
        headers.contains("if-match") || headers.contains("if-unmodified-since")
    }

    /// Whether the application asked for an answer only if it has changed.
    package var isConditional: Bool {
        headers.contains("if-none-match") || headers.contains("if-modified-since")
    }

    /// The entity tags of the application's own `If-None-Match`; none for `*` and for no list.
    package var ownTags: [EntityTag] {
        let lines = headers.values("if-none-match")
        guard !lines.isEmpty, case .tags(let tags) = EntityTagList(lines.joined(separator: ","))
        else { return [] }
        return tags
    }
}

extension HTTPURL {
    /// The URL in the one form that caches know it by (RFC 9110, section 4.2.3): scheme and host
    /// in lower case, the port always said, path and query as they are, no fragment.
    package var cacheText: String {
        guard let query else { return origin.text + path }
        return origin.text + path + "?" + query
    }

    /// The same without the pairs of the query that have such a name; members of a list are pairs
    /// too.
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
