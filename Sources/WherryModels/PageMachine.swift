// Wherry: the state of a paged list.
// SPDX-License-Identifier: Apache-2.0

import WherryCore
import WherryHTTP

/// An event of a paged list, reported in order (O12).
public enum PageEvent: Sendable {
    /// A page is about to be requested.
    case willLoad(page: Int64)
    /// The first page was loaded again and replaced the list.
    case refreshed(page: Int64)
    /// A page was loaded, or came from memory, and is in the list.
    case loaded(page: Int64)
    /// A page failed to load. The list and its position are unchanged.
    case failed(page: Int64, WherryError)
    /// A load ended, successfully or not; the last event of every load.
    case finished
    /// The page before the first one was requested, which refreshes the list.
    case firstPage
    /// The page after the last one was requested; nothing is loaded.
    case lastPage
}

/// The key of an item, for removing duplicates.
package struct ItemKey: Hashable, Sendable {
    private let value: any Hashable & Sendable

    package init(_ value: any Hashable & Sendable) { self.value = value }

    package static func == (a: ItemKey, b: ItemKey) -> Bool {
        AnyHashable(a.value) == AnyHashable(b.value)
    }
    package func hash(into hasher: inout Hasher) { hasher.combine(AnyHashable(value)) }
}

/// The state of a paged list. Pure: methods return the next step.
///
/// At most one page is being loaded: idle -> loading -> idle. Only success changes the list.
package struct PageMachine<Item: Sendable>: Sendable {
    /// An item of a page.
    package struct Entry: Sendable {
        package var item: Item
        package var key: ItemKey?

        package init(_ item: Item, key: ItemKey? = nil) {
            self.item = item
            self.key = key
        }
    }

    /// The next step for the caller.
    package enum Step: Sendable {
        /// Request this page, then call `succeed` or `fail` with it.
        case load(PageLoad)
        /// None: the page was in memory and is now in the list.
        case done
        /// None: this was the last page.
        case end
    }

    private struct Page: Sendable {
        var entries: [Entry]
        var signals: PageSignals
        /// The order of arrival, to decide which of two equal items is newer.
        var arrival: UInt64
    }

    private let paging: Paging
    /// Adjacent pages, by number: `first`, `first + 1` and so on.
    private var pages: [Page] = []
    private var first: Int64 = 0
    private var loading: PageLoad?
    private var serial: UInt64 = 0
    private var kept: PageCache<Page>
    /// The way to request each page of a chain, as far as known.
    private var places: [Int64: PageLoad.Place] = [:]
    private var next = NextPage.number

    /// The position of an item with a key, and the page that it came with.
    private struct Known: Sendable {
        /// The position in the list, including items that were handed over.
        var place: Int
        var arrival: UInt64
    }
    private var known: [ItemKey: Known] = [:]
    /// The state of the list before the last loaded page.
    private struct Before: Sendable {
        var pages: [Page]
        var first: Int64
        var page: Int64?
        var next: NextPage
        var kept: PageCache<Page>
        var places: [Int64: PageLoad.Place]
    }
    private var before: Before?
    /// The number of items handed over.
    private var taken = 0
    /// The number of pages, from the first one, without items left to hand over.
    private var emptied = 0

    /// The last loaded page; `nil` before the first.
    package private(set) var page: Int64?
    /// The items of all pages in the list, without duplicates.
    package private(set) var items: [Item] = []

    package init(_ paging: Paging) {
        self.paging = paging
        kept = PageCache(limit: paging.keptPages)
    }

    package var isLoading: Bool { loading != nil }
    /// Whether a page follows the last loaded one, according to its response. True before the first
    /// load.
    package var hasNext: Bool { page == nil || next != .end }
    /// Whether a page precedes the last loaded one.
    package var hasPrevious: Bool { page.map { $0 > paging.firstPage } ?? false }
    /// The page numbers in the list.
    package var loadedPages: ClosedRange<Int64>? {
        pages.isEmpty ? nil : first...(first + Int64(pages.count - 1))
    }

    // MARK: Calls

    /// Loads the first page again, bypassing all caches. The list is replaced when it arrives.
    package mutating func refresh(
        _ tell: (PageEvent) -> Void
    ) throws(WherryError) -> Step {
        try beIdle()
        return .load(begin(paging.firstPage, isRefresh: true, tell))
    }

    /// Loads the page after the last loaded one; initially the first page.
    package mutating func loadNext(_ tell: (PageEvent) -> Void) throws(WherryError) -> Step {
        try beIdle()
        guard let page else { return try show(paging.firstPage, tell) }
        switch next {
        case .refused(let why): throw WherryError(.redirectRefused, why)
        case .number, .token, .url:
            return try show(page + 1, tell)
        case .end: break
        }
        tell(.lastPage)
        return .end
    }

    /// Loads the page before the last loaded one; refreshes on the first page.
    package mutating func loadPrevious(_ tell: (PageEvent) -> Void) throws(WherryError) -> Step {
        try beIdle()
        guard let page, page > paging.firstPage else {
            tell(.firstPage)
            return try refresh(tell)
        }
        return try show(page - 1, tell)
    }

    /// Loads any page. A page that is neither in the list nor adjacent to it starts a new list.
    ///
    /// - Throws: `bad_value` for a page before the first, and in a chain for a page that no loaded
    ///   page leads to.
    package mutating func load(
        _ page: Int64, _ tell: (PageEvent) -> Void
    ) throws(WherryError) -> Step {
        try beIdle()
        guard page >= paging.firstPage else {
            throw WherryError(
                .badValue, "Page \(page) comes before the first one, \(paging.firstPage)")
        }
        guard page <= Paging.mostPages else {
            throw WherryError(.badValue, "There is no page \(page): the last page number is 2^53")
        }
        return try show(page, tell)
    }

    private func beIdle() throws(WherryError) {
        if let loading {
            throw WherryError(
                .busy,
                "Page \(loading.page) is still loading, and only one page can load at a time. Wait for it."
            )
        }
    }

    private mutating func show(
        _ page: Int64, _ tell: (PageEvent) -> Void
    ) throws(WherryError) -> Step {
        if paging.isChained && page != paging.firstPage && places[page] == nil {
            throw WherryError(
                .badValue,
                "Page \(page) cannot be loaded before the page that leads to it. Load the pages in order."
            )
        }
        if let found = kept.take(page) {
            before = nil
            tell(.willLoad(page: page))
            put(found, at: page)
            tell(.loaded(page: page))
            tell(.finished)
            return .done
        }
        return .load(begin(page, isRefresh: false, tell))
    }

    private mutating func begin(
        _ page: Int64, isRefresh: Bool, _ tell: (PageEvent) -> Void
    ) -> PageLoad {
        serial += 1
        before = nil
        let place =
            page == paging.firstPage && paging.isChained ? .start : places[page] ?? .number
        let load = PageLoad(serial: serial, page: page, place: place, isRefresh: isRefresh)
        loading = load
        tell(.willLoad(page: page))
        return load
    }

    // MARK: Results

    /// Adds a loaded page. Ignores a page whose load was given up.
    ///
    /// - Parameter isOnTrial: Whether ``takeBack()`` may follow. Default: false.
    package mutating func succeed(
        _ load: PageLoad, _ entries: [Entry], _ signals: PageSignals, isOnTrial: Bool = false,
        _ tell: (PageEvent) -> Void
    ) {
        guard load == loading else { return }
        loading = nil
        serial += 1
        if isOnTrial {
            before = Before(
                pages: pages, first: first, page: self.page, next: next, kept: kept, places: places)
        }
        if load.isRefresh {
            kept.removeAll()
            places = [:]
            pages = []
        }
        let page = Page(entries: entries, signals: signals, arrival: serial)
        kept.put(page, at: load.page)
        put(page, at: load.page)
        tell(load.isRefresh ? .refreshed(page: load.page) : .loaded(page: load.page))
        tell(.finished)
    }

    /// Handles the failure of a load; the list is unchanged.
    package mutating func fail(
        _ load: PageLoad, _ error: WherryError, _ tell: (PageEvent) -> Void
    ) {
        guard load == loading else { return }
        loading = nil
        tell(.failed(page: load.page, error))
        tell(.finished)
    }

    /// Removes the last loaded page: the list is as before, and the same call requests the page
    /// again.
    ///
    /// - Returns: `false` if no page was loaded since the last load began.
    package mutating func takeBack() -> Bool {
        guard let before, loading == nil else { return false }
        self.before = nil
        pages = before.pages
        first = before.first
        page = before.page
        next = before.next
        kept = before.kept
        places = before.places
        collectAll()
        return true
    }

    // MARK: List

    private mutating func put(_ new: Page, at number: Int64) {
        let last = first + Int64(pages.count)
        if !pages.isEmpty && number == last {
            pages.append(new)
            collect(new)
        } else if !pages.isEmpty && number >= first && number < last {
            pages[Int(number - first)] = new
            collectAll()
        } else if !pages.isEmpty && number == first - 1 {
            pages.insert(new, at: 0)
            first = number
            collectAll()
        } else {
            (pages, first) = ([new], number)
            collectAll()
        }
        page = number
        next = following(new, number)
        if paging.isChained {
            switch next {
            case .token(let token): places[number + 1] = .token(token)
            case .url(let url): places[number + 1] = .url(url)
            default: places[number + 1] = nil
            }
        }
    }

    /// Returns what follows a page (O10, O18).
    private func following(_ page: Page, _ number: Int64) -> NextPage {
        let signals = page.signals
        if number >= Paging.mostPages { return .end }
        switch paging.end {
        case .shortPage:
            if signals.count == 0 { return .end }
            if let size = paging.size { return signals.count < size ? .end : .number }
            let before = number - first - 1
            guard before >= 0, before < pages.count else { return .number }
            return signals.count < pages[Int(before)].signals.count ? .end : .number
        case .lastPage:
            return number < signals.mark?.integer() ?? .min ? .number : .end
        case .hasNext:
            return signals.mark?.bool() == true ? .number : .end
        case .total:
            guard signals.count > 0, let total = signals.mark?.number() else { return .end }
            guard let received = received(through: number) else { return .number }
            return Double(received) < total ? .number : .end
        case .cursor:
            guard let token = signals.mark, let text = token.text(), !text.isEmpty else {
                return .end
            }
            // A server that returns the same token again would cause an endless loop.
            if case .token(let sent) = places[number], sent == token { return .end }
            return .token(token)
        case .link, .nextURL:
            guard let target = signals.mark?.text(), !target.isEmpty else { return .end }
            return Paging.next(link: target, on: signals.url)
        }
    }

    /// Returns the number of items up to the end of a page; `nil` if unknown.
    private func received(through number: Int64) -> Int64? {
        if let size = paging.size {
            let (sum, isTooMuch) = (number - paging.firstPage + 1)
                .multipliedReportingOverflow(by: size)
            return isTooMuch ? .max : sum
        }
        guard first == paging.firstPage else { return nil }
        return pages.prefix(Int(number - first) + 1).reduce(0) { $0 + Int64($1.signals.count) }
    }

    /// Rebuilds the list from its pages.
    private mutating func collectAll() {
        items = []
        known = [:]
        taken = 0
        emptied = 0
        items.reserveCapacity(pages.reduce(0) { $0 + $1.entries.count })
        for page in pages { collect(page) }
    }

    /// Adds a page to the list (O14).
    private mutating func collect(_ page: Page) {
        for entry in page.entries {
            guard let key = entry.key else {
                items.append(entry.item)
                continue
            }
            guard let found = known[key] else {
                known[key] = Known(place: taken + items.count, arrival: page.arrival)
                items.append(entry.item)
                continue
            }
            if paging.newestWins && page.arrival >= found.arrival && found.place >= taken {
                items[found.place - taken] = entry.item
                known[key]?.arrival = page.arrival
            }
        }
    }

    /// Returns the items since the last call, and keeps only their keys. For callers that read page
    /// after page with `loadNext` alone.
    package mutating func takeItems() -> [Item] {
        defer {
            taken += items.count
            items = []
            // Earlier pages were emptied by the last call, so each page is visited once.
            for index in emptied..<pages.count { pages[index].entries = [] }
            emptied = pages.count
        }
        return items
    }
}
