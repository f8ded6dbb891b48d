// Wherry: acceptance tests of background downloads and uploads
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import TestServer
import Testing
import Wherry
import WherrySystem

@Suite struct BackgroundTests {
    @Test("D14 the agent performs a job, reports it once acknowledged, and then it is gone")
    func plain() async throws {
        try await withBackground { bench in
            let id = try await bench.session.download(bench.url(), to: bench.path)

            let end = try await bench.session.end(of: id)

            #expect(end.state == .done)
            #expect(end.path == bench.path)
            #expect(end.progress.completed == Int64(Contents.size))
            #expect(end.progress.total == Int64(Contents.size))
            #expect(end.response?.status == 200)
            #expect(try bench.folder.contents("a.bin") == Contents.v1)
            #expect(try bench.folder.names == ["a.bin"])
            try await bench.session.acknowledge(id)
            #expect(try await bench.session.jobs().isEmpty)
        }
    }

    @Test("D14 DC-C19 an existing complete file is done, with all its bytes and no request")
    func alreadyThere() async throws {
        try await withBackground { bench in
            try Contents.v1.write(to: URL(fileURLWithPath: bench.path))
            var request = Request(bench.url())
            request.expectedDigest = Contents.digest(Contents.v1)
            let id = try await bench.session.download(request, to: bench.path)

            let end = try await bench.session.end(of: id)

            #expect(end.state == .done && end.path == bench.path)
            #expect(end.progress.completed == Int64(Contents.size))
            #expect(end.progress.total == Int64(Contents.size))
            #expect(try bench.scope.requests().isEmpty)
            #expect(try bench.folder.names == ["a.bin"])
        }
    }

    @Test("DC-E12 a background failure is reported later, with its status")
    func failing() async throws {
        try await withBackground { bench in
            let id = try await bench.session.download(
                bench.scope.url("/status/404"), to: bench.path)
            _ = try await bench.session.end(of: id)
            try await bench.wait("the agent has left") { try !bench.hasAgent }

            let job = try #require(try await bench.session.job(id))

            #expect(job.state == .failed)
            #expect(job.error?.reason == "http_status")
            #expect(job.error?.httpStatus == 404)
            #expect(try bench.folder.names.isEmpty)
        }
    }

    @Test("U17 an upload continues without its program, with its original body and headers")
    func upload() async throws {
        try await withBackground { bench in
            let file = bench.folder.file("body.bin")
            try Contents.v1.write(to: URL(fileURLWithPath: file))
            var request = Request(bench.scope.url("/echo"), method: "PUT")
            request.headers["X-Token"] = "secret"
            request.body = .file(path: file, contentType: "application/x-test")
            let id = try await bench.session.upload(request)
            // The body was copied: later changes of the file do not matter.
            try FileManager.default.removeItem(atPath: file)

            let end = try await bench.session.end(of: id)

            #expect(end.state == .done)
            #expect(end.kind == .upload)
            #expect(end.response?.status == 200)
            let seen = try #require(try bench.scope.requests().last)
            #expect(seen.header("x-token") == "secret")
            #expect(seen.header("content-type") == "application/x-test")
            #expect(seen.header("content-length") == "\(Contents.size)")
            let names = try FileManager.default.contentsOfDirectory(atPath: bench.state + "/jobs")
            #expect(names == [id + ".job"])
        }
    }
}
