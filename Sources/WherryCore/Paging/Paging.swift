// Wherry: how a server hands out a list in pages.
// SPDX-License-Identifier: Apache-2.0

/// How a server hands out a list: where the items are, how a page is asked for, and how its answer
/// says that it is the last (O10, O11, O18).
///
///     var paging = Paging(items: "data/list")
///     paging.parameter = "page"
///     paging.firstPage = 1
///     paging.end = .hasNext("data/more")
public struct Paging: Sendable {
    /// How the last page is known.
    public enum End: Sendable, Hashable {
        /// It has fewer items than were asked for with ``Paging/size``, else than the page before;
        /// a page without items is always the last. The default.
        case shortPage
        /// The number at this path is that of the last page. Missing: this one is.
        case lastPage(String)
        /// The bool at this path is false, or missing.
        case hasNext(String)
        /// So many items as the number at this path says have come, or a page has none. The pages
        /// are counted with ``Paging/size`` if that is set, else by what came since the first page.
        /// Missing: this one is the last.
        case total(String)
        /// The token at this path, text or a number, is sent as ``Paging/parameter`` for the next
        /// page; the first one is asked for without. Missing, null, "" and the same token again:
        /// this one is the last.
        case cursor(String)
        /// The target of the Link field with `rel="next"` (RFC 8288) is the next page's URL, which
        /// must be on the same origin. None, and the same again: this one is the last.
        case link
    }

    /// What the page's parameter counts.
    public enum Unit: Sendable, Hashable {
        /// Pages: the parameter is the page's number. The default.
        case pages
        /// Items: the parameter is how many items come before the page, by ``Paging/size``, which
        /// must be set.
        case items
    }

    /// Where the array of items stands in an answer; "" is the answer itself.
    public var items: String
    /// The name of the parameter that says which page is wanted.
    public var parameter = "nextPage"
    /// The number of the first page; with ``Unit/items`` its offset is 0 all the same.
    public var firstPage: Int64 = 0
    /// What ``parameter`` counts.
    public var unit = Unit.pages
    /// How many items a page has; `nil`, the default, leaves it to the server.
    public var size: Int64?
    /// The name of the parameter that ``size`` is sent as; `nil`, the default, sends none.
    public var sizeParameter: String?
    /// How the last page is known.
    public var end = End.shortPage
    /// Where an item has the value it is known by: of several with an equal one only one is kept
    /// (O14). `nil`, the default, keeps all; so does an item without such a value.
    public var key: String?
    /// Of items with an equal key the one that came last is kept, at the place of the first. By
    /// default the first one is.
    public var newestWins = false
    /// How many pages are kept in memory to be shown again without a request (O13); the one not
    /// used for longest goes first. 0, the default, keeps none.
    public var keptPages = 0

    /// Pages whose items stand at a path.
    public init(items: String = "") { self.items = items }

    /// Throws `bad_value` for settings that do not go together.
    package func check() throws(WherryError) {
        if let size, size < 1 {
            throw WherryError(.badValue, "A page of \(size) items is none")
        }
        if unit == .items && size == nil {
            throw WherryError(
                .badValue,
                "Pages that are asked for by an offset need a size, which is their distance")
        }
        if sizeParameter != nil && size == nil {
            throw WherryError(.badValue, "The size of a page has a name and no value")
        }
        if parameter.isEmpty && end != .link {
            throw WherryError(.badValue, "The parameter of the page has no name")
        }
        guard (-Self.mostPages...Self.mostPages).contains(firstPage) else {
            throw WherryError(.badValue, "The first page cannot have the number \(firstPage)")
        }
        if keptPages < 0 {
            throw WherryError(.badValue, "\(keptPages) pages cannot be kept")
        }
        if unit == .items {
            switch end {
            case .cursor, .link:
                throw WherryError(
                    .badValue, "A page is asked for by an offset, or by what the one before says")
            default: break
            }
        }
    }

    /// The greatest number of a page: what every JSON reader takes exactly.
    static let mostPages: Int64 = 1 << 53

    /// Whether a page can be asked for only after the one before.
    var isChained: Bool {
        switch end {
        case .cursor, .link: true
        default: false
        }
    }
}
