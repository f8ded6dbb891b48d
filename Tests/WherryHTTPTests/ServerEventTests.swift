// Wherry: tests of server-sent events
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import WherryHTTP

@Suite struct ServerEventTests {
    private func events(
        _ pieces: [[UInt8]], limit: Int = 1 << 20
    ) throws -> (events: [ServerEvent], retry: Int64?) {
        var parser = ServerEventParser(limit: limit)
        var events: [ServerEvent] = []
        for piece in pieces { try parser.feed(piece, &events) }
        return (events, parser.retry)
    }

    private func table() throws -> [(text: String, events: [ServerEvent], retry: Int64?)] {
        let path = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../Scenarios/server-events.json")
        let cases = try JSON(parsing: Array(Data(contentsOf: path))).array(at: "cases") ?? []
        try #require(!cases.isEmpty)
        return try cases.map { one in
            let events = (one.array(at: "events") ?? []).map { event in
                ServerEvent(
                    name: event.text(at: "name") ?? "message", data: event.text(at: "data") ?? "",
                    id: event.text(at: "id") ?? "")
            }
            return (try #require(one.text(at: "text")), events, one.integer(at: "retry"))
        }
    }

    @Test("R36 events match the table for any chunk boundaries")
    func cuts() throws {
        for one in try table() {
            let bytes = Array(one.text.utf8)
            for cut in 0...bytes.count {
                let found = try events([Array(bytes[..<cut]), Array(bytes[cut...])])
                #expect(found.events == one.events, "\(one.text) cut at \(cut)")
                #expect(found.retry == one.retry)
            }
            #expect(try events(bytes.map { [$0] }).events == one.events)
        }
    }

    @Test("R36 5,000 events arrive complete, cut at every byte of one of them")
    func many() throws {
        let expected = (0..<5000).map {
            ServerEvent(name: "tick", data: "number \($0)\nthrée 天", id: "\($0)")
        }
        let text = Array(
            (0..<5000).map { "event: tick\r\nid: \($0)\r\ndata: number \($0)\ndata: thrée 天\n\n" }
                .joined().utf8)
        for offset in 1...64 {
            let pieces = stride(from: 0, to: text.count, by: offset).map {
                Array(text[$0..<min($0 + offset, text.count)])
            }
            #expect(try events(pieces).events == expected, "pieces of \(offset)")
        }
    }

    @Test("R36 an event over the limit is an error, one at the limit is not")
    func limit() throws {
        #expect(try events([Array("data: abc\n\n".utf8)], limit: 9).events.count == 1)
        for text in ["data: abcd\n\n", "data: a\ndata: b\n\n", ": a comment that has no end"] {
            let error = #expect(throws: WherryError.self) {
                try events([Array(text.utf8)], limit: 7)
            }
            #expect(error?.reason == "too_large")
        }
    }
}
