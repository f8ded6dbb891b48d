// Wherry: acceptance tests of groups of requests
// SPDX-License-Identifier: Apache-2.0

import TestServer
import Testing
import Wherry
import WherrySystem

@Suite struct GroupTests {
    private let scope: TestServer.Scope
    private let client: Client

    init() throws {
        scope = try TestServer.shared.scope()
        client = try makeClient(scope)
    }

    private func group(
        _ urls: [String], _ policy: RequestGroup.Policy = .failFast
    ) -> RequestGroup {
        RequestGroup(urls.map { Request($0) }, policy: policy)
    }

    @Test("R34 a group returns responses in the order of adding")
    func order() async throws {
        let answer = try await client.send(group((0..<5).map { "text/\($0)" }))
        #expect(answer.members.count == 5 && answer.errors.isEmpty && !answer.isFromCache)
        let targets = answer.responses.map(\.url)
        #expect(targets == (0..<5).map { scope.url("/text/\($0)") })
        #expect(client.count() == 0)
    }

    @Test("R34 fail fast names the one request of five with status 500 and cancels the others")
    func failFast() async throws {
        let urls = (0..<5).map { $0 == 2 ? "status/500" : "text/\($0)?gate=g" }
        let group = group(urls)

        let error = await failure { () throws(WherryError) in try await client.send(group) }

        #expect(error?.code == .http && error?.httpStatus == 500 && error?.reason == "http_status")
        let start = "Request 3 of 5, GET \(scope.url("/status/500")), failed: "
        #expect(error?.message.hasPrefix(start) == true)
        #expect(error?.response?.status == 500)
        #expect(error?.underlying?.httpStatus == 500)
        #expect(client.count() == 0)
        let counters = client.counters()
        #expect(counters.started == 5 && counters.failed == 1 && counters.cancelled == 4)
    }

    @Test("R34 all settled completes the other four requests if one has status 500")
    func allSettled() async throws {
        let urls = ["text/0", "text/1", "status/500", "text/3", "text/4"]

        let answer = try await client.send(group(urls, .allSettled))

        #expect(answer.members.map { $0.error?.httpStatus ?? 0 } == [0, 0, 500, 0, 0])
        #expect(answer.members.map { $0.response?.status } == [200, 200, 500, 200, 200])
        #expect(answer.responses.count == 4 && answer.errors.count == 1)
    }

    @Test("R34 progress is reported as each member ends")
    func progress() async throws {
        let handle = try client.start(group(["text/0", "text/1?gate=b", "text/2?gate=c"]))
        var figures: [[Int]] = []
        for await progress in handle.progress {
            figures.append([progress.ended, progress.count])
            if progress.ended == 1 { try scope.open(gate: "b") }
            if progress.ended == 2 { try scope.open(gate: "c") }
        }
        #expect(figures == [[1, 3], [2, 3], [3, 3]])
        #expect(try await handle.value.responses.count == 3)
        #expect(handle.state == .done)
        #expect(handle.transfer.progress.ended == 3 && handle.transfer.kind == .group)
    }

    @Test("R34 the bytes of a group are those of all members: ended, running, and waiting")
    func bytes() async throws {
        let client = try makeClient(scope) { $0.maxPerHost = 1 }
        var posted = Request("sink", method: "POST")
        posted.body = .bytes(Bytes(String(repeating: "c", count: 500)), contentType: nil)
        var group = RequestGroup([
            Request("bytes/1000"), Request("bytes/2000?hold=1000&gate=b"), posted,
        ])
        var chain = RequestGroup(.chain)
        chain.add(Request("bytes/4"))
        try group.add(RequestGroup([Request("bytes/4"), Request("bytes/4")]))
        try group.add(chain)

        let handle = try client.start(group)
        var ended = 0
        var seen = TransferProgress()
        for await progress in handle.progress {
            #expect(progress.count == 5 && progress.ended >= ended)
            ended = progress.ended
            seen = progress
            // Without a response, the size of a member is unknown.
            if ended == 1 {
                #expect(progress.completed == 1000 && progress.total == nil)
                try scope.open(gate: "b")
            }
        }
        #expect(try await handle.value.responses.count == 6)
        #expect(ended == 5 && seen.completed == 3512 && seen.total == 3512)
        #expect(handle.transfer.progress.completed == 3512)
    }

    @Test("R34 a group reports the total of a very large number of members")
    func many() async throws {
        let stub = StubServer()
        stub.respond("*", body: Bytes("12345"))
        let client = try Client { $0.stubServer = stub }
        let count = loops(10_000)
        let handle = try client.start(group((0..<count).map { "http://h/\($0)" }))
        _ = try await handle.value
        let progress = handle.transfer.progress
        #expect(progress.ended == count && progress.count == count)
        #expect(progress.completed == Int64(count * 5) && progress.total == Int64(count * 5))
    }

    @Test("R34 a group reports that all responses are cached, and only then")
    func cache() async throws {
        let folder = try TemporaryFolder()
        let client = try makeClient(scope) { $0.storageDirectory = folder.file("storage") }
        func run(_ names: [String]) async throws -> Bool {
            var group = RequestGroup()
            for name in names {
                var request = Request("text/\(name)")
                request.cacheDuration = .seconds(60)
                request.cachePolicy = .use
                group.add(request)
            }
            return try await client.send(group).isFromCache
        }
        #expect(try await !run(["a", "b"]))
        #expect(try await run(["a", "b"]))
        #expect(try await !run(["a", "c"]))
        #expect(try await !run([]))
        #expect(try scope.requests().count == 3)
    }

    @Test("R34 commands of the group apply to all members, and cancelling ends it")
    func verbs() async throws {
        let handle = try client.start(group((0..<4).map { "text/\($0)?gate=g" }, .allSettled))
        try await scope.wait("requests=4")
        #expect(client.transfers().map(\.kind) == [.group, .request, .request, .request, .request])
        handle.pause()
        #expect(client.transfers().allSatisfy { $0.state == .paused })
        handle.resume()
        #expect(client.transfers().allSatisfy { $0.state != .paused })

        handle.cancel()

        let error = await failure { () throws(WherryError) in try await handle.value }
        #expect(error?.reason == "cancelled")
        #expect(client.wait() && client.count() == 0)
        #expect(await handle.progress.isOver)
    }

    @Test("R34 cancelling the waiting task cancels the complete group")
    func taskCancelled() async throws {
        let group = group((0..<3).map { "text/\($0)?gate=g" })
        let task = Task {
            await failure { () throws(WherryError) in try await client.send(group) }
        }
        try await scope.wait("requests=3")
        task.cancel()
        #expect(await task.value?.reason == "cancelled")
        #expect(client.count() == 0)
    }

    @Test("R34 a member cancelled separately counts as failed")
    func memberCancelled() async throws {
        let handle = try client.start(group(["text/0?gate=g", "text/1?gate=g"]))
        try await scope.wait("requests=2")
        #expect(client.cancel(.url("text/1?gate=g")) == 1)
        let error = await failure { () throws(WherryError) in try await handle.value }
        #expect(error?.reason == "cancelled")
        #expect(error?.message.hasPrefix("Request 2 of 2") == true)
        #expect(client.wait() && client.count() == 0)
    }

    @Test("R34 an invalid member throws before anything is sent")
    func refused() async throws {
        var outer = group(["text/0"])
        try outer.add(group(["text/1", "ftp://nowhere/"]))
        let sent = outer
        let error = await failure { () throws(WherryError) in try await client.send(sent) }
        #expect(error?.reason == "bad_url")
        #expect(
            error?.message.hasPrefix(
                "Group 2 of 2 cannot be sent: Request 2 of 2 cannot be sent: ") == true)
        #expect(client.count() == 0)
        #expect(try scope.requests().isEmpty)
        #expect(client.counters().started == 0)
    }

    @Test("R34 nested groups end by their own policies, 16 deep at most")
    func nested() async throws {
        var outer = group(["text/0"])
        try outer.add(group(["status/404", "text/1"], .allSettled))
        let answer = try await client.send(outer)
        guard case .group(let inner) = answer.members[1] else {
            Issue.record("the second member is no group")
            return
        }
        #expect(inner.members.map { $0.response?.status } == [404, 200])
        #expect(answer.responses.count == 2 && answer.errors.count == 1)

        try outer.add(group(["text/2?gate=g", "status/503"]))
        let failing = outer
        let error = await failure { () throws(WherryError) in try await client.send(failing) }
        #expect(error?.message.hasPrefix("Group 3 of 3 failed: Request 2 of 2, GET ") == true)

        var deep = group([])
        for _ in 0..<15 {
            var next = RequestGroup()
            try next.add(deep)
            deep = next
        }
        #expect(try await client.send(deep).members.count == 1)
        let tooDeep = deep
        #expect(throws: WherryError.self) {
            var next = RequestGroup()
            try next.add(tooDeep)
        }
    }

    @Test("R34 closing the client ends its groups, and releases them")
    func closing() async throws {
        weak var seen: Transfer?
        do {
            let handle = try client.start(group(["text/0?gate=g", "text/1?gate=g"]))
            try await scope.wait("requests=2")
            client.close()
            let error = await failure { () throws(WherryError) in try await handle.value }
            #expect(error?.reason == "cancelled")
            #expect(throws: WherryError.self) { try client.start(group(["text/0"])) }
            seen = handle.transfer
            #expect(seen != nil)
        }
        #expect(seen == nil)
    }

    @Test("R34 groups end while they start if a stub responds at once")
    func atOnce() async throws {
        let stub = StubServer()
        try stub.respond("http://h/good", json: [:])
        stub.respond("http://h/bad", status: 500)
        let client = try Client { $0.stubServer = stub }
        for round in 0..<loops(500) {
            let urls = (0..<6).map { $0 == round % 6 ? "http://h/bad" : "http://h/good" }
            let sent = group(urls)
            let error = await failure { () throws(WherryError) in try await client.send(sent) }
            #expect(error?.message.hasPrefix("Request \(round % 6 + 1) of 6") == true)
            let settled = try await client.send(group(urls, .allSettled))
            #expect(settled.responses.count == 5)
        }
        #expect(client.wait() && client.count() == 0)
    }
}

extension ProgressSequence {
    /// The group has ended: the last progress arrives, or none, and then the end.
    fileprivate var isOver: Bool {
        get async {
            var count = 0
            for await _ in self { count += 1 }
            return count <= 1
        }
    }
}
