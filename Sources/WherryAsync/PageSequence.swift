// Wherry: a sequence of prefetched pages.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// The pages of a list in order, as arrays of items without duplicates of earlier pages (O19).
///
/// Every iteration loads the pages again. If a page fails, the iteration ends. Releasing an
/// iterator cancels its load.
public struct PageSequence<Item: Sendable>: AsyncSequence, Sendable {
    public typealias Element = [Item]
    public typealias Failure = WherryError

    private let prefetch: Int
    private let list: @Sendable () throws(WherryError) -> PagedList<Item>

    package init(
        prefetch: Int, list: @escaping @Sendable () throws(WherryError) -> PagedList<Item>
    ) {
        self.prefetch = Swift.max(0, prefetch)
        self.list = list
    }

    /// Creates an independent iterator that starts with the first page.
    public func makeAsyncIterator() -> Iterator { Iterator(reader: PageReader(prefetch, list)) }

    /// Iterates over the pages.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let reader: PageReader<Item>

        /// Returns the items of the next page; `nil` after the last.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(WherryError) -> [Item]? {
            try await reader.next()
        }
    }
}

/// The items of a list in order, without duplicates (O19); see ``PageSequence``.
public struct PageItemSequence<Item: Sendable>: AsyncSequence, Sendable {
    public typealias Element = Item
    public typealias Failure = WherryError

    private let pages: PageSequence<Item>

    package init(pages: PageSequence<Item>) { self.pages = pages }

    /// Creates an independent iterator that starts with the first page.
    public func makeAsyncIterator() -> Iterator { Iterator(pages: pages.makeAsyncIterator()) }

    /// Iterates over the items.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var pages: PageSequence<Item>.Iterator
        private var page: ArraySlice<Item> = []

        fileprivate init(pages: PageSequence<Item>.Iterator) { self.pages = pages }

        /// Returns the next item; `nil` after the last.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(WherryError) -> Item? {
            while page.isEmpty {
                guard let next = try await pages.next(isolation: actor) else { return nil }
                page = next[...]
            }
            return page.popFirst()
        }
    }
}

/// Loads pages in advance for one reader.
private final class PageReader<Item: Sendable>: Sendable {
    private struct State: Sendable {
        var pages: [[Item]] = []
        /// The numbers of pages requested by the reader, and loaded.
        var asked = 0
        var loaded = 0
        var isOver = false
        var error: WherryError?
    }

    private let monitor = AsyncMonitor(State())
    private let task: Task<Void, Never>

    init(_ prefetch: Int, _ list: @escaping @Sendable () throws(WherryError) -> PagedList<Item>) {
        task = Task { [monitor] in await Self.load(prefetch, list, monitor) }
    }

    deinit { task.cancel() }

    private static func load(
        _ prefetch: Int, _ list: @Sendable () throws(WherryError) -> PagedList<Item>,
        _ monitor: AsyncMonitor<State>
    ) async {
        do throws(WherryError) {
            let list = try list()
            while true {
                // Nothing is sent before the reader requests the first page.
                let isWanted = await monitor.wait { state in
                    state.asked > 0 && state.loaded - state.asked < prefetch ? true : nil
                }
                guard isWanted != nil else { throw Transfer.cancelledError }
                guard try await list.loadNext() else { break }
                let items = list.takeItems()
                monitor.update { state in
                    state.pages.append(items)
                    state.loaded += 1
                }
            }
            monitor.update { $0.isOver = true }
        } catch {
            monitor.update { state in
                state.isOver = true
                state.error = error
            }
        }
    }

    /// Returns the next page; `nil` after the last. Cancelling the waiting task ends the iteration.
    func next() async throws(WherryError) -> [Item]? {
        monitor.update { $0.asked += 1 }
        let page = await monitor.wait { state -> Result<[Item]?, WherryError>? in
            if !state.pages.isEmpty { return .success(state.pages.removeFirst()) }
            guard state.isOver else { return nil }
            // Thrown once; then the sequence ends.
            defer { state.error = nil }
            return state.error.map { .failure($0) } ?? .success(nil)
        }
        guard let page else {
            task.cancel()
            throw Transfer.cancelledError
        }
        return try page.get()
    }
}
