// Wherry: the request for a page, and what its response says about the next one.
// SPDX-License-Identifier: Apache-2.0

import WherryCache
import WherryCore
import WherryHTTP
import WherryRequests
import WherryTransport

/// A page being loaded.
package struct PageLoad: Sendable, Hashable {
    /// The way to request a page.
    package enum Place: Sendable, Hashable {
        /// By page number.
        case number
        /// By the unchanged request pattern: the first page of a chain.
        case start
        /// By the token from the previous page.
        case token(JSON)
        /// By the absolute URL from the previous page.
        case url(String)
    }

    /// Distinguishes the current load from one that was given up.
    package let serial: UInt64
    /// The page number.
    package let page: Int64
    package let place: Place
    /// Whether the page replaces the list and must not come from a cache.
    package let isRefresh: Bool
}

/// The successor of a page.
package enum NextPage: Sendable, Hashable {
    /// No page.
    case end
    /// The page with the next number.
    case number
    case token(JSON)
    case url(String)
    /// The server names a page that must not be requested; the sentence says why.
    case refused(String)
}

/// The information in a response about its page and the next one.
package struct PageSignals: Sendable, Hashable {
    /// The number of items, before duplicates are removed.
    package var count: Int
    /// The value at the path of ``Paging/end``, or the target of the link.
    package var mark: JSON?
    /// The URL of the response, to resolve a relative link.
    package var url: String

    package init(count: Int, mark: JSON? = nil, url: String = "") {
        self.count = count
        self.mark = mark
        self.url = url
    }
}

extension Paging {
    /// Returns the request for a page.
    ///
    /// - Throws: `bad_value` for a streaming pattern; `bad_url` never otherwise.
    package func request(_ load: PageLoad, of pattern: Request) throws(WherryError) -> Request {
        guard !pattern.isStreamed else {
            throw WherryError(
                .badValue,
                "A page cannot be streamed: it is parsed as a whole. Do not stream its request.")
        }
        var request = pattern
        // Adding a parameter must not turn the request into a POST.
        request.method = pattern.effectiveMethod
        if load.isRefresh { request.cachePolicy = pattern.cachePolicy.bypassed }
        switch load.place {
        case .number:
            request.parameters[parameter] = .integer(value(of: load.page))
        case .start: break
        case .token(let token):
            request.parameters[parameter] = token
        case .url(let url):
            // The URL contains all parameters.
            request.url = url
            request.parameters = [:]
            request.query = []
            request.set(.defaultParameters, 0)
            return request
        }
        if let sizeParameter, let size { request.parameters[sizeParameter] = .integer(size) }
        return request
    }

    /// Returns the value of the page parameter.
    private func value(of page: Int64) -> Int64 {
        guard unit == .items, let size else { return page }
        let (index, isFar) = page.subtractingReportingOverflow(firstPage)
        let (offset, isFarther) = index.multipliedReportingOverflow(by: size)
        return isFar || isFarther ? .max : offset
    }

    /// Returns the elements of a page, and what its response says.
    ///
    /// - Throws: `bad_json_body` for a response without the array of items.
    package func read(
        _ response: Response
    ) throws(WherryError) -> (elements: [JSON], signals: PageSignals) {
        let json = try response.json()
        let elements: [JSON]
        switch json.value(at: items) {
        case .array(let found): elements = found
        // Some servers send these for an empty list.
        case .null, .string(""): elements = []
        default:
            let place = items.isEmpty ? "no array" : "no array at \"\(items)\""
            throw Self.unusable(response, "has \(place) for the items of a page")
        }
        var signals = PageSignals(count: elements.count, url: response.url)
        switch end {
        case .shortPage: break
        case .lastPage(let path), .total(let path), .cursor(let path):
            signals.mark = json.value(at: path)
        case .hasNext(let path):
            signals.mark = json.value(at: path)
            // Without this check, the list would silently end at the first page.
            if case .string(let text) = signals.mark, let first = text.first,
                !"yYtT1nNfF0".contains(first)
            {
                throw Self.unusable(
                    response,
                    "has a text at \"\(path)\" that is not a bool. If it is the URL of the next page, let the list end with its link."
                )
            }
        case .nextURL(let path):
            signals.mark = json.value(at: path)
            switch signals.mark {
            case nil, .null, .string: break
            default: throw Self.unusable(response, "has no URL of the next page at \"\(path)\"")
            }
        case .link:
            let links = response.headers.fields.filter { Headers.areEqual($0.name, "link") }
            signals.mark = LinkField.target("next", in: links.compactMap(\.value))
                .map { .string($0) }
        }
        return (elements, signals)
    }

    private static func unusable(_ response: Response, _ flaw: String) -> WherryError {
        WherryError(.badJSONBody, "The response of \(HTTPURL.redacted(response.url)) \(flaw)").with
        {
            $0.httpStatus = response.status
            $0.response = response
        }
    }

    /// Resolves a link, which must have the same origin as its page.
    static func next(link: String, on url: String) -> NextPage {
        guard let base = try? HTTPURL(url), let target = try? base.resolving(link) else {
            return .refused(
                "The link to the next page is not a valid URL: \(HTTPURL.redacted(link))"
            )
        }
        guard target.origin == base.origin else {
            return .refused(
                "The next page of \(base.origin.text) is at another origin, \(target.origin.text), so its headers and credentials are not sent there"
            )
        }
        return target.text == base.text ? .end : .url(target.text)
    }
}

extension CachePolicy? {
    /// The policy for a refresh: does not read the cache, but stores the response.
    fileprivate var bypassed: CachePolicy? {
        switch self {
        case nil, .use, .only, .refresh, .thenNetwork: .refresh
        case .protocol, .reload, .anyAge, .anyAgeOnly: .reload
        case .off: .off
        }
    }
}
