// Wherry: acceptance tests of damaged job files, and of uploads that arrive once
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import TestServer
import Testing
import Wherry
import WherryCore
import WherrySystem

extension BackgroundBench {
    func file(_ id: String, _ suffix: String) -> String {
        state + "/jobs/\(id).\(suffix)"
    }

    func uploadRequest(_ query: String) -> Request {
        var request = Request(scope.url("/sink?" + query), method: "POST")
        request.body = .bytes(Bytes(Array(Contents.v1)), contentType: "application/x-test")
        return request
    }

    /// An upload whose agent was killed before it sent anything, with no agent to continue it.
    fileprivate func interruptedUpload() async throws -> String {
        let id = try await session.upload(uploadRequest("stall=1&gate=go"))
        try await scope.wait("requests=1")
        try await killAgent()
        try scope.open(gate: "go")
        return id
    }

    fileprivate func change(_ path: String, _ change: (inout Data) -> Void) throws {
        var data = try Data(contentsOf: URL(fileURLWithPath: path))
        change(&data)
        try data.write(to: URL(fileURLWithPath: path))
    }
}

@Suite struct BackgroundDamageTests {
    /// The possible damage to a stored body.
    enum Damage: CaseIterable, Sendable {
        case empty, half, longer, flipped, symlink, missing
    }

    // The changed body was sent, and the job was reported as done.
    @Test("U17 a stored body that has changed is not sent", arguments: Damage.allCases)
    func damagedBody(_ damage: Damage) async throws {
        try await withBackground(autostart: false) { bench in
            let id = try await bench.interruptedUpload()
            let path = bench.file(id, "body")
            switch damage {
            case .empty: try bench.change(path) { $0 = Data() }
            case .half: try bench.change(path) { $0 = $0.prefix($0.count / 2) }
            case .longer: try bench.change(path) { $0.append(0) }
            case .flipped: try bench.change(path) { $0[$0.count - 1] ^= 1 }
            case .symlink:
                let other = bench.folder.file("other.bin")
                try Contents.v1.write(to: URL(fileURLWithPath: other))
                try FileManager.default.removeItem(atPath: path)
                try FileManager.default.createSymbolicLink(
                    atPath: path, withDestinationPath: other)
            case .missing: try FileManager.default.removeItem(atPath: path)
            }

            if damage != .missing { try await bench.session.resume(id) }
            let end = try await bench.session.end(of: id)

            #expect(end.state == .failed)
            #expect(end.error?.reason == (damage == .missing ? "interrupted" : "damaged_job"))
            #expect(try bench.scope.requests().count == 1, "nothing was sent after the damage")
        }
    }

    @Test("U17 an unchanged body is sent again, with the key of the first attempt")
    func wholeBody() async throws {
        try await withBackground(autostart: false) { bench in
            let id = try await bench.interruptedUpload()

            try await bench.session.resume(id)
            let end = try await bench.session.end(of: id)

            #expect(end.state == .done)
            let keys = try bench.scope.requests().map { $0.header("idempotency-key") }
            #expect(keys == ["\"\(id)\"", "\"\(id)\""])
        }
    }

    @Test("U17 the program's Idempotency-Key wins, and one without a value sends none")
    func ownKey() async throws {
        try await withBackground { bench in
            var request = bench.uploadRequest("")
            request.headers["Idempotency-Key"] = "mine"
            let first = try await bench.session.upload(request)
            #expect(try await bench.session.end(of: first).state == .done)
            request.headers.suppress("Idempotency-Key")
            let second = try await bench.session.upload(request)
            #expect(try await bench.session.end(of: second).state == .done)

            let keys = try bench.scope.requests().map { $0.header("idempotency-key") }
            #expect(keys == ["mine", nil])
        }
    }

    // The job vanished from every list, and its files stayed forever.
    @Test("D14 an unreadable record is listed with the reason, and acknowledging deletes it")
    func damagedRecords() async throws {
        try await withBackground(autostart: false) { bench in
            var damages: [(String, String)] = [
                ("", "it is empty"), ("{\"version\": 1", "it is not valid JSON"),
                ("[]", "it is not valid JSON"), ("{\"version\": 99}", "it has version 99"),
                ("{\"version\": 1}", "members are missing"),
            ]
            var ids: [String] = []
            for number in damages.indices {
                let target = bench.folder.file("\(number).bin")
                let id = try await bench.session.download(bench.url("hold=1&gate=go"), to: target)
                ids.append(id)
            }
            try await bench.killAgent()
            try bench.scope.open(gate: "go")
            for (id, (text, _)) in zip(ids, damages) {
                try Data(text.utf8).write(to: URL(fileURLWithPath: bench.file(id, "job")))
            }

            let jobs = try await bench.session.jobs()

            #expect(Set(jobs.map(\.id)) == Set(ids))
            for id in ids {
                let job = try #require(jobs.first { $0.id == id })
                let why = damages.removeFirst().1
                #expect(job.state == .failed)
                #expect(job.error?.reason == "damaged_job")
                #expect(job.error?.message.contains(why) == true, "\(job.error?.message ?? "")")
                #expect(job.error?.message.contains("jobs clean \(id)") == true)
            }
            // One job is started again in place of its record, the others are deleted.
            let again = try await bench.session.download(
                bench.url(), to: bench.folder.file("0.bin"))
            #expect(again == ids[0])
            #expect(try await bench.session.end(of: again).state == .done)
            #expect(try await bench.session.acknowledge(.all) == ids.count)
            #expect(try await bench.session.jobs().isEmpty)
            let names = try FileManager.default.contentsOfDirectory(atPath: bench.state + "/jobs")
            #expect(names.isEmpty, "\(names)")
        }
    }

    // An agent killed while it wrote the record sent the upload again: 13 of 40 arrived twice.
    @Test("U17 an upload with a complete response before kill -9 is not sent again, and is done")
    func killedAfterTheResponse() async throws {
        try await withBackground { bench in
            for _ in 0..<loops(200) {
                try bench.scope.reset()
                let id = try await bench.session.upload(bench.uploadRequest(""))
                // The end is recorded before any other action.
                let (end, record) = (bench.file(id, "end"), bench.file(id, "job"))
                var isOver = false
                while !isOver {
                    isOver = access(end, F_OK) == 0 || (try? JobState(record))?.isFinal == true
                }
                try await bench.killAgent()

                let job = try await bench.session.end(of: id)

                // The file may exist and still be empty.
                let isKnown = job.state == .done && job.response?.status == 200
                #expect(isKnown || job.error?.reason == "interrupted", "\(job.describe())")
                #expect(try bench.scope.requests().count == 1)
                try await bench.session.acknowledge(id)
            }
            let names = try FileManager.default.contentsOfDirectory(atPath: bench.state + "/jobs")
            #expect(names.allSatisfy { $0.hasSuffix(".new") }, "\(names)")
        }
    }

    // A server that sends headers and body separately leaves 40 ms between them.
    @Test("U17 an upload with a truncated response is not sent again", arguments: [true, false])
    func killedInTheResponse(isKilled: Bool) async throws {
        try await withBackground { bench in
            var request = bench.uploadRequest("")
            request.url = bench.scope.url("/bytes/1000?hold=10&gate=never")
            let id = try await bench.session.upload(request)
            try await bench.wait("the headers have arrived") {
                access(bench.file(id, "end"), F_OK) == 0
            }
            // A pause is too late, too.
            if isKilled { try await bench.killAgent() } else { try await bench.session.pause(id) }

            let job = try await bench.session.end(of: id)

            #expect(job.state == .done)
            #expect(job.reason == "interrupted")
            #expect(job.response?.status == 200)
            #expect(job.response?.body.isEmpty == true)
            #expect(try bench.scope.requests().count == 1)
        }
    }

    @Test("U17 an end that could not be written into the record is read from a file next to it")
    func endBesideRecord() async throws {
        try await withBackground { bench in
            let id = try await bench.session.upload(bench.uploadRequest("stall=1&gate=go"))
            try await bench.scope.wait("requests=1")
            try FileManager.default.createDirectory(
                atPath: bench.file(id, "job.new"), withIntermediateDirectories: false)
            try bench.scope.open(gate: "go")
            #expect(try await bench.session.end(of: id).state == .done)
            try await bench.killAgent()
            try FileManager.default.removeItem(atPath: bench.file(id, "job.new"))

            let job = try await bench.session.end(of: id)

            #expect(job.state == .done)
            #expect(job.response?.status == 200)
            #expect(job.progress.completed == Int64(Contents.v1.count))
            #expect(try bench.scope.requests().count == 1)
        }
    }

    // MARK: Many jobs

    @Test("D14 commands apply to all jobs, or to those of a URL, a tag, or a path")
    func many() async throws {
        try await withBackground { bench in
            let session = bench.session
            var ids: [String] = []
            for number in 0..<3 {
                var request = Request(bench.url("hold=1&gate=go&n=\(number)"))
                if number == 2 { request = Request(bench.url("hold=1&gate=go", size: 4_000)) }
                request.tag = number == 0 ? "first" : nil
                ids.append(
                    try await session.download(request, to: bench.folder.file("\(number).bin")))
            }
            func states() async throws -> [TransferState] {
                try await ids.asyncMap { try await session.job($0)?.state ?? .queued }
            }

            // Any query of that URL.
            #expect(try await session.pause(.url(bench.url())) == 2)
            #expect(try await states().prefix(2) == [.paused, .paused])
            #expect(try await states().last != .paused)
            #expect(try await session.resume(.tag("first")) == 1)
            #expect(try await session.cancel(.path(bench.folder.file("1.bin"))) == 1)
            #expect(try await session.jobs(.urls([bench.url()])).map(\.id) == Array(ids.prefix(2)))
            #expect(try await session.pause(.url("http://127.0.0.1:1/none")) == 0)
            #expect(try await session.acknowledge(.all) == 1)
            let wrong = await failure { () async throws(WherryError) in
                _ = try await session.pause(.identifier("x"))
            }
            #expect(wrong?.reason == "bad_argument")
            #expect(try await session.cancel(.all) == 2)
            #expect(try await session.jobs().allSatisfy { $0.state == .cancelled })
            try bench.scope.open(gate: "go")
        }
    }

    @Test("L4 a background job has a short and a full description, without its query")
    func description() async throws {
        try await withBackground { bench in
            var request = Request(bench.url("secret=1"))
            request.tag = "one"
            let id = try await bench.session.download(request, to: bench.path)
            let job = try await bench.session.end(of: id)

            #expect("\(job)" == "<Download job: \(id.prefix(12))>")
            let text = job.describe()
            for word in ["background download", bench.path, "one", "done", id] {
                #expect(text.contains(word), "\(text)")
            }
            #expect(!text.contains("secret"))
        }
    }
}

extension Array {
    fileprivate func asyncMap<T>(_ body: (Element) async throws -> T) async throws -> [T] {
        var result: [T] = []
        for element in self { result.append(try await body(element)) }
        return result
    }
}

/// The state in a record's file.
struct JobState {
    let isFinal: Bool

    init(_ path: String) throws {
        let data = try Data(contentsOf: URL(fileURLWithPath: path))
        let object = try JSONSerialization.jsonObject(with: data) as? [String: Any]
        let number = (object?["job"] as? [String: Any])?["state"] as? Int32
        isFinal = number.flatMap { TransferState(rawValue: $0) }?.isFinal ?? false
    }
}
