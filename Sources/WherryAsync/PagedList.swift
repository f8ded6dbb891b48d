// Wherry: a list loaded page by page.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// A list that a server delivers in pages. Use ``refresh()`` for pull-to-refresh and ``loadNext()``
/// to load more.
///
///     let books = try PagedList(client, Request("books"), paging: Paging(items: "data/list"), of: Book.self)
///     try await books.refresh()
///     while try await books.loadNext() {}
///     show(books.items)
///
/// The list changes only when a page has arrived: after a failure the same call requests the page
/// again. One page is loaded at a time; another call in the meantime throws `busy`. Thread-safe.
public final class PagedList<Item: Sendable>: Sendable {
    private typealias Machine = PageMachine<Item>

    private let client: Client
    private let request: Request
    private let paging: Paging
    private let machine: Lock<Machine>
    private let key: (@Sendable (Item) -> (any Hashable & Sendable)?)?
    private let read: @Sendable ([JSON]) throws -> [Item]
    private let onEvent: (@Sendable (PageEvent) -> Void)?

    /// Creates a list that uses `read` to create one item from each element of a page.
    ///
    /// - Parameters:
    ///   - request: The template for every page's request. The default method is GET if there are
    ///     no parameters.
    ///   - key: Returns the key of an item, in place of ``/WherryModels/Paging/key``.
    ///   - onEvent: Called for each event, in order, on the task that loads (O12).
    /// - Throws: `bad_value` for inconsistent paging settings.
    public init(
        _ client: Client, _ request: Request, paging: Paging = Paging(),
        key: (@Sendable (Item) -> (any Hashable & Sendable)?)? = nil,
        onEvent: (@Sendable (PageEvent) -> Void)? = nil,
        read: @escaping @Sendable ([JSON]) throws -> [Item]
    ) throws(WherryError) {
        try paging.check()
        self.client = client
        self.request = request
        self.paging = paging
        machine = Lock(PageMachine(paging))
        self.key = key
        self.read = read
        self.onEvent = onEvent
    }

    // MARK: State

    /// The items of all pages in the list, in the order of the pages.
    public var items: [Item] { machine.withLock { $0.items } }
    /// The last loaded page; `nil` before the first.
    public var page: Int64? { machine.withLock { $0.page } }
    /// Whether a page is being loaded.
    public var isLoading: Bool { machine.withLock { $0.isLoading } }
    /// Whether another page follows, according to the last response; true before the first.
    public var hasNext: Bool { machine.withLock { $0.hasNext } }
    /// Whether a page precedes the last loaded one.
    public var hasPrevious: Bool { machine.withLock { $0.hasPrevious } }

    // MARK: Loading

    /// Loads the first page again, bypassing all caches. It replaces the list when it arrives.
    public func refresh() async throws(WherryError) {
        _ = try await run { machine, tell throws(WherryError) in try machine.refresh(tell) }
    }

    /// Loads the page after the last loaded one; initially the first page.
    ///
    /// - Returns: `false` if there is no next page; nothing is loaded in that case.
    @discardableResult
    public func loadNext() async throws(WherryError) -> Bool {
        try await run { machine, tell throws(WherryError) in try machine.loadNext(tell) }
    }

    /// Loads the page before the last loaded one; refreshes on the first page.
    public func loadPrevious() async throws(WherryError) {
        _ = try await run { machine, tell throws(WherryError) in try machine.loadPrevious(tell) }
    }

    /// Loads any page. A page adjacent to the list is added to it, one in the list is replaced, and
    /// any other starts a new list.
    ///
    /// - Throws: `bad_value` for a page before the first. With cursors and links, also for a page
    ///   that no loaded page leads to.
    public func load(page: Int64) async throws(WherryError) {
        _ = try await run { machine, tell throws(WherryError) in try machine.load(page, tell) }
    }

    /// Returns the items since the last call; the list keeps only their keys.
    func takeItems() -> [Item] { machine.withLock { $0.takeItems() } }

    private func run(
        _ verb: (inout Machine, (PageEvent) -> Void) throws(WherryError) -> Machine.Step
    ) async throws(WherryError) -> Bool {
        if Task.isCancelled { throw Transfer.cancelledError }
        let step = try changing(verb)
        guard case .load(let load) = step else {
            if case .end = step { return false }
            return true
        }
        do throws(WherryError) {
            let response = try await client.send(try paging.request(load, of: request))
            let (entries, signals) = try contents(of: response)
            try changing { machine, tell throws(WherryError) in
                machine.succeed(load, entries, signals, tell)
            }
            return true
        } catch {
            try changing { machine, tell throws(WherryError) in machine.fail(load, error, tell) }
            throw error
        }
    }

    /// Changes the machine, and reports events after releasing its lock.
    private func changing<Result>(
        _ body: (inout Machine, (PageEvent) -> Void) throws(WherryError) -> Result
    ) throws(WherryError) -> Result {
        var events: [PageEvent] = []
        defer { if let onEvent { for event in events { onEvent(event) } } }
        return try machine.withLock { machine throws(WherryError) in
            try body(&machine) { events.append($0) }
        }
    }

    private func contents(
        of response: Response
    ) throws(WherryError) -> (entries: [Machine.Entry], signals: PageSignals) {
        let (elements, signals) = try paging.read(response)
        let items: [Item]
        do {
            items = try read(elements)
        } catch {
            let cause = (error as? WherryError)?.message ?? "\(error)"
            throw WherryError(.badJSONBody, "Could not decode the items of a page: \(cause)").with {
                $0.httpStatus = response.status
                $0.response = response
            }
        }
        let entries = items.enumerated().map { index, item in
            if let key { return Machine.Entry(item, key: key(item).map { ItemKey($0) }) }
            // Without a key function each item corresponds to one element.
            let element = index < elements.count ? elements[index] : .null
            return Machine.Entry(item, key: paging.key(of: element))
        }
        return (entries, signals)
    }
}
