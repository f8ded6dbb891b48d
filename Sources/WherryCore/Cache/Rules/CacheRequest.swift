// Wherry: a request as the HTTP cache looks at it.
// SPDX-License-Identifier: Apache-2.0

import WherryTransport

/// The parts of a request that decide about stored answers.
package struct CacheRequest: Sendable {
    /// As it is sent; methods have case (RFC 9110, section 9.1).
    package let method: String
    package let target: HTTPURL
    /// What its answers are stored under: ``HTTPURL/cacheText``.
    package let url: String
    /// All fields as they are sent, those that the library writes too.
    package let headers: Headers
    package let control: RequestCacheControl

    package init(method: String, target: HTTPURL, headers: Headers) {
        self.method = method
        self.target = target
        url = target.cacheText
        self.headers = headers
        control = RequestCacheControl(headers)
    }

    /// Whether a stored answer may serve it (RFC 9111, section 4).
    package var isServable: Bool { method == "GET" || method == "HEAD" }

    /// Whether it changes nothing at the origin; an unknown method may (RFC 9111, section 4.4).
    package var isSafe: Bool {
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
}

extension HTTPURL {
    /// The URL in the one form that caches know it by (RFC 9110, section 4.2.3): scheme and host
    /// in lower case, the port always said, path and query as they are, no fragment.
    package var cacheText: String {
        guard let query else { return origin.text + path }
        return origin.text + path + "?" + query
    }
}
