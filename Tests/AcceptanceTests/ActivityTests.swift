// Wherry: acceptance tests of the activity indicator
// SPDX-License-Identifier: Apache-2.0

import TestServer
import Testing
import Wherry
import WherrySystem

/// The tests move the clock: when `advance` returns, everything due has happened.
@Suite struct ActivityTests {
    private let stub = StubServer()
    private let client: Client

    init() throws {
        let stub = stub
        stub.advance(by: .zero)
        client = try Client { $0.stubServer = stub }
    }

    /// The reported changes as text: `+3` shows for three, `-` hides.
    private final class Told: Sendable {
        private let told = Guarded("")
        var text: String { told.withLock { $0 } }
        func note(_ change: ActivityChange) -> Bool {
            told.withLock { $0 += change.isShown ? "+\(change.count)" : "-" }
            return true
        }
    }

    private func watch(_ client: Client, hideAfter: Duration = .milliseconds(170)) throws -> Told {
        let told = Told()
        try client.watchActivity(
            ActivityBoard.newReader(), showAfter: .seconds(1), hideAfter: hideAfter, told.note)
        return told
    }

    private func pass(_ milliseconds: Int) { stub.advance(by: .milliseconds(milliseconds)) }

    @Test("L13 the indicator shows after a second and hides 0.17 s after the last request")
    func timing() throws {
        stub.respond("http://h/long", delay: .milliseconds(3_000))
        stub.respond("http://h/longer", delay: .milliseconds(3_500))
        let told = try watch(client)
        _ = try client.start(Request("http://h/long"))
        _ = try client.start(Request("http://h/longer"))
        pass(999)
        #expect(told.text == "")
        pass(1)
        #expect(told.text == "+2")
        pass(2_500)
        #expect(client.count() == 0 && told.text == "+2")
        pass(169)
        #expect(told.text == "+2")
        pass(1)
        #expect(told.text == "+2-")
        pass(10_000)
        #expect(told.text == "+2-")
        client.close()
    }

    @Test("L13 short requests do not flash, and consecutive ones do not flicker")
    func quiet() throws {
        stub.respond("http://h/short", delay: .milliseconds(500))
        stub.respond("http://h/piece", delay: .milliseconds(900))
        let told = try watch(client)
        _ = try client.start(Request("http://h/short"))
        pass(2_000)
        #expect(told.text == "")
        for _ in 0..<5 {
            _ = try client.start(Request("http://h/piece"))
            pass(950)
        }
        // A gap of 50 ms each time.
        #expect(told.text == "+1")
        pass(1_000)
        #expect(told.text == "+1-")
        client.close()
    }

    @Test("L13 paused transfers do not count, and groups count by their members")
    func pauses() throws {
        stub.respond("*", delay: .seconds(20))
        let told = try watch(client)
        var group = RequestGroup()
        for index in 0..<3 { group.add(Request("http://h/\(index)")) }
        let running = try client.start(group)
        pass(1_000)
        #expect(told.text == "+3")
        client.pause()
        pass(170)
        #expect(told.text == "+3-")
        client.resume()
        pass(1_000)
        #expect(told.text == "+3-+3")
        running.cancel()
        pass(170)
        #expect(told.text == "+3-+3-")
        client.close()
    }

    @Test("L13 a late reader sees running requests, and closing hides the indicator")
    func late() throws {
        stub.respond("*", delay: .seconds(20))
        _ = try client.start(Request("http://h/"))
        pass(5_000)
        let told = try watch(client)
        pass(1_000)
        #expect(told.text == "+1")
        client.close()
        #expect(told.text == "+1-")
        let error = #expect(throws: WherryError.self) { try client.activity() }
        #expect(error?.reason == "closed")
    }

    @Test("L13 a task shows and hides on request, and sees only the newest state")
    func sequence() async throws {
        stub.respond("*", delay: .milliseconds(1_500))
        let activity = try client.activity()
        var changes = activity.makeAsyncIterator()
        for _ in 0..<2 {
            _ = try client.start(Request("http://h/"))
            pass(1_000)
            #expect(await changes.next(isolation: nil) == ActivityChange(isShown: true, count: 1))
            pass(670)
            #expect(await changes.next(isolation: nil) == ActivityChange(isShown: false, count: 0))
        }
        // Shown and hidden unseen, then shown again.
        for _ in 0..<2 {
            _ = try client.start(Request("http://h/"))
            pass(1_000)
            if await changes.next(isolation: nil)?.isShown != true { Issue.record("not shown") }
            pass(670)
            _ = try client.start(Request("http://h/"))
            pass(1_000)
            pass(670)
            #expect(await changes.next(isolation: nil)?.isShown == false)
        }
        let error = #expect(throws: WherryError.self) {
            try client.activity(showAfter: .seconds(-1))
        }
        #expect(error?.reason == "bad_value")
        client.close()
    }

    @Test("L13 a paused download does not count")
    func pausedDownload() async throws {
        let bench = try DownloadBench()
        let activity = try bench.client.activity(showAfter: .zero, hideAfter: .zero)
        var changes = activity.makeAsyncIterator()
        let (transfer, watcher) = try bench.client.begin(
            bench.url("hold=10&gate=never"), to: bench.folder.file("a.bin"))
        #expect(await changes.next(isolation: nil)?.count == 1)
        try await bench.wait(forBytes: 10, of: transfer)
        transfer.pause()
        #expect(await changes.next(isolation: nil)?.isShown == false)
        transfer.resume()
        #expect(await changes.next(isolation: nil)?.count == 1)
        transfer.cancel()
        #expect(await changes.next(isolation: nil)?.isShown == false)
        #expect(await watcher.end().error?.code == .cancelled)
    }

    @Test("L13 without delays changes are reported at once, over a real connection too")
    func real() async throws {
        let scope = try TestServer.shared.scope()
        let client = try makeClient(scope)
        let activity = try client.activity(showAfter: .zero, hideAfter: .zero)
        var changes = activity.makeAsyncIterator()
        let handle = try client.start(Request("text/a?gate=g"))
        #expect(await changes.next(isolation: nil)?.count == 1)
        try scope.open(gate: "g")
        #expect(try await handle.value.status == 200)
        #expect(await changes.next(isolation: nil)?.isShown == false)
    }
}
