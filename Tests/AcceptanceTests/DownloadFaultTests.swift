// Wherry: acceptance tests of downloads with misbehaving servers, beyond the table
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing
import Wherry
import WherrySystem

/// A response of a scripted server, as bytes on the wire.
struct WireResponse: Sendable {
    let status: Int
    var fields: [String] = []
    /// Length, seed, and first byte of a piece of the pattern.
    var bytes: (count: Int, seed: Int, from: Int)?

    init(
        _ status: Int, _ fields: [String] = [], bytes: (count: Int, seed: Int, from: Int)? = nil
    ) {
        self.status = status
        self.fields = fields
        self.bytes = bytes
    }

    /// The complete file in the version with this tag and seed.
    static func whole(_ tag: String? = "\"x\"", size: Int = Contents.size, seed: Int = 1)
        -> WireResponse
    {
        WireResponse(
            200, ["Content-Length: \(size)"] + (tag.map { ["ETag: \($0)"] } ?? []),
            bytes: (size, seed, 0))
    }

    /// The bytes after the first 400,000, unless the headers say otherwise.
    static func rest(_ fields: [String], tag: String? = "\"x\"", count: Int = rest) -> WireResponse
    {
        var fields = fields + (tag.map { ["ETag: \($0)"] } ?? [])
        if !fields.contains(where: { $0.hasPrefix("Content-Range:") }) {
            fields.append("Content-Range: bytes 400000-1060920/1060921")
        }
        if !fields.contains(where: { $0.hasPrefix("Content-Length:") }) {
            fields.append("Content-Length: \(rest)")
        }
        return WireResponse(206, fields, bytes: (count, 1, Contents.cut))
    }

    static let rest = Contents.size - Contents.cut

    fileprivate var step: [String: Any] {
        let head = (["HTTP/1.1 \(status) -"] + fields).joined(separator: "\r\n") + "\r\n\r\n"
        var raw: [[Any]] = [["send", head]]
        if let bytes { raw.append(["bytes", bytes.count, bytes.seed, bytes.from]) }
        return ["raw": raw + [["fin"]]]
    }

    static func script(_ answers: [WireResponse]) throws -> String {
        String(
            decoding: try JSONSerialization.data(withJSONObject: answers.map(\.step)),
            as: UTF8.self)
    }
}

/// A partial file of 400,000 bytes, the server's responses to the resume, and the result.
struct FaultCase: Sendable, CustomTestStringConvertible {
    let id: String
    let answers: [WireResponse]
    /// `nil` for a complete file.
    var reason: String?
    var status = 0
    var restarts: [String] = []
    var content = Contents.v1
    /// The partial file that remains after a failure; `nil` for none.
    var kept: Int64?
    /// The requested ranges; `nil` for the complete file.
    let ranges: [String?]

    var testDescription: String { id }

    static let from400 = "bytes=400000-"

    /// The server's range is useless, and the complete file is downloaded.
    static func useless(_ id: String, _ answer: WireResponse, _ reason: String) -> FaultCase {
        FaultCase(
            id: id, answers: [answer, .whole()], restarts: [reason], ranges: [from400, nil])
    }

    /// The same request gets the complete file in another response.
    static func goesOn(_ id: String, _ answer: WireResponse) -> FaultCase {
        FaultCase(id: id, answers: [answer, .rest([])], ranges: [from400, from400])
    }

    /// The download fails at once, and the partial file is kept.
    static func fails(_ id: String, _ answer: WireResponse, _ reason: String, status: Int = 0)
        -> FaultCase
    {
        FaultCase(
            id: id, answers: [answer], reason: reason, status: status, kept: 400_000,
            ranges: [from400])
    }

    static let pieces: [FaultCase] = [
        useless("DR5 a 206 without the validator", .rest([], tag: nil), "no_validator"),
        useless("DR5 a 206 with the tag, but weak", .rest([], tag: "W/\"x\""), "changed"),
        useless("DR5 a 206 with two tags", .rest(["ETag: \"y\""]), "changed"),
        useless(
            "DR5 a 206 with a date in place of the tag",
            .rest(["Last-Modified: Mon, 01 Jan 2024 00:00:00 GMT"], tag: nil), "changed"),
        useless(
            "DR5 a range that ends before it begins",
            .rest(["Content-Range: bytes 1060920-400000/1060921"]), "bad_range"),
        useless(
            "DR5 a range beyond the end", .rest(["Content-Range: bytes 400000-1060921/1060921"]),
            "bad_range"),
        useless(
            "DR5 a range larger than any number",
            .rest(["Content-Range: bytes 400000-99999999999999999999/99999999999999999999"]),
            "bad_range"),
        useless(
            "DR5 a range as large as a number can be",
            .rest(["Content-Range: bytes 400000-9223372036854775806/9223372036854775807"]),
            "changed"),
        useless(
            "DR5 a range of something else", .rest(["Content-Range: words 400000-1060920/1060921"]),
            "bad_range"),
        useless(
            "DR5 two ranges, the right one first",
            .rest([
                "Content-Range: bytes 400000-1060920/1060921",
                "Content-Range: bytes 0-660920/1060921",
            ]), "bad_range"),
        useless(
            "DR5 two ranges, the right one last",
            .rest([
                "Content-Range: bytes 0-660920/1060921",
                "Content-Range: bytes 400000-1060920/1060921",
            ]), "bad_range"),
        useless(
            "DR5 several parts", .rest(["Content-Type: Multipart/Byteranges; boundary=b"]),
            "bad_range"),
        useless(
            "DR5 a length that is not the range's", .rest(["Content-Length: 660922"]), "bad_range"),
        useless("DR5 another coding", .rest(["Content-Encoding: gzip"]), "encoding"),
        useless(
            "DR9 another digest of the whole, of a first answer without one",
            .rest(["Repr-Digest: sha-256=:\(String(repeating: "A", count: 43))=:"]), "checksum"),
        fails(
            "DR12 two lengths", .rest(["Content-Length: 660921", "Content-Length: 9"]), "protocol"),
        fails("DR12 a length below zero", .rest(["Content-Length: -1"]), "protocol"),
        fails(
            "DR12 a length larger than any number",
            .rest(["Content-Length: 99999999999999999999"]), "protocol"),
        fails(
            "DR12 a length and a transfer coding",
            .rest(["Content-Length: 660921", "Transfer-Encoding: chunked"]), "protocol"),
        FaultCase(
            id: "DR12 a piece that breaks off",
            answers: [.rest([], count: 100_000), restFrom500],
            ranges: [from400, "bytes=500000-"]),
        FaultCase(
            id: "DR5 a piece that is shorter than asked, and says so",
            answers: [
                .rest(
                    ["Content-Range: bytes 400000-499999/1060921", "Content-Length: 100000"],
                    count: 100_000), restFrom500,
            ],
            ranges: [from400, "bytes=500000-"]),
        FaultCase(
            id: "DR15 a byte at a time, and for ever the same",
            answers: (0..<7).map { number in
                let at = Contents.cut + number
                return WireResponse(
                    206,
                    [
                        "Content-Range: bytes \(at)-\(at)/1060921", "Content-Length: 1",
                        "ETag: \"x\"",
                    ], bytes: (1, 1, at))
            }, reason: "truncated", kept: 400_006,
            ranges: (0..<6).map { "bytes=\(Contents.cut + $0)-" }),
    ]

    private static let restFrom500 = WireResponse(
        206,
        [
            "Content-Range: bytes 500000-1060920/1060921", "Content-Length: 560921", "ETag: \"x\"",
        ], bytes: (560_921, 1, 500_000))

    static let others: [FaultCase] = [
        FaultCase(
            id: "DR6 the whole is shorter than what is there",
            answers: [.whole("\"y\"", size: 300_000, seed: 2)], restarts: ["changed"],
            content: Contents.make(seed: 2, size: 300_000), ranges: [from400]),
        FaultCase(
            id: "DR9 the whole is shorter, and has the same tag",
            answers: [.whole(size: 300_000, seed: 2)], restarts: ["changed"],
            content: Contents.make(seed: 2, size: 300_000), ranges: [from400]),
        FaultCase(
            id: "DR2 the tag is weak from now on", answers: [.whole("W/\"x\"")],
            restarts: ["changed"], ranges: [from400]),
        FaultCase(
            id: "DR6 the whole breaks off, and another version is gone on with",
            answers: [
                WireResponse(
                    200, ["Content-Length: 1060921", "ETag: \"y\""], bytes: (500_000, 2, 0)),
                WireResponse(
                    206,
                    [
                        "Content-Range: bytes 500000-1060920/1060921", "Content-Length: 560921",
                        "ETag: \"y\"",
                    ], bytes: (560_921, 2, 500_000)),
            ], restarts: ["changed"], content: Contents.v2, ranges: [from400, "bytes=500000-"]),
        useless(
            "DR7 416 with the same tag",
            WireResponse(
                416,
                [
                    "Content-Range: bytes */1060921",
                    "ETag: \"x\"", "Content-Length: 0",
                ]), "416"),
        useless(
            "DR7 416 that calls the partial the whole",
            WireResponse(
                416,
                ["Content-Range: bytes */400000", "ETag: \"x\"", "Content-Length: 0"]), "416"),
        useless(
            "DR7 416 with another tag",
            WireResponse(
                416,
                [
                    "Content-Range: bytes */400000",
                    "ETag: \"y\"", "Content-Length: 0",
                ]), "416"),
        useless("DR7 416 that says nothing", WireResponse(416, ["Content-Length: 0"]), "416"),
        useless("DR7 412", WireResponse(412, ["Content-Length: 5"], bytes: (5, 9, 0)), "changed"),
        fails(
            "DR10 a redirect to a file",
            WireResponse(
                302,
                [
                    "Location: file:///etc/passwd",
                    "Content-Length: 0",
                ]), "redirect_refused", status: 302),
        fails(
            "DR10 a redirect to ftp",
            WireResponse(
                307,
                [
                    "Location: ftp://127.0.0.1/x",
                    "Content-Length: 0",
                ]), "redirect_refused", status: 307),
        fails("DR11 401", refusal(401), "expired", status: 401),
        fails("DR11 403", refusal(403), "expired", status: 403),
        fails("DR11 410", refusal(410), "expired", status: 410),
        fails("DR15 404", refusal(404), "http_status", status: 404),
        fails("DR15 451", refusal(451), "http_status", status: 451),
        fails("DR15 501", refusal(501), "http_status", status: 501),
        fails("DR7 304", WireResponse(304), "http_status", status: 304),
        fails("DR7 204", WireResponse(204), "http_status", status: 204),
        fails("DR7 203 with other bytes", refusal(203), "http_status", status: 203),
        goesOn("DR15 503 with a body as long as the file's", refusal(503)),
        goesOn("DR15 408", refusal(408)),
    ]

    /// Text of the server that would fit into the file.
    static func refusal(_ status: Int, _ fields: [String] = []) -> WireResponse {
        WireResponse(
            status, ["Content-Length: 1060921"] + fields, bytes: (Contents.size, 9, 0))
    }

    static let waits: [FaultCase] =
        [
            "nonsense", "-5", "", "1e3", "0x10", "3, 4", "Thu, 01 Jan 1970 00:00:00 GMT", "0",
        ].map { goesOn("DR15 Retry-After: \($0)", refusal(503, ["Retry-After: \($0)"])) }
        + ["61", "9223372036854775807", "999999999999999999999", "Fri, 31 Dec 9999 23:59:59 GMT"]
        .map {
            fails(
                "DR15 Retry-After: \($0)", refusal(429, ["Retry-After: \($0)"]), "retry_later",
                status: 429)
        }
}

@Suite struct DownloadFaultTests {
    /// A first run that leaves 400,000 bytes, from a server that then sends these responses.
    static func broken(_ bench: DownloadBench, _ answers: [WireResponse]) async throws -> String {
        let url = bench.scope.url("/s/file")
        let first = WireResponse(
            200, ["Content-Length: 1060921", "ETag: \"x\""], bytes: (Contents.cut, 1, 0))
        try bench.scope.script("file", WireResponse.script([first] + answers))
        let cut = try await bench.run(url, retries: 0)
        try #require(cut.reason == "truncated")
        return url
    }

    @Test(
        "DR5 DR7 DR9 DR11 DR15 a response with other bytes never becomes part of the file",
        arguments: FaultCase.pieces + FaultCase.others + FaultCase.waits)
    func faults(_ example: FaultCase) async throws {
        let bench = try DownloadBench()
        let path = bench.folder.file("a.bin")
        let url = try await Self.broken(bench, example.answers)

        let end = try await bench.run(url)

        #expect(end.reason == example.reason, "\(end.error?.message ?? "")")
        #expect(end.error?.httpStatus ?? 0 == example.status)
        #expect(end.restarts == example.restarts)
        let asked = try bench.scope.requests().dropFirst()
        #expect(asked.map { $0.header("range") } == example.ranges)
        #expect(asked.first?.header("if-range") == "\"x\"")
        if example.reason == nil {
            #expect(try bench.contents() == example.content)
            #expect(try bench.folder.names == ["a.bin"])
            return
        }
        #expect(!FileManager.default.fileExists(atPath: path))
        let partial = try bench.client.partial(of: path)
        #expect(partial?.bytes == example.kept)
        #expect(end.error?.partialPath == partial?.partialPath)
        #expect(try bench.folder.names.count == (example.kept == nil ? 0 : 2))
        if let partial {
            let bytes = try Data(contentsOf: URL(fileURLWithPath: partial.partialPath))
            #expect(bytes == Contents.v1.prefix(Int(partial.bytes)))
        }
    }

    /// A complete partial file under its first name, as a crash before the rename leaves it.
    private func wholePart(_ bench: DownloadBench, _ url: String) throws {
        let target = try DownloadTarget.locate(bench.folder.file("a.bin"))
        let found = try PartFile.open(target, PartFile.Identity(url: url))
        var facts = DownloadFacts()
        facts.total = Int64(Contents.size)
        facts.validator = .entityTag("\"x\"")
        try found.part.begin(facts, isJournaled: true)
        try found.part.write(Bytes(Array(Contents.v1)), at: 0)
        try found.part.checkpoint()
    }

    @Test(
        "DR7 a complete partial file becomes the file only if the server still has that version",
        arguments: [
            (416, ["Content-Range: bytes */1060921", "ETag: \"x\""], nil),
            (416, ["Content-Range: bytes */1060921"], nil),
            (416, ["Content-Range: bytes */1060921", "ETag: \"y\""], "416"),
            (416, ["Content-Range: bytes */1060921", "ETag: W/\"x\""], "416"),
            (416, ["Content-Range: bytes */1060920", "ETag: \"x\""], "416"),
            (416, [], "416"),
            (412, [], "changed"),
            // A server without range support sends all bytes; existing ones need not be sent.
            (200, ["ETag: \"x\"", "Content-Length: 1060921"], nil),
            (200, ["ETag: \"y\"", "Content-Length: 1060921"], "changed"),
        ] as [(Int, [String], String?)])
    func complete(status: Int, fields: [String], restart: String?) async throws {
        let bench = try DownloadBench()
        let url = bench.scope.url("/s/file")
        try wholePart(bench, url)
        let length = status == 200 ? [] : ["Content-Length: 0"]
        try bench.scope.script(
            "file",
            WireResponse.script([
                WireResponse(
                    status, fields + length,
                    bytes: status == 200 ? (Contents.size, restart == nil ? 1 : 2, 0) : nil),
                .whole("\"z\"", seed: 2),
            ]))

        let end = try await bench.run(url)

        #expect(end.error == nil)
        #expect(end.restarts == [restart].compactMap { $0 })
        #expect(end.watcher.remarks == (restart == nil ? ["already_complete"] : []))
        #expect(try bench.contents() == (restart == nil ? Contents.v1 : Contents.v2))
        #expect(try bench.folder.names == ["a.bin"])
        #expect(try bench.scope.requests().first?.header("range") == "bytes=1060921-")
    }

    @Test("DR6 the partial file is kept until its replacement bytes arrive")
    func leftAsFound() async throws {
        // The range is useless, and the complete file never arrives.
        let bench = try DownloadBench()
        let url = try await Self.broken(
            bench, [.rest([], tag: nil), FaultCase.refusal(404), .rest([])])
        let failed = try await bench.run(url)
        #expect(failed.reason == "http_status" && failed.restarts == ["no_validator"])
        #expect(failed.error?.partialPath == (try bench.leftovers().part))
        #expect(try bench.client.partial(of: bench.folder.file("a.bin"))?.bytes == 400_000)

        // Another URL, perhaps mistyped: its failure removes nothing.
        for other in [bench.scope.url("/status/404"), bench.scope.url("/loop")] {
            let end = try await bench.run(other)
            #expect(end.restarts == ["changed"])
            #expect(end.error?.partialPath == (try bench.leftovers().part))
            #expect(try bench.client.partial(of: bench.folder.file("a.bin"))?.bytes == 400_000)
        }
        // A download cancelled before a response does not remove or claim it either.
        let gate = bench.scope.url("/bytes/1060921?seed=2&etag=%22x%22&gate=never")
        let (transfer, watcher) = try bench.client.begin(gate, to: bench.folder.file("a.bin"))
        try await bench.scope.wait("path=/bytes&requests=1")
        transfer.cancel()
        #expect(await watcher.end().error?.reason == "cancelled")
        let partial = try #require(try bench.client.partial(of: bench.folder.file("a.bin")))
        #expect(partial.bytes == 400_000 && partial.url.hasSuffix("/s/file"))

        let end = try await bench.run(url)
        #expect(end.error == nil && end.resumedAt == 400_000)
        #expect(try bench.contents() == Contents.v1)
        #expect(try bench.folder.names == ["a.bin"])
    }

    @Test("DR1 a partial file of another host or path is never resumed, whatever its tag")
    func otherURL() async throws {
        let bench = try DownloadBench()
        _ = try await bench.run(bench.url("cut=400000&etag=v1"), retries: 0)

        let other = bench.url("seed=2&etag=v1").replacing("127.0.0.1", with: "localhost")
        let end = try await bench.run(other)

        #expect(end.error == nil)
        #expect(end.restarts == ["changed"])
        #expect(try bench.contents() == Contents.v2)
        #expect(try bench.scope.requests().last?.header("range") == nil)
    }

    // MARK: If-Match

    @Test(
        "DR6 a server that answers If-Range with the complete file gets one If-Match request",
        arguments: [true, false])
    func ifMatch(knowsRanges: Bool) async throws {
        let bench = try DownloadBench()
        let url = bench.scope.url("/s/file")
        let start = ["Content-Length: 1060921", "ETag: \"x\""]
        let rest = WireResponse(
            206,
            [
                "Content-Range: bytes 700000-1060920/1060921", "Content-Length: 360921",
                "ETag: \"x\"",
            ], bytes: (360_921, 1, 700_000))
        try bench.scope.script(
            "file",
            WireResponse.script([
                WireResponse(200, start, bytes: (700_000, 1, 0)), .whole(),
                knowsRanges ? rest : .whole(),
            ]))

        let end = try await bench.run(url)

        #expect(end.error == nil)
        #expect(end.restarts == (knowsRanges ? [] : ["ranges_unsupported"]))
        #expect(try bench.contents() == Contents.v1)
        let requests = try bench.scope.requests()
        #expect(
            requests.map { $0.header("range") } == [nil, "bytes=700000-", "bytes=700000-"])
        #expect(requests.map { $0.header("if-range") } == [nil, "\"x\"", nil])
        #expect(requests.map { $0.header("if-match") } == [nil, nil, "\"x\""])
    }

    @Test("DR6 a failed If-Match means a changed file, and under half the file is not worth it")
    func ifMatchFails() async throws {
        let bench = try DownloadBench()
        let url = bench.scope.url("/s/file")
        let start = ["Content-Length: 1060921", "ETag: \"x\""]
        try bench.scope.script(
            "file",
            WireResponse.script([
                WireResponse(200, start, bytes: (700_000, 1, 0)), .whole(),
                WireResponse(412, ["Content-Length: 0"]), .whole("\"y\"", seed: 2),
            ]))
        let end = try await bench.run(url)
        #expect(end.error == nil && end.restarts == ["changed"])
        #expect(try bench.contents() == Contents.v2)
        #expect(
            try bench.scope.requests().map { $0.header("if-match") } == [nil, nil, "\"x\"", nil])

        let less = try DownloadBench()
        let again = try await less.run(try await Self.broken(less, [.whole()]))
        #expect(again.error == nil && again.restarts == ["ranges_unsupported"])
        #expect(try less.scope.requests().count == 2)
        #expect(try less.scope.requests().allSatisfy { $0.header("if-match") == nil })
    }

    @Test("DR6 the caller's If-Match is replaced for a range, and used for the complete file")
    func ownIfMatch() async throws {
        let bench = try DownloadBench()
        let url = bench.scope.url("/s/file")
        let rest = WireResponse(
            206,
            [
                "Content-Range: bytes 700000-1060920/1060921", "Content-Length: 360921",
                "ETag: \"x\"",
            ], bytes: (360_921, 1, 700_000))
        try bench.scope.script(
            "file",
            WireResponse.script([
                WireResponse(
                    200, ["Content-Length: 1060921", "ETag: \"x\""], bytes: (700_000, 1, 0)),
                .whole(), rest,
            ]))
        let end = try await bench.run(url) { $0.headers["If-Match"] = "\"x\", \"w\"" }
        #expect(end.error == nil && end.restarts == [])
        #expect(try bench.contents() == Contents.v1)
        #expect(
            try bench.scope.requests().map { $0.header("if-match") }
                == ["\"x\", \"w\"", "\"x\", \"w\"", "\"x\""])
    }
}
