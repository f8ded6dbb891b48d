// Wherry: one page that is to be loaded, and what its answer says.
// SPDX-License-Identifier: Apache-2.0

import WherryTransport

/// One page on its way.
package struct PageLoad: Sendable, Hashable {
    /// How the page is asked for.
    package enum Place: Sendable, Hashable {
        /// By its number.
        case number
        /// As the pattern says: the first of a chain.
        case start
        /// By the token that the page before gave.
        case token(JSON)
        /// By the absolute URL that the page before gave.
        case url(String)
    }

    /// Tells a late end from one that counts.
    package let serial: UInt64
    /// The page's number.
    package let page: Int64
    package let place: Place
    /// It replaces everything, and no cache may answer it.
    package let isRefresh: Bool
}

/// What leads from one page to the next.
package enum NextPage: Sendable, Hashable {
    /// There is none.
    case end
    /// The number after it.
    case number
    case token(JSON)
    case url(String)
    /// The server names one that is not gone to; the sentence says why.
    case refused(String)
}

/// What an answer says about its page and the one after.
package struct PageSignals: Sendable, Hashable {
    /// How many items it has, before any is left out.
    package var count: Int
    /// What the path of the end leads to; of a link the target.
    package var mark: JSON?
    /// Where the answer came from, to resolve a link.
    package var url: String

    package init(count: Int, mark: JSON? = nil, url: String = "") {
        self.count = count
        self.mark = mark
        self.url = url
    }
}

extension Paging {
    /// The request for a page.
    ///
    /// - Throws: `bad_url` never but for a pattern that streams: that is `bad_value`.
    package func request(_ load: PageLoad, of pattern: Request) throws(WherryError) -> Request {
        guard !pattern.isStreamed else {
            throw WherryError(
                .badValue, "A page cannot be handed over in pieces: it is read as a whole")
        }
        var request = pattern
        // A parameter of ours does not make a POST of it.
        request.method = pattern.effectiveMethod
        if load.isRefresh { request.cachePolicy = pattern.cachePolicy.bypassed }
        switch load.place {
        case .number:
            request.parameters[parameter] = .integer(value(of: load.page))
        case .start: break
        case .token(let token):
            request.parameters[parameter] = token
        case .url(let url):
            // It says all there is to say.
            request.url = url
            request.parameters = [:]
            request.query = []
            request.set(.defaultParameters, 0)
            return request
        }
        if let sizeParameter, let size { request.parameters[sizeParameter] = .integer(size) }
        return request
    }

    /// The value of the parameter for a page.
    private func value(of page: Int64) -> Int64 {
        guard unit == .items, let size else { return page }
        let (index, isFar) = page.subtractingReportingOverflow(firstPage)
        let (offset, isFarther) = index.multipliedReportingOverflow(by: size)
        return isFar || isFarther ? .max : offset
    }

    /// The elements of a page, and what its answer says.
    ///
    /// - Throws: `bad_json_body` for an answer without the array of items.
    package func read(
        _ response: Response
    ) throws(WherryError) -> (elements: [JSON], signals: PageSignals) {
        let json = try response.json()
        let elements: [JSON]
        switch json.value(at: items) {
        case .array(let found): elements = found
        // What some servers send for an empty list.
        case .null, .string(""): elements = []
        default:
            let place = items.isEmpty ? "no array" : "no array at \"\(items)\""
            throw WherryError(
                .badJSONBody,
                "The answer of \(RedirectRules.redacted(response.url)) has \(place) for the items of a page"
            ).with {
                $0.httpStatus = response.status
                $0.response = response
            }
        }
        var signals = PageSignals(count: elements.count, url: response.url)
        switch end {
        case .shortPage: break
        case .lastPage(let path), .hasNext(let path), .total(let path), .cursor(let path):
            signals.mark = json.value(at: path)
        case .link:
            let links = response.headers.fields.filter { Headers.areEqual($0.name, "link") }
            signals.mark = LinkField.target("next", in: links.compactMap(\.value))
                .map { .string($0) }
        }
        return (elements, signals)
    }

    /// Where a link leads: resolved, and on the same origin as the page it stands on.
    static func next(link: String, on url: String) -> NextPage {
        guard let base = try? HTTPURL(url), let target = try? base.resolving(link) else {
            return .refused(
                "The next page is at \(RedirectRules.redacted(link)), which is no URL that can be gone to"
            )
        }
        guard target.origin == base.origin else {
            return .refused(
                "The next page of \(base.origin.text) is at another origin, \(target.origin.text), which its fields and credentials do not go to"
            )
        }
        return target.text == base.text ? .end : .url(target.text)
    }
}

extension CachePolicy? {
    /// The policy of a refresh: what is stored does not answer, and the answer is stored.
    fileprivate var bypassed: CachePolicy? {
        switch self {
        case nil, .use, .only, .refresh, .thenNetwork: .refresh
        case .protocol, .reload, .anyAge, .anyAgeOnly: .reload
        case .off: .off
        }
    }
}
