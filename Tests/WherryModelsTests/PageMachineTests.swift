// Wherry: tests of the choice of the next page
// SPDX-License-Identifier: Apache-2.0

import Testing
import WherryCache
import WherryCore
import WherryHTTP
import WherryRequests
@testable import WherryModels

@Suite struct PageMachineTests {
    /// A machine over numbers, and its reports.
    private struct Run {
        var machine: PageMachine<Int>
        var events: [String] = []

        init(_ change: (inout Paging) -> Void = { _ in }) {
            var paging = Paging(items: "list")
            change(&paging)
            machine = PageMachine(paging)
        }

        mutating func verb(
            _ body: (inout PageMachine<Int>, (PageEvent) -> Void) throws(WherryError) ->
                PageMachine<Int>.Step
        ) throws -> PageMachine<Int>.Step {
            var told: [String] = []
            defer { events += told }
            return try body(&machine) { told.append(Self.word($0)) }
        }

        mutating func next() throws -> PageMachine<Int>.Step {
            try verb { machine, tell throws(WherryError) in try machine.loadNext(tell) }
        }
        mutating func previous() throws -> PageMachine<Int>.Step {
            try verb { machine, tell throws(WherryError) in try machine.loadPrevious(tell) }
        }
        mutating func refresh() throws -> PageMachine<Int>.Step {
            try verb { machine, tell throws(WherryError) in try machine.refresh(tell) }
        }
        mutating func load(_ page: Int64) throws -> PageMachine<Int>.Step {
            try verb { machine, tell throws(WherryError) in try machine.load(page, tell) }
        }

        /// Provides what a step requests: items, each its own key, and the response's paging data.
        @discardableResult
        mutating func bring(
            _ step: PageMachine<Int>.Step, _ items: [Int], mark: JSON? = nil, keys: Bool = true,
            isOnTrial: Bool = false
        ) -> PageLoad? {
            guard case .load(let load) = step else { return nil }
            var told: [String] = []
            let entries = items.map {
                PageMachine.Entry($0, key: keys ? ItemKey($0 % 100) : nil)
            }
            let signals = PageSignals(count: items.count, mark: mark, url: "http://h/list")
            machine.succeed(load, entries, signals, isOnTrial: isOnTrial) {
                told.append(Self.word($0))
            }
            events += told
            return load
        }

        mutating func fail(_ step: PageMachine<Int>.Step) {
            guard case .load(let load) = step else { return }
            var told: [String] = []
            machine.fail(load, WherryError(.connect, "Test")) { told.append(Self.word($0)) }
            events += told
        }

        static func word(_ event: PageEvent) -> String {
            switch event {
            case .willLoad(let page): "willLoad \(page)"
            case .refreshed(let page): "refreshed \(page)"
            case .loaded(let page): "loaded \(page)"
            case .failed(let page, let error): "failed \(page) \(error.reason)"
            case .finished: "finished"
            case .firstPage: "firstPage"
            case .lastPage: "lastPage"
            }
        }
    }

    private func page(_ step: PageMachine<Int>.Step) -> Int64? {
        if case .load(let load) = step { return load.page }
        return nil
    }

    private func isEnd(_ step: PageMachine<Int>.Step) -> Bool {
        if case .end = step { return true }
        return false
    }

    private func isDone(_ step: PageMachine<Int>.Step) -> Bool {
        if case .done = step { return true }
        return false
    }

    @Test("O11 next and previous move by one, and refresh returns to the first page")
    func moving() throws {
        var run = Run()
        #expect(run.machine.page == nil && run.machine.hasNext && !run.machine.hasPrevious)
        #expect(run.bring(try run.next(), [1, 2])?.page == 0)
        #expect(run.bring(try run.next(), [3, 4])?.page == 1)
        #expect(run.bring(try run.next(), [5, 6])?.page == 2)
        #expect(run.machine.items == [1, 2, 3, 4, 5, 6])
        #expect(run.bring(try run.previous(), [13, 14])?.page == 1)
        // It replaces the previous items.
        #expect(run.machine.items == [1, 2, 13, 14, 5, 6])
        #expect(run.bring(try run.previous(), [1, 2])?.page == 0)
        let again = run.bring(try run.refresh(), [7])
        #expect(again?.page == 0 && again?.isRefresh == true)
        #expect(run.machine.items == [7] && run.machine.page == 0)
    }

    @Test("O11 the page moves on success only: a failed page 2 is requested again")
    func failing() throws {
        var run = Run()
        run.bring(try run.next(), [1, 2])
        run.bring(try run.next(), [3, 4])
        let step = try run.next()
        #expect(page(step) == 2)
        run.fail(step)
        #expect(run.machine.page == 1 && run.machine.items == [1, 2, 3, 4])
        #expect(page(try run.next()) == 2)
    }

    @Test("O11 a failed refresh keeps the list")
    func failingRefresh() throws {
        var run = Run()
        run.bring(try run.next(), [1])
        run.fail(try run.refresh())
        #expect(run.machine.items == [1] && run.machine.page == 0)
    }

    @Test("O11 one page loads at a time, and a late end changes nothing")
    func busy() throws {
        var run = Run()
        let step = try run.next()
        #expect(throws: WherryError.self) { try run.next() }
        #expect(throws: WherryError.self) { try run.refresh() }
        run.fail(step)
        run.bring(step, [9])
        #expect(run.machine.items == [] && run.machine.page == nil)
        run.bring(try run.next(), [1])
        #expect(run.machine.items == [1])
    }

    @Test("O11 any page: an adjacent one joins the list, another one begins a new list")
    func jumping() throws {
        var run = Run { $0.firstPage = 1 }
        run.bring(try run.load(5), [5])
        #expect(run.machine.hasPrevious)
        run.bring(try run.load(6), [6])
        run.bring(try run.load(4), [4])
        #expect(run.machine.items == [4, 5, 6] && run.machine.loadedPages == 4...6)
        run.bring(try run.load(9), [9])
        #expect(run.machine.items == [9] && run.machine.page == 9)
        #expect(throws: WherryError.self) { try run.load(0) }
        #expect(throws: WherryError.self) { try run.load(.max) }
        #expect(throws: WherryError.self) { try run.load(.min) }
        run.bring(try run.load(1 << 53), [1])
        #expect(!run.machine.hasNext)
        #expect(isEnd(try run.next()))
    }

    @Test("O12 the events of a load are in order, with success only on success")
    func events() throws {
        var run = Run { $0.end = .lastPage("last") }
        run.bring(try run.next(), [1], mark: 1)
        run.fail(try run.next())
        run.bring(try run.next(), [2], mark: 1)
        #expect(isEnd(try run.next()))
        run.bring(try run.previous(), [1], mark: 1)
        run.bring(try run.previous(), [3], mark: 1)
        #expect(
            run.events == [
                "willLoad 0", "loaded 0", "finished",
                "willLoad 1", "failed 1 connect", "finished",
                "willLoad 1", "loaded 1", "finished",
                "lastPage",
                "willLoad 0", "loaded 0", "finished",
                "firstPage", "willLoad 0", "refreshed 0", "finished",
            ])
    }

    @Test("O13 a cached page is available at once; the least recently used one is evicted first")
    func keeping() throws {
        var run = Run { $0.keptPages = 2 }
        run.bring(try run.load(0), [0])
        run.bring(try run.load(5), [5])
        #expect(isDone(try run.load(0)))
        #expect(run.machine.items == [0])
        run.bring(try run.load(7), [7])
        // 5 was used before 0.
        #expect(isDone(try run.load(0)))
        let step = try run.load(5)
        #expect(page(step) == 5)
        run.bring(step, [5])
        #expect(Array(run.events.suffix(3)) == ["willLoad 5", "loaded 5", "finished"])
    }

    @Test("O13 a refresh is not served from the page cache, and clears it")
    func refreshingKept() throws {
        var run = Run { $0.keptPages = 5 }
        run.bring(try run.next(), [0])
        run.bring(try run.next(), [1])
        #expect(isDone(try run.previous()))
        let refresh = try run.previous()
        #expect(page(refresh) == 0)
        run.bring(refresh, [10])
        #expect(page(try run.next()) == 1)
    }

    @Test("O11 a page that is rolled back was never there")
    func takingBack() throws {
        var run = Run {
            $0.keptPages = 5
            $0.end = .cursor("next")
        }
        #expect(run.machine.takeBack() == false)
        run.bring(try run.next(), [1, 2], mark: "a")
        // If it is not on trial, it stays.
        #expect(run.machine.takeBack() == false)
        run.bring(try run.next(), [2, 3], mark: "b", isOnTrial: true)
        #expect(run.machine.items == [1, 2, 3])
        #expect(run.machine.takeBack() == true)
        #expect(run.machine.takeBack() == false)
        #expect(run.machine.items == [1, 2] && run.machine.page == 0 && run.machine.hasNext)
        #expect(throws: WherryError.self) { try run.load(2) }
        let again = run.bring(try run.next(), [2, 4], mark: nil, isOnTrial: true)
        #expect(again?.place == .token("a") && run.machine.items == [1, 2, 4])
        let refresh = try run.refresh()
        #expect(run.machine.takeBack() == false)
        run.bring(refresh, [9], mark: nil, isOnTrial: true)
        #expect(run.machine.items == [9])
        #expect(run.machine.takeBack() == true)
        #expect(run.machine.items == [1, 2, 4] && run.machine.page == 1 && !run.machine.hasNext)
        #expect(isDone(try run.previous()))
        #expect(run.machine.takeBack() == false)
    }

    @Test("O13 no page is cached by default")
    func keepingNothing() throws {
        var run = Run()
        run.bring(try run.load(0), [0])
        run.bring(try run.load(5), [5])
        #expect(page(try run.load(0)) == 0)
    }

    @Test("O14 overlapping pages are made unique, in order; the first item wins")
    func unique() throws {
        var run = Run()
        run.bring(try run.next(), [1, 2, 3])
        run.bring(try run.next(), [103, 4, 101])
        #expect(run.machine.items == [1, 2, 3, 4])
        // A page that is loaded again contributes its items again.
        run.bring(try run.previous(), [1, 2])
        #expect(run.machine.items == [1, 2, 103, 4])
    }

    @Test("O14 on request the newest item wins, at the position of the first")
    func newest() throws {
        var run = Run { $0.newestWins = true }
        run.bring(try run.load(3), [1, 2, 3])
        run.bring(try run.next(), [103, 4, 101])
        #expect(run.machine.items == [101, 2, 103, 4])
        // Page 2 is older by number, and newer by arrival.
        run.bring(try run.load(2), [202, 5])
        #expect(run.machine.items == [202, 5, 101, 103, 4])
    }

    @Test("O18 a chain leads from page to page, and cannot be skipped ahead")
    func chain() throws {
        var run = Run { $0.end = .cursor("next") }
        let first = run.bring(try run.next(), [1], mark: "a")
        #expect(first?.place == .start)
        #expect(throws: WherryError.self) { try run.load(2) }
        #expect(run.bring(try run.next(), [2], mark: "b")?.place == .token("a"))
        #expect(run.bring(try run.next(), [3], mark: nil)?.place == .token("b"))
        #expect(!run.machine.hasNext)
        #expect(isEnd(try run.next()))
        #expect(run.bring(try run.previous(), [2], mark: "b")?.place == .token("a"))
        #expect(run.bring(try run.next(), [3], mark: nil)?.place == .token("b"))
        // After a refresh earlier tokens are invalid.
        run.bring(try run.refresh(), [1], mark: "c")
        #expect(throws: WherryError.self) { try run.load(2) }
        #expect(run.bring(try run.next(), [2], mark: nil)?.place == .token("c"))
    }

    @Test("O19 delivered items are not kept, and still count as known")
    func taking() throws {
        var run = Run { $0.newestWins = true }
        run.bring(try run.next(), [1, 2])
        #expect(run.machine.takeItems() == [1, 2])
        run.bring(try run.next(), [102, 3])
        #expect(run.machine.takeItems() == [3])
        #expect(run.machine.takeItems() == [])
    }

    @Test("Conflicting paging settings are refused before anything is sent")
    func checks() throws {
        let wrong: [(inout Paging) -> Void] = [
            { $0.size = 0 }, { $0.unit = .items }, { $0.sizeParameter = "limit" },
            { $0.parameter = "" }, { $0.keptPages = -1 }, { $0.firstPage = .max },
            { $0.firstPage = .min },
            {
                $0.unit = .items
                $0.size = 1
                $0.end = .link
            },
        ]
        for change in wrong {
            var paging = Paging()
            change(&paging)
            #expect(throws: WherryError.self) { try paging.check() }
        }
        var paging = Paging()
        paging.parameter = ""
        paging.end = .link
        try paging.check()
    }

    @Test("O11 a refresh bypasses every cache that its policy uses")
    func policies() throws {
        let expected: [(CachePolicy?, CachePolicy?)] = [
            (nil, .refresh), (.use, .refresh), (.only, .refresh), (.thenNetwork, .refresh),
            (.refresh, .refresh), (.off, .off), (.protocol, .reload), (.anyAge, .reload),
            (.anyAgeOnly, .reload), (.reload, .reload),
        ]
        for (before, after) in expected {
            var pattern = Request("list")
            pattern.cachePolicy = before
            let refresh = PageLoad(serial: 1, page: 0, place: .number, isRefresh: true)
            let next = PageLoad(serial: 2, page: 1, place: .number, isRefresh: false)
            #expect(try Paging().request(refresh, of: pattern).cachePolicy == after)
            #expect(try Paging().request(next, of: pattern).cachePolicy == before)
        }
    }

    @Test("O18 offsets saturate at the largest number instead of overflowing")
    func offsets() throws {
        var paging = Paging()
        paging.unit = .items
        paging.size = .max
        for page in [0, 1, 2, 1 << 53] as [Int64] {
            let load = PageLoad(serial: 1, page: page, place: .number, isRefresh: false)
            let request = try paging.request(load, of: Request("list"))
            #expect(request.parameters["nextPage"] == .integer(page == 0 ? 0 : .max))
            #expect(request.effectiveMethod == "GET")
        }
    }
}
