// Wherry: acceptance tests of lists in pages
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing
import Wherry

@Suite struct PagingTests {
    private struct Book: Decodable, Equatable, Sendable {
        var id: Int
    }

    private let scope: TestServer.Scope
    private let client: Client

    init() throws {
        scope = try TestServer.shared.scope()
        client = try makeClient(scope)
    }

    /// Ten pages of two numbers.
    private func script(_ name: String, pages: Int = 10) throws {
        let steps = (0..<pages).map { page in
            """
            {"json": {"list": [{"id": \(page * 2)}, {"id": \(page * 2 + 1)}], "last": \(pages - 1)}}
            """
        }
        try scope.script(name, "[\(steps.joined(separator: ","))]")
    }

    private var paging: Paging {
        var paging = Paging(items: "list")
        paging.end = .lastPage("last")
        return paging
    }

    private func targets() throws -> [String] {
        try scope.requests().map { $0.query.map { "\($0[0])=\($0[1])" }.joined(separator: "&") }
    }

    @Test("O11 a failed page 2 is requested again, and only success changes the list")
    func failingPage() async throws {
        try scope.script(
            "books",
            #"""
            [{"json": {"list": [{"id": 0}], "last": 2}}, {"json": {"list": [{"id": 1}], "last": 2}},
             {"status": 503}, {"json": {"oops": 1}}, {"json": {"list": [{"id": "x"}]}},
             {"json": {"list": [{"id": 2}], "last": 2}}]
            """#)
        let events = Guarded<[String]>([])
        let list = try PagedList(
            client, Request("s/books"), paging: paging, of: Book.self,
            onEvent: { event in events.withLock { $0.append(Self.word(event)) } })
        try await list.refresh()
        #expect(try await list.loadNext())
        for reason in ["http_status", "bad_json_body", "bad_json_body"] {
            let error = await failure { () throws(WherryError) in try await list.loadNext() }
            #expect(error?.reason == reason)
            #expect(error?.response != nil)
            #expect(list.page == 1 && list.items.map(\.id) == [0, 1] && !list.isLoading)
        }
        #expect(try await list.loadNext())
        #expect(list.items.map(\.id) == [0, 1, 2] && !list.hasNext)
        #expect(try await list.loadNext() == false)
        #expect(
            try targets() == [
                "nextPage=0", "nextPage=1", "nextPage=2", "nextPage=2", "nextPage=2", "nextPage=2",
            ])
        // O12
        #expect(
            events.withLock { $0 } == [
                "willLoad 0", "refreshed 0", "finished", "willLoad 1", "loaded 1", "finished",
                "willLoad 2", "failed 2", "finished", "willLoad 2", "failed 2", "finished",
                "willLoad 2", "failed 2", "finished", "willLoad 2", "loaded 2", "finished",
                "lastPage",
            ])
    }

    private static func word(_ event: PageEvent) -> String {
        switch event {
        case .willLoad(let page): "willLoad \(page)"
        case .refreshed(let page): "refreshed \(page)"
        case .loaded(let page): "loaded \(page)"
        case .failed(let page, _): "failed \(page)"
        case .finished: "finished"
        case .firstPage: "firstPage"
        case .lastPage: "lastPage"
        }
    }

    @Test("O11 a refresh sends a request although the response is cached")
    func refreshPastCache() async throws {
        try script("books", pages: 4)
        var request = Request("s/books")
        request.cachePolicy = .use
        request.cacheDuration = .seconds(1000)
        let folder = try TemporaryFolder()
        let client = try makeClient(scope) { $0.storageDirectory = folder.file("storage") }
        let list = try PagedList(client, request, paging: paging, of: Book.self)
        try await list.load(page: 0)
        try await list.load(page: 0)
        #expect(try scope.requests().count == 1)
        try await list.refresh()
        #expect(try scope.requests().count == 2)
        #expect(list.items.map(\.id) == [2, 3])
        // Its response is now in the cache.
        try await list.load(page: 0)
        #expect(try scope.requests().count == 2 && list.items.map(\.id) == [2, 3])
    }

    @Test("O13 revisiting a cached page sends no request")
    func revisiting() async throws {
        try script("books")
        var paging = paging
        paging.keptPages = 3
        let list = try PagedList(client, Request("s/books"), paging: paging, of: Book.self)
        for page in [0, 5, 0, 5, 0] as [Int64] { try await list.load(page: page) }
        #expect(try targets() == ["nextPage=0", "nextPage=5"])
        #expect(list.items.map(\.id) == [0, 1])
        try await list.refresh()
        #expect(try targets().count == 3)
    }

    @Test("O14 a function decides which items are equal")
    func keyFunction() async throws {
        try scope.script(
            "books",
            #"[{"json": {"list": [{"id": 1}, {"id": 2}]}}, {"json": {"list": [{"id": 12}]}}]"#)
        let list = try PagedList(
            client, Request("s/books"), paging: Paging(items: "list"), of: Book.self,
            key: { $0.id % 10 })
        while try await list.loadNext() {}
        #expect(list.items.map(\.id) == [1, 2])
    }

    @Test("O18 servers with offsets, tokens, and links are supported")
    func threeServers() async throws {
        try scope.script(
            "offset",
            #"""
            [{"json": {"all": 3, "rows": [{"id": 1}, {"id": 2}]}}, {"json": {"all": 3, "rows": [{"id": 3}]}}]
            """#)
        var byOffset = Paging(items: "rows")
        byOffset.unit = .items
        byOffset.parameter = "offset"
        byOffset.size = 2
        byOffset.sizeParameter = "limit"
        byOffset.end = .total("all")
        #expect(try await all("s/offset", byOffset) == [1, 2, 3])

        try scope.script(
            "token",
            #"[{"json": {"rows": [{"id": 1}], "next": "x/y&z"}}, {"json": {"rows": [{"id": 2}]}}]"#)
        var byToken = Paging(items: "rows")
        byToken.parameter = "cursor"
        byToken.end = .cursor("next")
        #expect(try await all("s/token", byToken) == [1, 2])

        try scope.script(
            "link",
            #"""
            [{"json": [{"id": 1}], "headers": [["Link", "<link?page=2>; rel=\"next\""]]}, {"json": [{"id": 2}]}]
            """#)
        var byLink = Paging()
        byLink.end = .link
        var request = Request("s/link")
        request.parameters = ["per_page": 1]
        request.method = "GET"
        let list = try PagedList(client, request, paging: byLink, of: Book.self)
        while try await list.loadNext() {}
        #expect(list.items.map(\.id) == [1, 2])
        #expect(
            try targets() == [
                "limit=2&offset=0", "limit=2&offset=2", "", "cursor=x/y&z", "per_page=1", "page=2",
            ])
    }

    private func all(_ url: String, _ paging: Paging) async throws -> [Int] {
        let list = try PagedList(client, Request(url), paging: paging, of: Book.self)
        while try await list.loadNext() {}
        return list.items.map(\.id)
    }

    @Test("O18 POST parameters are sent in the body, including the page")
    func post() async throws {
        var request = Request("echo", method: "POST")
        request.parameters = ["q": "skye"]
        let body = Guarded("")
        let list = try PagedList<Int>(client, request, paging: Paging(items: "query")) { elements in
            elements.map { _ in 0 }
        }
        try await list.loadNext()
        let spy = try PagedList<Int>(client, request, paging: Paging(items: "headers")) {
            elements in
            body.withLock { $0 = "\(elements.count > 0)" }
            return []
        }
        try await spy.loadNext()
        #expect(try scope.requests().map(\.method) == ["POST", "POST"])
        #expect(
            try scope.requests().allSatisfy {
                $0.received == #"{"q":"skye","nextPage":0}"#.utf8.count
            })
    }

    @Test("O19 ten pages are read in order, with two loaded ahead")
    func prefetching() async throws {
        try script("books")
        let pages = client.pages(Request("s/books"), paging, of: Book.self, prefetch: 2)
        #expect(try scope.requests().isEmpty)
        var iterator = pages.makeAsyncIterator()
        #expect(try await iterator.next(isolation: nil)?.map(\.id) == [0, 1])
        // The reader has one page; two more are loaded, and no fourth.
        try await scope.wait("requests=3")
        var found = [[0, 1]]
        while let page = try await iterator.next(isolation: nil) {
            found.append(page.map(\.id))
            #expect(try scope.requests().count <= found.count + 2)
        }
        #expect(found == (0..<10).map { [$0 * 2, $0 * 2 + 1] })
        #expect(try targets() == (0..<10).map { "nextPage=\($0)" })
        #expect(try await iterator.next(isolation: nil) == nil)
    }

    @Test("O19 without prefetch a page is requested on demand")
    func onDemand() async throws {
        try script("books")
        var count = 0
        for try await _ in client.pages(Request("s/books"), paging, of: Book.self, prefetch: 0) {
            count += 1
            #expect(try scope.requests().count == count)
            if count == 3 { break }
        }
        #expect(try scope.requests().count == 3)
    }

    @Test("O19 items are returned one by one, each once, and a failure ends them")
    func items() async throws {
        try scope.script(
            "books",
            #"""
            [{"json": {"list": [{"id": 1}, {"id": 2}]}}, {"json": {"list": [{"id": 2}, {"id": 3}]}},
             {"status": 500}]
            """#)
        var paging = Paging(items: "list")
        paging.key = "id"
        var found: [Int] = []
        let error = await failure { () throws(WherryError) in
            for try await book in client.items(Request("s/books"), paging, of: Book.self) {
                found.append(book.id)
            }
        }
        #expect(found == [1, 2, 3])
        #expect(error?.httpStatus == 500)
    }

    @Test("O19 invalid paging settings and cancelling end an iteration")
    func ending() async throws {
        var wrong = paging
        wrong.size = 0
        let error = await failure { () throws(WherryError) in
            for try await _ in client.pages(Request("s/books"), wrong, of: Book.self) {}
        }
        #expect(error?.reason == "bad_value")

        let pages = client.pages(Request("silent"), paging, of: Book.self)
        let task = Task {
            await failure { () throws(WherryError) in
                for try await _ in pages {}
            }
        }
        try await scope.wait("requests=1")
        task.cancel()
        #expect(await task.value?.code == .cancelled)
        #expect(client.wait(timeout: .seconds(60)))
    }
}
