// Wherry: settings for paged lists.
// SPDX-License-Identifier: Apache-2.0

import WherryCore
import WherryHTTP

/// The paging protocol of a server: the path of the items, the request for a page, and the
/// criterion for the last page.
///
///     var paging = Paging(items: "data/list")
///     paging.parameter = "page"
///     paging.firstPage = 1
///     paging.end = .hasNext("data/more")
public struct Paging: Sendable {
    /// The criterion for the last page.
    public enum End: Sendable, Hashable {
        /// The page has fewer items than ``Paging/size``, or than the previous page if no size is
        /// set. A page without items is always the last. The default.
        case shortPage
        /// The number at this path is the last page number. If it is missing, this page is the
        /// last.
        case lastPage(String)
        /// The bool at this path is false or missing.
        case hasNext(String)
        /// The number of items received reaches the number at this path, or the page has no items.
        /// Items are counted with ``Paging/size`` if set, otherwise since the first page. If the
        /// number is missing, this page is the last.
        case total(String)
        /// The token at this path, text or a number, is sent as ``Paging/parameter`` for the next
        /// page; the first request has no token. If it is missing, null, "" or repeated, this page
        /// is the last.
        case cursor(String)
        /// The Link header with `rel="next"` (RFC 8288) contains the URL of the next page, which
        /// must have the same origin. If it is missing or repeated, this page is the last.
        case link
        /// Like ``link``, but the URL is the text at this path of the response. If it is missing,
        /// null, or "", this page is the last.
        case nextURL(String)
    }

    /// The unit of the page parameter.
    public enum Unit: Sendable, Hashable {
        /// Pages: the parameter is the page number. The default.
        case pages
        /// Items: the parameter is the number of items before the page. Requires ``Paging/size``.
        case items
    }

    /// The path of the array of items in a response; "" if the response itself is the array.
    public var items: String
    /// The name of the page parameter. Default: "nextPage".
    public var parameter = "nextPage"
    /// The number of the first page; with ``Unit/items`` its offset is still 0. Default: 0.
    public var firstPage: Int64 = 0
    /// The unit of ``parameter``. Default: pages.
    public var unit = Unit.pages
    /// The number of items per page; `nil`, the default, leaves it to the server.
    public var size: Int64?
    /// The name of the parameter for ``size``; `nil`, the default, sends none.
    public var sizeParameter: String?
    /// The criterion for the last page.
    public var end = End.shortPage
    /// The path of the key of an item: of several items with an equal key only one is kept (O14).
    /// `nil`, the default, keeps all items. Items without a key are always kept.
    public var key: String?
    /// Whether the latest of several items with an equal key is kept, in the position of the first.
    /// By default the first one is kept.
    public var newestWins = false
    /// The number of pages to keep in memory and show again without a request (O13). The least
    /// recently used page is dropped first. 0, the default, keeps none.
    public var keptPages = 0

    /// Creates settings for pages whose items are at a path.
    public init(items: String = "") { self.items = items }

    /// Throws `bad_value` for inconsistent settings.
    package func check() throws(WherryError) {
        if let size, size < 1 {
            throw WherryError(.badValue, "The page size cannot be \(size). Use 1 or more.")
        }
        if unit == .items && size == nil {
            throw WherryError(
                .badValue,
                "Pages with an offset need a page size. Set the size.")
        }
        if sizeParameter != nil && size == nil {
            throw WherryError(
                .badValue, "The page size has a parameter name but no value. Set the size.")
        }
        if parameter.isEmpty && !usesLinks {
            throw WherryError(.badValue, "The page parameter has no name. Set the name.")
        }
        guard (-Self.mostPages...Self.mostPages).contains(firstPage) else {
            throw WherryError(.badValue, "The first page cannot have the number \(firstPage)")
        }
        if keptPages < 0 {
            throw WherryError(
                .badValue, "The number of kept pages cannot be \(keptPages). Use 0 or more.")
        }
        if unit == .items {
            guard !isChained else {
                throw WherryError(
                    .badValue,
                    "Pages with an offset cannot be combined with a cursor or a link. Use one of them."
                )
            }
        }
    }

    /// The largest page number: exact in every JSON parser.
    static let mostPages: Int64 = 1 << 53

    /// Whether each page can be requested only after the previous one.
    var isChained: Bool {
        switch end {
        case .cursor, .link, .nextURL: true
        case .shortPage, .lastPage, .hasNext, .total: false
        }
    }

    /// Whether the URL of the next page is in the response, so that no parameter is sent.
    var usesLinks: Bool {
        switch end {
        case .link, .nextURL: true
        case .shortPage, .lastPage, .hasNext, .total, .cursor: false
        }
    }
}
