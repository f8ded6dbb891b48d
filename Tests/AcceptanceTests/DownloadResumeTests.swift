// Wherry: acceptance tests of resumed downloads: DC-A of downloads.md
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing
import Wherry
import WherrySystem

/// A server that cuts the first response after 400,000 bytes, and the kind of the second response.
struct ResumeCase: Sendable, CustomTestStringConvertible {
    let id: String
    /// The fault of the following responses.
    let query: String
    /// The reason for a restart within one run.
    var restarts: [String] = []
    /// The same for a resume by a second run; `nil` if the first leaves nothing to resume.
    var laterRestarts: [String]?
    var content = Contents.v1
    var requests = 2

    init(
        _ id: String, _ query: String, _ restarts: [String] = [], later: [String]? = [],
        content: Data = Contents.v1, requests: Int = 2
    ) {
        self.id = id
        self.query = query
        self.restarts = restarts
        laterRestarts = later
        self.content = content
        self.requests = requests
    }

    var testDescription: String { id }

    static let all = [
        ResumeCase("DC-A01 nothing changed, strong tag", ""),
        ResumeCase(
            "DC-A02 changed, If-Range honoured", "seed_next=2", ["changed"], later: ["changed"],
            content: Contents.v2),
        ResumeCase(
            "DC-A03 changed, If-Range ignored, another tag", "seed_next=2&ignore_if_range=1",
            ["changed"], later: ["changed"], content: Contents.v2, requests: 3),
        ResumeCase("DC-A04 weak tag", "weak=1", ["no_validator"], later: nil),
        ResumeCase(
            "DC-A05 weak tag, changed", "weak=1&seed_next=2", ["no_validator"], later: nil,
            content: Contents.v2),
        ResumeCase("DC-A06 an old Last-Modified alone", "etag=none"),
        ResumeCase(
            "DC-A07 Last-Modified alone, changed", "etag=none&seed_next=2&lastmod_next=1704070000",
            ["changed"], later: ["changed"], content: Contents.v2),
        ResumeCase(
            "DC-A08 Last-Modified is as old as Date", "etag=none&lastmod=now&seed_next=2",
            ["no_validator"], later: nil, content: Contents.v2),
        ResumeCase("DC-A09 no validator", "no_validator=1", ["no_validator"], later: nil),
        ResumeCase(
            "DC-A10 no validator, changed", "no_validator=1&seed_next=2", ["no_validator"],
            later: nil, content: Contents.v2),
        ResumeCase(
            "DC-A11 ranges ignored", "ranges=0&accept_ranges=bytes", ["ranges_unsupported"],
            later: ["ranges_unsupported"]),
        ResumeCase("DC-A12 206 from byte 0", "bad_range=zero"),
        ResumeCase("DC-A13 206 from an earlier byte", "bad_range=early"),
        ResumeCase(
            "DC-A14 206 with a gap", "bad_range=gap", ["bad_range"], later: ["bad_range"],
            requests: 3),
        ResumeCase(
            "DC-A15 206 without Content-Range", "bad_range=missing", ["bad_range"],
            later: ["bad_range"], requests: 3),
        ResumeCase(
            "DC-A16 206 of another length", "bad_range=total", ["changed"], later: ["changed"],
            requests: 3),
        ResumeCase(
            "DC-A16 206 of an unknown length", "bad_range=unknown", ["bad_range"],
            later: ["bad_range"], requests: 3),
        ResumeCase(
            "DC-A18 shrank below what is here", "size_next=300000&seed_next=2&ignore_if_range=1",
            ["416"], later: ["416"], content: Contents.make(seed: 2, size: 300_000), requests: 3),
        ResumeCase(
            "DC-A19 grew and changed", "size_next=1200000&seed_next=2", ["changed"],
            later: ["changed"], content: Contents.make(seed: 2, size: 1_200_000)),
        ResumeCase(
            "DC-A20 another coding", "bad_range=encoding", ["encoding"], later: ["encoding"],
            requests: 3),
        ResumeCase("DC-A25 Accept-Ranges: none", "ranges=0", ["ranges_unsupported"], later: nil),
    ]
}

@Suite struct DownloadResumeTests {
    @Test("D6 a broken download resumes or restarts within one run", arguments: ResumeCase.all)
    func inOneRun(_ example: ResumeCase) async throws {
        let bench = try DownloadBench()
        let end = try await bench.run(bench.url("cut=400000&times=1&" + example.query))

        #expect(end.error == nil)
        #expect(end.restarts == example.restarts)
        #expect(try bench.contents() == example.content)
        #expect(try bench.folder.names == ["a.bin"])
        let requests = try bench.scope.requests()
        #expect(requests.count == example.requests)
        let goesOn = example.restarts != ["no_validator"] && !example.id.hasPrefix("DC-A25")
        #expect((requests[1].header("range") == "bytes=400000-") == goesOn)
        #expect((requests[1].header("if-range") != nil) == goesOn)
        let last = try #require(end.watcher.progresses.last)
        #expect(last.completed == Int64(example.content.count) && last.total == last.completed)
        #expect(last.generation == 1 + example.restarts.count)
    }

    @Test("D6 a later run resumes or restarts", arguments: ResumeCase.all)
    func inTwoRuns(_ example: ResumeCase) async throws {
        let bench = try DownloadBench()
        let url = bench.url("cut=400000&times=1&" + example.query)
        let first = try await bench.run(url, retries: 0)
        #expect(first.reason == "truncated")
        #expect((first.error?.partialPath != nil) == (example.laterRestarts != nil))
        #expect(try bench.folder.names.count == (example.laterRestarts == nil ? 0 : 2))

        let end = try await bench.run(url)

        #expect(end.error == nil)
        #expect(end.restarts == example.laterRestarts ?? [])
        #expect(try bench.contents() == example.content)
        #expect(try bench.folder.names == ["a.bin"])
        if example.laterRestarts == [] { #expect(end.resumedAt == 400_000) }
    }

    @Test("D6 a complete partial file is finished without another download: DC-A17")
    func wholePart() async throws {
        let bench = try DownloadBench()
        try await makeWholePart(bench, tag: "\"1060921-1\"")

        let end = try await bench.run(bench.url())

        #expect(end.error == nil)
        // The body of the 416 response was subtracted.
        #expect(end.resumedAt == 1_060_921)
        #expect(end.watcher.remarks == ["already_complete"])
        #expect(try bench.contents() == Contents.v1)
        #expect(try bench.folder.names == ["a.bin"])
        let requests = try bench.scope.requests()
        #expect(requests.map(\.status) == [416])
        #expect(requests[0].header("range") == "bytes=1060921-")
    }

    @Test("D6 a complete partial file of a changed file is downloaded again")
    func staleWholePart() async throws {
        let bench = try DownloadBench()
        try await makeWholePart(bench, tag: "\"other\"")

        let end = try await bench.run(bench.url("seed=2"))

        #expect(end.error == nil)
        #expect(end.restarts == ["changed"])
        #expect(try bench.contents() == Contents.v2)
    }

    /// The state after a crash between the last byte and the rename.
    private func makeWholePart(_ bench: DownloadBench, tag: String) async throws {
        let seed = tag == "\"other\"" ? "?seed=2" : ""
        let target = try DownloadTarget.locate(bench.folder.file("a.bin"))
        let found = try PartFile.open(target, PartFile.Identity(url: bench.url() + seed))
        var facts = DownloadFacts()
        facts.total = Int64(Contents.size)
        facts.validator = .entityTag(tag)
        try found.part.begin(facts, isJournaled: true)
        try found.part.write(Bytes(Array(Contents.v1)), at: 0)
        try found.part.checkpoint()
    }

    // MARK: Redirects

    @Test("D6 every attempt begins at the original URL: DC-A21, DC-A22, DC-A23")
    func redirects() async throws {
        for (seed, restarts, content) in [
            (1, [String](), Contents.v1), (2, ["changed"], Contents.v2),
        ] {
            let bench = try DownloadBench()
            let first = "/@\(bench.scope.key)/bytes/1060921?cut=400000&times=1"
            let next = bench.scope.url("/bytes/1060921?seed=\(seed)", host: "localhost")
            let url = bench.scope.url(
                "/redirect-to?url=\(escaped(first))&url_next=\(escaped(next))&change_at=2")
            let end = try await bench.run(url)
            #expect(end.error == nil)
            #expect(end.restarts == restarts)
            #expect(try bench.contents() == content)
            #expect(end.outcome.response?.redirects.map(\.status) == [302])
        }

        let bench = try DownloadBench()
        let target = "/@\(bench.scope.key)/bytes/1060921?cut=400000&times=1&once=t{n}"
        let end = try await bench.run(bench.scope.url("/redirect-to?url=\(escaped(target))"))
        #expect(end.error == nil && end.restarts == [])
        #expect(try bench.contents() == Contents.v1)
        #expect(try bench.scope.requests().map(\.status) == [302, 200, 302, 206])
    }

    @Test("D6 credentials stay with the first origin")
    func credentials() async throws {
        let bench = try DownloadBench()
        let target = bench.scope.url("/bytes/1000", host: "localhost")
        let end = try await bench.run(bench.scope.url("/redirect-to?url=\(escaped(target))")) {
            $0.headers["Authorization"] = "Bearer secret"
            $0.headers["Cookie"] = "a=1"
        }
        #expect(end.error == nil)
        let requests = try bench.scope.requests()
        #expect(requests.map { $0.header("authorization") } == ["Bearer secret", nil])
        #expect(requests.map { $0.header("cookie") } == ["a=1", nil])
    }

    @Test("D6 a redirect loop ends: DC-A26")
    func loop() async throws {
        let bench = try DownloadBench()
        let end = try await bench.run(bench.scope.url("/loop"))
        #expect(end.reason == "too_many_redirects")
        #expect(try bench.scope.requests().count == 11)
        #expect(try bench.folder.names.isEmpty)
    }

    @Test("D6 an expired link keeps its partial file: DC-A24", arguments: [401, 403, 410])
    func expired(status: Int) async throws {
        let bench = try DownloadBench()
        let end = try await bench.run(
            bench.url("cut=400000&times=1&status_next=\(status)&change_at=2"))
        #expect(end.reason == "expired")
        #expect(end.error?.httpStatus == status)
        #expect(end.error?.partialPath == (try bench.leftovers().part))
        #expect(try bench.client.partial(of: bench.folder.file("a.bin"))?.bytes == 400_000)
    }

    private func escaped(_ text: String) -> String { ParameterEncoding.escaped(text) }
}
