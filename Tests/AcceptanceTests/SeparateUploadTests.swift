// Wherry: acceptance tests of uploads with one request per image, and of omitted images
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing
import Wherry

@Suite struct SeparateUploadTests {
    private let scope: TestServer.Scope
    private let client: Client

    init() throws {
        scope = try TestServer.shared.scope()
        client = try makeClient(scope)
    }

    private func pictures(_ count: Int) throws -> [Image] {
        try (0..<count).map { index in
            try .pixels(
                [UInt8](repeating: UInt8(index), count: 8 * 8 * 3), .rgb8, width: 8, height: 8,
                fileName: "p\(index).png")
        }
    }

    /// A script of responses with these statuses, in turn.
    private func script(_ name: String, _ statuses: [Int]) throws {
        let steps = statuses.map { #"{"status": \#($0), "json": {"said": \#($0)}}"# }
        try scope.script(name, "[" + steps.joined(separator: ",") + "]")
    }

    @Test("U22 of nine images two fail: a list of two, and the other responses remain")
    func twoOfNine() async throws {
        try script("nine", [200, 200, 413, 200, 200, 200, 200, 403, 201])
        let upload = try client.upload(
            try pictures(9), to: "s/nine", name: "photo", parameters: ["album": "7"], separately: 1)
        let error = await failure { () throws(WherryError) in try await upload.value }
        #expect(error?.failedImages.map(\.index) == [2, 7])
        #expect(error?.failedImages.map(\.error?.httpStatus) == [413, 403])
        #expect(error?.httpStatus == 413 && error?.response?.status == 413)
        #expect(
            error?.message.hasPrefix("2 of 9 images were not sent. Image 3 (p2.png)") == true)
        let statuses = upload.images.map { $0.response?.status }
        #expect(statuses == [200, 200, 413, 200, 200, 200, 200, 403, 201])
        #expect(error?.response?.images.map(\.index) == Array(0..<9))
        #expect(upload.images.allSatisfy { $0.width == 8 && $0.sentBytes > $0.encodedBytes })
        #expect(try scope.requests().count == 9)
        #expect(client.count() == 0)
    }

    @Test("U22 each request uploads one image, with every field")
    func forms() async throws {
        var request = Request("echo", method: "POST")
        request.parameters = ["album": "7"]
        for picture in try pictures(3) { request.add(.image("photo", picture)) }
        request.add(.field("note", "all"))
        request.separateImages = 3
        let response = try await client.send(request)
        for image in response.images {
            let answer = try #require(image.response)
            let echo = try JSONDecoder().decode(Echo.self, from: Data(answer.body))
            let parts = try #require(echo.parts)
            #expect(parts.map(\.name) == ["album", "photo0", "note"])
            #expect(parts[1].filename == "p\(image.index).png")
            #expect(parts[1].size == Int(image.encodedBytes))
        }
        #expect(response.images.count == 3)
    }

    @Test("U22 only failed images are sent again")
    func retries() async throws {
        var request = Request("faulty-echo?status_first=503&status_times=2", method: "POST")
        for picture in try pictures(5) { request.add(.image("photo", picture)) }
        request.separateImages = 2
        request.imageRetries = 2
        let response = try await client.send(request)
        #expect(response.images.allSatisfy { $0.response?.status == 200 })
        #expect(try scope.requests().count == 7)
        let names = try response.images.map { image in
            let body = try #require(image.response).body
            return try JSONDecoder().decode(Echo.self, from: Data(body)).parts?.first?.filename
        }
        #expect(names == (0..<5).map { "p\($0).png" })
    }

    @Test("U22 a permanent error is not retried")
    func noRetry() async throws {
        try script("no", [200, 403])
        var request = Request("s/no", method: "POST")
        for picture in try pictures(2) { request.add(.image("photo", picture)) }
        request.separateImages = 1
        request.imageRetries = 5
        let error = await failure { () throws(WherryError) in try await client.send(request) }
        #expect(error?.failedImages.map(\.index) == [1])
        #expect(try scope.requests().count == 2)
    }

    @Test("U22 R29 an image has its own number of retries, and maxRetries adds none")
    func attempts() async throws {
        let stub = StubServer()
        stub.advance(by: .zero)
        stub.respond("*", status: 503)
        let client = try Client {
            $0.stubServer = stub
            $0.maxRetries = 3
        }
        var request = Request("http://h.invalid/", method: "PUT")
        request.add(.image("photo", try pictures(1)[0]))
        request.separateImages = 1
        request.imageRetries = 1
        let handle = try client.start(request)
        while !handle.state.isFinal {
            stub.advance(by: .milliseconds(500))
            await Task.yield()
        }
        let error = await failure { () throws(WherryError) in try await handle.value }
        #expect(error?.httpStatus == 503)
        #expect(stub.requests.count == 2)
    }

    @Test("U22 R29 an image's retry waits for Retry-After, up to a limit")
    func retryAfter() async throws {
        let stub = StubServer()
        stub.advance(by: .zero)
        stub.respond("*", times: 1, status: 503, headers: ["Retry-After": "40"])
        stub.respond("*", times: 1, status: 503, headers: ["Retry-After": "61"])
        stub.respond("*")
        let client = try Client { $0.stubServer = stub }
        var request = Request("http://h.invalid/", method: "POST")
        request.add(.image("photo", try pictures(1)[0]))
        request.separateImages = 1
        request.imageRetries = 5
        let handle = try client.start(request)
        while client.counters().retried == 0, !handle.state.isFinal { await Task.yield() }
        stub.advance(by: .milliseconds(39_999))
        #expect(stub.requests.count == 1)
        stub.advance(by: .milliseconds(1))
        let error = await failure { () throws(WherryError) in try await handle.value }
        let image = try #require(error?.failedImages.first)
        #expect(image.response?.status == 503 && image.error?.retryAfter == .seconds(61))
        #expect(stub.requests.count == 2 && client.counters().retried == 1)
    }

    @Test("U22 images are sent up to the concurrency limit")
    func bounded() async throws {
        let upload = try client.upload(
            try pictures(7), to: "faulty-echo?gate=g", name: "photo", separately: 3)
        try await scope.wait("requests=3")
        try scope.open(gate: "g")
        #expect(try await upload.value.images.count == 7)
        #expect(try scope.stats().peakRequests == 3)
    }

    @Test("U22 U10 the progress covers all images, and each one")
    func progress() async throws {
        let upload = try client.upload(
            try pictures(6), to: "sink", name: "photo", separately: 2)
        var last: Int64 = 0
        var fractions: [Double] = []
        for await progress in upload.progress {
            #expect(progress.completed >= last)
            last = progress.completed
            if let fraction = progress.fraction { fractions.append(fraction) }
        }
        let response = try await upload.value
        // The total includes images that were not sent yet: otherwise, an earlier report is 1, too.
        #expect(fractions.last == 1 && fractions.filter { $0 == 1 }.count == 1)
        let sent = try response.images.map { image in
            try #require(image.response).json().integer(at: "bytes")
        }
        #expect(response.images.map { $0.sentBytes } == sent)
        #expect(sent.compactMap { $0 }.reduce(0, +) == last)
    }

    @Test("U22 a broken image fails separately, and the others are sent")
    func broken() async throws {
        var images = try pictures(3)
        images.insert(.bytes(Bytes("no picture"), fileName: "text.jpg"), at: 1)
        let upload = try client.upload(images, to: "echo", name: "photo", separately: 2)
        let error = await failure { () throws(WherryError) in try await upload.value }
        #expect(error?.reason == "bad_image" && error?.failedImages.map(\.index) == [1])
        #expect(error?.message.hasPrefix("Image 2 (text.jpg) cannot be sent") == true)
        #expect(upload.images.map { $0.response?.status } == [200, nil, 200, 200])
        let skipped = try await client.upload(
            images, to: "echo", name: "photo", separately: 2, unreadable: .skip
        ).value
        #expect(skipped.images.map { $0.error?.reason } == [nil, "bad_image", nil, nil])
    }

    @Test("U22 cancelling ends all, and sent images stay sent")
    func cancel() async throws {
        try scope.script(
            "held",
            #"[{"status": 200}, {"status": 200, "gate": "never"}, {"status": 200, "gate": "never"}]"#
        )
        let upload = try client.upload(try pictures(6), to: "s/held", name: "photo", separately: 2)
        try await scope.wait("requests=3")
        upload.cancel()
        let error = await failure { () throws(WherryError) in try await upload.value }
        #expect(error?.code == .cancelled)
        #expect(error?.failedImages.count == 5)
        #expect(upload.images.count { $0.response?.status == 200 } == 1)
        #expect(client.count() == 0)
    }

    /// An image that takes long to encode.
    private func large() throws -> Image {
        let (width, height) = (3000, 2000)
        let pixels = [UInt8](unsafeUninitializedCapacity: width * height * 3) { bytes, count in
            for index in bytes.indices {
                bytes[index] = UInt8(truncatingIfNeeded: index &* index >> 7)
            }
            count = bytes.count
        }
        return try .pixels(pixels, .rgb8, width: width, height: height)
    }

    @Test("U22 an image that is being encoded during a cancel is not sent")
    func cancelWhileEncoding() async throws {
        let picture = try large()
        var compression = Compression(quality: 1)
        compression.format = .png
        var wasEncoded = false
        // Whether the cancel arrives before, during, or after the work is random: the test repeats
        // until it arrives during the work, and the rules hold every time.
        for _ in 0..<50 where !wasEncoded {
            let upload = try client.upload(
                [picture, picture], to: "echo", name: "photo", compression: compression,
                separately: 1)
            // Workers take jobs in turn: this one runs when the first image's has been taken, and
            // does not wait for a task to resume, which may take long.
            await withCheckedContinuation { continuation in
                client.workers.submit {
                    upload.cancel()
                    continuation.resume()
                }
            }
            let error = await failure { () throws(WherryError) in try await upload.value }
            #expect(error?.code == .cancelled && error?.failedImages.count == 2)
            #expect(upload.images.allSatisfy { $0.response == nil })
            wasEncoded = upload.images[0].encodedBytes > 0
            #expect(upload.images[0].error?.code == .cancelled)
        }
        #expect(wasEncoded)
        #expect(try scope.requests().isEmpty && client.count() == 0)
    }

    /// It tries to hit an instant, which it rarely does: a stress test, not a proof.
    @Test("U22 of concurrent pause and resume the later one applies to every request")
    func pauseAndResumeAtOnce() async throws {
        for round in 0..<20 {
            let gate = "go\(round)"
            let upload = try client.upload(
                try pictures(4), to: "faulty-echo?gate=\(gate)", name: "photo", separately: 4)
            try await scope.wait("requests=\(4 * (round + 1))")
            await withTaskGroup(of: Void.self) { group in
                for pauses in [true, false, true, false] {
                    group.addTask {
                        for _ in 0..<200 {
                            if pauses { upload.pause() } else { upload.resume() }
                        }
                    }
                }
            }
            if upload.state == .paused { upload.resume() }
            // A request left paused, while the upload is not, would never end.
            try scope.open(gate: gate)
            let images = try await upload.value.images
            #expect(images.map { $0.response?.status } == [200, 200, 200, 200])
        }
    }

    @Test("U22 closing the client ends it")
    func close() async throws {
        let upload = try client.upload(
            try pictures(20), to: "faulty-echo?gate=never", name: "photo", separately: 3)
        try await scope.wait("requests=3")
        client.close()
        let error = await failure { () throws(WherryError) in try await upload.value }
        #expect(error?.code == .cancelled && error?.failedImages.count == 20)
    }

    @Test("U22 a streamed response and an empty upload behave as before")
    func odd() async throws {
        let none = await failure { () throws(WherryError) in
            try client.upload([], to: "echo", name: "photo", separately: 3)
        }
        #expect(none?.reason == "no_images")
        var request = Request("echo", method: "POST")
        request.add(.field("a", "1"))
        request.separateImages = 4
        #expect(try await client.echo(request).parts?.count == 1)
        request.add(.image("p", try pictures(1)[0]))
        let streamed = request
        let refused = await failure { () throws(WherryError) in try await client.stream(streamed) }
        #expect(refused?.reason == "bad_argument")
    }

    @Test("U11 broken images are omitted from the form on request, and reported")
    func skipped() async throws {
        let text = Image.bytes(Bytes("no picture"), fileName: "text.jpg")
        let images = [text] + (try pictures(2))
        let response = try await client.upload(
            images, to: "echo", name: "photo", unreadable: .skip
        ).value
        let echo = try JSONDecoder().decode(Echo.self, from: Data(response.body))
        #expect(echo.parts?.map(\.name) == ["photo1", "photo2"])
        #expect(response.images.map { $0.error?.reason } == ["bad_image", nil, nil])
        let none = try client.upload(
            [text, text], to: "echo", name: "photo", unreadable: .skip)
        let error = await failure { () throws(WherryError) in try await none.value }
        #expect(error?.failedImages.map(\.index) == [0, 1])
        #expect(try scope.requests().count == 1)
    }
}
