// Wherry: a list that comes in pages.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// A list that a server hands out in pages: pull down is ``refresh()``, pull up ``loadNext()``.
///
///     let books = try PagedList(client, Request("books"), paging: Paging(items: "data/list"), of: Book.self)
///     try await books.refresh()
///     while try await books.loadNext() {}
///     show(books.items)
///
/// The list moves when a page has come, never before: one that failed is asked for again by the same
/// call. One page is on its way at a time; another call meanwhile throws `busy`. Every member may be
/// used from any thread.
public final class PagedList<Item: Sendable>: Sendable {
    private typealias Machine = PageMachine<Item>

    private let client: Client
    private let request: Request
    private let paging: Paging
    private let machine: Lock<Machine>
    private let key: (@Sendable (Item) -> (any Hashable & Sendable)?)?
    private let read: @Sendable ([JSON]) throws -> [Item]
    private let onEvent: (@Sendable (PageEvent) -> Void)?

    /// A list whose items `read` makes of the elements of a page, as many as there are.
    ///
    /// - Parameters:
    ///   - request: the pattern of every page's request; without a method and parameters it is GET.
    ///   - key: what an item is known by, in place of ``/WherryCore/Paging/key``.
    ///   - onEvent: hears what happens, in order, on the task that loads (O12).
    /// - Throws: `bad_value` for paging that does not go together.
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

    /// A list of items that decode themselves.
    ///
    /// - Parameter mapping: says where the fields of an item stand and converts them.
    public convenience init(
        _ client: Client, _ request: Request, paging: Paging = Paging(), of type: Item.Type,
        mapping: ItemMapping? = nil,
        key: (@Sendable (Item) -> (any Hashable & Sendable)?)? = nil,
        onEvent: (@Sendable (PageEvent) -> Void)? = nil
    ) throws(WherryError) where Item: Decodable {
        try self.init(client, request, paging: paging, key: key, onEvent: onEvent) { elements in
            try JSON.array(elements).decode([Item].self, mapping: mapping)
        }
    }

    // MARK: Looking

    /// The items of all pages in the list, in the order of the pages.
    public var items: [Item] { machine.withLock { $0.items } }
    /// The page that was loaded last; `nil` before the first.
    public var page: Int64? { machine.withLock { $0.page } }
    /// Whether a page is on its way.
    public var isLoading: Bool { machine.withLock { $0.isLoading } }
    /// Whether a page follows, as far as the last answer says; true before the first.
    public var hasNext: Bool { machine.withLock { $0.hasNext } }
    /// Whether a page comes before the one that was loaded last.
    public var hasPrevious: Bool { machine.withLock { $0.hasPrevious } }

    // MARK: Loading

    /// Loads the first page anew, past all caches; the list is made of it alone once it has come.
    public func refresh() async throws(WherryError) {
        _ = try await run { machine, tell throws(WherryError) in try machine.refresh(tell) }
    }

    /// Loads the page after the one that was loaded last; the first one at the beginning.
    ///
    /// - Returns: `false` if there is none, and nothing was loaded.
    @discardableResult
    public func loadNext() async throws(WherryError) -> Bool {
        try await run { machine, tell throws(WherryError) in try machine.loadNext(tell) }
    }

    /// Loads the page before the one that was loaded last; on the first page it is a refresh.
    public func loadPrevious() async throws(WherryError) {
        _ = try await run { machine, tell throws(WherryError) in try machine.loadPrevious(tell) }
    }

    /// Loads any page. A neighbour of what is in the list joins it, one that is in it takes the
    /// place of what was there, and another one begins a new list.
    ///
    /// - Throws: `bad_value` for a page before the first, and with tokens and links for one that no
    ///   page led to yet.
    public func load(page: Int64) async throws(WherryError) {
        _ = try await run { machine, tell throws(WherryError) in try machine.load(page, tell) }
    }

    /// The items that have come since the last time; the list keeps no more than their keys.
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

    /// Changes the machine, and tells what happened once its lock is free.
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
            throw WherryError(.badJSONBody, "The items of a page cannot be read: \(cause)").with {
                $0.httpStatus = response.status
                $0.response = response
            }
        }
        let entries = items.enumerated().map { index, item in
            if let key { return Machine.Entry(item, key: key(item).map { ItemKey($0) }) }
            // Without a key of the program's each item is one element.
            let element = index < elements.count ? elements[index] : .null
            return Machine.Entry(item, key: paging.key(of: element))
        }
        return (entries, signals)
    }
}
