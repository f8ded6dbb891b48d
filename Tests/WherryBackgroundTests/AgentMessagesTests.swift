// Wherry: messages between agent and clients, valid and invalid
// SPDX-License-Identifier: Apache-2.0

import Testing
import WherryCore
import WherryHTTP
import WherryRequests
import WherrySystem
@testable import WherryBackground

@Suite struct AgentMessagesTests {
    /// The same numbers each time.
    private struct Random: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var z = state
            z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
            z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
            return z ^ (z >> 31)
        }
    }

    private static func requests() throws -> [AgentRequest] {
        let record = try AgentRun.record()
        return [.list, .follow, .start(record)]
            + AgentMachine.Verb.allCases.map { .verb($0, id: record.job.id) }
    }

    @Test func `every message survives a round trip`() throws {
        for request in try Self.requests() {
            var reader = AgentFrames.Reader()
            // In chunks of one byte, as the kernel may deliver them.
            for byte in try AgentFrames.frame(request.json) {
                #expect(try reader.next() == nil)
                reader.bytes.append(byte)
            }
            let message = try #require(try reader.next())
            #expect(AgentRequest(message) == request)
            #expect(reader.bytes.isEmpty)
        }
        let job = try AgentRun.record().job
        let failure = JobFailure(WherryError(.busy, "sentence"))
        for reply in [AgentReply.ok, .failed(failure), .job(job), .gone(id: job.id)] {
            #expect(AgentReply(reply.json) == reply)
        }
    }

    @Test func `a record round-trips with everything of its request`() throws {
        var values = ClientSettings.Values()
        values.headers["X-Client"] = "a"
        values.texts[.userAgent] = "test/1"
        values.texts[.bearerToken] = "token"
        values.options[.maxPerHost] = 2
        let settings = try ClientSettings(values)
        var request = Request("http://127.0.0.1/a?secret=1")
        request.headers["Accept-Language"] = "de"
        request.headers.suppress("X-Gone")
        request.mirrors = ["http://127.0.0.1/b"]
        request.expectedDigest = ExpectedDigest(
            algorithm: .md5, value: Array(repeating: 7, count: 16))
        request.tag = "tag"
        request.set(.segments, 3)
        request.set(.targetExists, 1)
        let options = settings.options.overridden(by: request.overrides)
        let url = try RequestPlanner.url(
            of: request, method: "GET", settings: settings, options: options)
        let wanted = try JobRequest(
            request, method: "GET", url: url, mirrors: [url], settings: settings, options: options)
        var record = JobRecord(
            job: BackgroundJob(
                id: try AgentRun.record().job.id, kind: .download, url: url.text, path: "/a"),
            request: wanted)
        record.crashes = 2

        let read = try #require(JobRecord.parse(try record.text()))

        #expect(read == record)
        #expect(read.job.url == "http://127.0.0.1/a?...")
        let made = try #require(read.request).request(body: nil)
        #expect(made.url == "http://127.0.0.1/a?secret=1")
        #expect(made.headers["X-Client"] == "a")
        #expect(made.headers["Accept-Language"] == "de")
        #expect(made.bearerToken == "token")
        #expect(made.value(of: .segments) == 3)
        #expect(made.value(of: .targetExists) == 1)
        #expect(made.expectedDigest == request.expectedDigest)
        #expect(read.request?.client.options == [.maxPerHost: 2])
        #expect(read.request?.client.texts == [.userAgent: "test/1"])
    }

    @Test("SEC-S3 no message crashes the parser, and none is misread")
    func malformed() throws {
        var random = Random(state: 1)
        let good = try Self.requests().map { try AgentFrames.frame($0.json) }
        var accepted = 0
        for _ in 0..<20_000 {
            var bytes = good.randomElement(using: &random) ?? []
            switch Int.random(in: 0..<6, using: &random) {
            case 0:  // One byte differs.
                bytes[Int.random(in: bytes.indices, using: &random)] = .random(
                    in: 0...255, using: &random)
            case 1:  // The end is missing.
                bytes.removeLast(Int.random(in: 0...bytes.count, using: &random))
            case 2:  // The length is wrong.
                for index in 0..<4 { bytes[index] = .random(in: 0...255, using: &random) }
            case 3:  // A section is repeated.
                let from = Int.random(in: 4..<bytes.count, using: &random)
                bytes.insert(contentsOf: bytes[from...], at: from)
            case 4:  // Random bytes.
                bytes = (0..<Int.random(in: 0..<200, using: &random)).map { _ in
                    .random(in: 0...255, using: &random)
                }
            default:  // Several faults with a valid length.
                for _ in 0..<4 {
                    bytes[Int.random(in: 4..<bytes.count, using: &random)] =
                        .random(in: 0x20...0x7E, using: &random)
                }
            }
            var reader = AgentFrames.Reader()
            reader.bytes = bytes
            guard let message = try? reader.next() else { continue }
            // An accepted message encodes to the same bytes.
            if let request = AgentRequest(message) {
                accepted += 1
                #expect(AgentRequest(request.json) == request)
            }
            _ = AgentReply(message)
            _ = JobRecord(message)
        }
        #expect(accepted > 0, "some faults harm nothing, else nothing was tried")
    }

    @Test func `a length over the limit is refused before waiting for data`() {
        var reader = AgentFrames.Reader()
        reader.bytes = [0x7F, 0xFF, 0xFF, 0xFF]
        #expect(throws: WherryError.self) { _ = try reader.next() }
    }

    @Test func `ids with path components are refused`() {
        #expect(BackgroundJob.isID(String(repeating: "a", count: 32)))
        for bad in [
            "", "..", String(repeating: "A", count: 32), String(repeating: "g", count: 32),
            "../" + String(repeating: "a", count: 29), String(repeating: "a", count: 33),
        ] {
            #expect(!BackgroundJob.isID(bad), "\(bad)")
        }
    }
}
