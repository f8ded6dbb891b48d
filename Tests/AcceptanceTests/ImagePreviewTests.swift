// Wherry: acceptance tests of previews of images that are loading
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing
import Wherry
import WherrySystem

@Suite struct ImagePreviewTests {
    private let scope: TestServer.Scope
    private let client: Client

    init() throws {
        scope = try TestServer.shared.scope()
        client = try makeClient(scope)
    }

    /// A progressive JPEG of 160x120 pixels.
    private func picture() throws -> [UInt8] {
        var bytes: [UInt8] = []
        for y in 0..<120 {
            for x in 0..<160 { bytes += [UInt8(x), UInt8(y * 2), x / 8 % 2 == 0 ? 40 : 200] }
        }
        var settings = Compression(quality: 0.9, type: "jpg")
        settings.isProgressive = true
        return try Image.pixels(bytes, .rgb8, width: 160, height: 120).compressed(settings)
            .bytes.array
    }

    /// Divides a JPEG so that each piece completes one scan: a scan is complete when the next one
    /// begins.
    private func scans(_ jpeg: [UInt8]) -> [[UInt8]] {
        let starts = jpeg.indices.dropLast().filter { jpeg[$0] == 0xFF && jpeg[$0 + 1] == 0xDA }
        let ends = starts.dropFirst().map { $0 + 2 + Int(jpeg[$0 + 3]) } + [jpeg.count]
        return zip([0] + ends, ends).map { Array(jpeg[$0..<$1]) }
    }

    private func response(_ length: Int, _ headers: String = "") -> String {
        #"["send", "HTTP/1.1 200 OK\r\nContent-Length: \#(length)\r\n\#(headers)\r\n"]"#
    }

    /// Returns the steps that send pieces. After piece number 1, they wait for the gate NAME1, etc.
    private func sending(_ pieces: [[UInt8]], gates name: String) -> String {
        pieces.enumerated().map { index, piece in
            let gate = index == 0 ? "" : #"["gate", "\#(name)\#(index)"], "#
            return gate + #"["send_base64", "\#(Data(piece).base64EncodedString())"]"#
        }.joined(separator: ", ")
    }

    /// Serves a response whose pieces wait for the gates NAME1, NAME2, etc.
    private func serve(
        _ name: String, _ pieces: [[UInt8]], headers: String = ""
    ) throws -> String {
        let head = response(pieces.joined().count, headers)
        try scope.script(name, #"[{"raw": [\#(head), \#(sending(pieces, gates: name)), ["fin"]]}]"#)
        return "s/\(name)"
    }

    @Test("I2 each scan of a progressive JPEG is a preview of the image that is loading")
    func jpeg() async throws {
        let jpeg = try picture()
        let pieces = scans(jpeg)
        try #require(pieces.count > 5)
        let url = try serve("a", pieces)
        var passes: [Int] = []
        var last: [UInt8] = []
        for try await image in client.images.previews(url, size: .crop(60, 60), as: .rgba8) {
            #expect(image.pixels.width == 60 && image.pixels.height == 60)
            #expect(image.pixels.order == .rgba8)
            let bytes = image.pixels.bytes
            #expect(bytes != last || image.isFinal)
            last = bytes
            guard let pass = image.pass else { continue }
            passes.append(pass)
            #expect(client.images.cached(url, size: .crop(60, 60), as: .rgba8) == nil)
            // The server sends the next scan only now.
            try scope.open(gate: "a\(pass)")
        }
        #expect(passes == Array(1..<pieces.count))
        // The complete image is the same as without previews, and is in memory.
        var box = Compression()
        box.maxWidth = 60
        box.maxHeight = 60
        box.resizeMode = .crop
        let plain = try Image.bytes(Bytes(jpeg)).decoded(as: .rgba8, box)
        #expect(last == plain.bytes)
        #expect(client.images.cached(url, size: .crop(60, 60), as: .rgba8)?.bytes == last)
        #expect(client.images.usage.count == 1)
        // From the memory: no previews.
        for try await image in client.images.previews(url, size: .crop(60, 60), as: .rgba8) {
            #expect(image.isFinal)
        }
        #expect(try scope.requests().count == 1)
    }

    @Test("I2 each pass of an interlaced PNG is a preview")
    func png() async throws {
        let pieces = InterlacedPNG.pieces(width: 37, height: 29)
        let url = try serve("a", pieces, headers: #"Cache-Control: max-age=600\r\n"#)
        let folder = try TemporaryFolder()
        let client = try makeClient(scope) {
            $0.usesHTTPCache = true
            $0.storageDirectory = folder.file("storage")
            $0.imagePreviews = true
        }
        let handle = try client.images.start(Request(url))
        var passes: [Int] = []
        for await preview in handle.previews {
            let pass = try #require(preview.pass)
            passes.append(pass)
            #expect(preview.pixels.width == 37 && preview.pixels.height == 29)
            // The first pixel fills a block.
            #expect(preview.pixels.bytes.prefix(3) == InterlacedPNG.pixel(0, 0)[...])
            try scope.open(gate: "a\(pass)")
        }
        #expect(passes == Array(1...6))
        let pixels = try await handle.value
        let expected = (0..<29).flatMap { y in (0..<37).flatMap { InterlacedPNG.pixel($0, y) } }
        #expect(pixels.bytes == expected)
        // From the HTTP cache: no previews.
        client.images.clear()
        let again = try client.images.start(Request(url))
        for await _ in again.previews { Issue.record("a preview from the cache") }
        #expect(try await again.value.bytes == expected)
        #expect(try scope.requests().count == 1)
    }

    @Test("I2 without the option, and for other images, there are no previews")
    func none() async throws {
        let url = try serve("a", [picture()])
        let handle = try client.images.start(Request(url))
        for await _ in handle.previews { Issue.record("an unwanted preview") }
        #expect(try await handle.value.width == 160)
        let baseline = try Image.bytes(Bytes(picture())).compressed(
            Compression(quality: 0.5, type: "jpg")
        ).bytes.array
        // Sent in two pieces.
        let other = try serve("b", [Array(baseline[..<900]), Array(baseline[900...])])
        try scope.open(gate: "b1")
        for try await image in client.images.previews(other) { #expect(image.isFinal) }
    }

    @Test("I2 loads that share a request all get previews, also those that join later")
    func shared() async throws {
        let pieces = scans(try picture())
        let url = try serve("a", pieces)
        var wanting = Request(url)
        wanting.imagePreviews = true
        let plain = try client.images.start(Request(url))
        let first = try (0..<2).map { _ in try client.images.start(wanting, size: .fit(80, nil)) }
        var readers = first.map { $0.previews.makeAsyncIterator() }
        for index in readers.indices {
            let preview = await readers[index].next()
            #expect(preview?.pass == 1 && preview?.pixels.width == 80)
        }
        // One equal load, and one of another size.
        let later = [
            try client.images.start(wanting, size: .fit(80, nil)), try client.images.start(wanting),
        ]
        readers += later.map { $0.previews.makeAsyncIterator() }
        // The other size is decoded from all bytes that have arrived.
        #expect(await readers[3].next()?.pass == 1)
        try scope.open(gate: "a1")
        for index in readers.indices {
            let preview = await readers[index].next()
            #expect(preview?.pass == 2 && preview?.pixels.width == (index == 3 ? 160 : 80))
        }
        // The others continue without one that leaves.
        first[0].cancel()
        try scope.open(gate: "a2")
        for index in readers.indices.dropFirst() {
            #expect(await readers[index].next()?.pass == 3)
        }
        for number in 3..<pieces.count { try scope.open(gate: "a\(number)") }
        for await _ in plain.previews { Issue.record("an unwanted preview") }
        #expect(try await plain.value.width == 160)
        #expect(try await first[1].value.bytes == later[0].value.bytes)
        #expect(try await later[1].value.bytes == plain.value.bytes)
        #expect(try scope.requests().count == 1 && client.images.usage.requests == 1)
    }

    @Test("I2 ending the loop or the task cancels the load")
    func cancelled() async throws {
        let pieces = scans(try picture())
        let urls = try ["a", "b"].map { try serve($0, pieces) }
        for try await image in client.images.previews(urls[0]) {
            #expect(image.pass == 1)
            break
        }
        try await scope.wait("ended=1")
        let client = client
        let (stream, began) = AsyncStream.makeStream(of: Void.self)
        let task = Task {
            for try await image in client.images.previews(urls[1]) where image.pass == 1 {
                began.yield()
            }
        }
        for await _ in stream { break }
        task.cancel()
        let error = await #expect(throws: WherryError.self) { try await task.value }
        #expect(error?.code == .cancelled)
        try await scope.wait("ended=2")
        #expect(client.images.usage.count == 0)
    }

    @Test("I2 a retry begins again with the first scan")
    func retried() async throws {
        let pieces = scans(try picture())
        let head = response(pieces.joined().count)
        // The connection drops within the third scan.
        let broken = sending(Array(pieces[..<2]), gates: "a")
        let complete = sending(pieces, gates: "b")
        try scope.script(
            "a",
            #"[{"raw": [\#(head), \#(broken), ["gate", "drop"], ["fin"]]}, {"raw": [\#(head), \#(complete), ["fin"]]}]"#
        )
        let client = try makeClient(scope) {
            $0.maxRetries = 1
        }
        var passes: [Int] = []
        for try await image in client.images.previews("s/a") {
            guard let pass = image.pass else { continue }
            passes.append(pass)
            // The gates of the first response, then those of the second one.
            switch passes.count {
            case 1: try scope.open(gate: "a1")
            case 2: try scope.open(gate: "drop")
            default: try scope.open(gate: "b\(pass)")
            }
        }
        #expect(passes == [1, 2] + Array(1..<pieces.count))
        #expect(try scope.requests().count == 2)
    }

    @Test("I2 only a successful response has previews")
    func refused() async throws {
        let jpeg = Data(try picture()).base64EncodedString()
        let statuses = [(302, #"["Location", "b"]"#), (503, #"["Retry-After", "0"]"#)]
        for (status, header) in statuses {
            try scope.script(
                "a\(status)",
                #"[{"status": \#(status), "headers": [\#(header)], "body_base64": "\#(jpeg)"}, {"status": 404, "body_base64": "\#(jpeg)"}]"#
            )
            try scope.script("b", #"[{"status": 404, "body_base64": "\#(jpeg)"}]"#)
            let client = try makeClient(scope) { $0.maxRetries = 1 }
            let error = await #expect(throws: WherryError.self) {
                for try await _ in client.images.previews("s/a\(status)") {
                    Issue.record("a preview of an error page")
                }
            }
            #expect(error?.code == .http && error?.httpStatus == 404)
        }
        #expect(try scope.requests().count == 4)
    }

    @Test("I2 a damaged image and a scan bomb end the previews, and the load fails as without them")
    func damaged() async throws {
        let pieces = scans(try picture())
        try #require(pieces.count > 5)
        var damaged = pieces
        // An invalid length of the header of the fourth scan.
        let header = try #require(damaged[2].lastIndex(of: 0xDA))
        damaged[2][header + 2] = 0xFF
        let cut = Array(pieces[..<3])
        for (name, sent, reason) in [
            ("damaged", damaged, "bad_image"), ("cut", cut, "truncated_image"),
            ("bomb", [Self.manyScans(101)], "image_too_large"),
        ] {
            let url = try serve(name, sent)
            var passes: [Int] = []
            let error = await #expect(throws: WherryError.self) {
                for try await image in client.images.previews(url) {
                    passes.append(image.pass ?? 0)
                    if passes == [1] {
                        for number in 1..<sent.count { try scope.open(gate: "\(name)\(number)") }
                    }
                }
            }
            #expect(error?.reason == reason, "\(name)")
            #expect(passes.count <= 3 && !passes.contains(0))
            #expect(name == "bomb" || passes.first == 1)
        }
        #expect(client.images.usage.count == 0)
    }

    /// An empty 8x8 gray progressive JPEG with `count` valid scans.
    private static func manyScans(_ count: Int) -> [UInt8] {
        func segment(_ code: UInt8, _ payload: [UInt8]) -> [UInt8] {
            [0xFF, code, 0, UInt8(payload.count + 2)] + payload
        }
        let oneCode: [UInt8] = [1] + [UInt8](repeating: 0, count: 15) + [0]
        var all: [UInt8] = [0xFF, 0xD8] + segment(0xDB, [0] + [UInt8](repeating: 1, count: 64))
        all += segment(0xC2, [8, 0, 8, 0, 8, 1, 1, 0x11, 0])
        all += segment(0xC4, [0x00] + oneCode) + segment(0xC4, [0x10] + oneCode)
        for scan in 0..<count {
            let coefficient = UInt8(scan == 0 ? 0 : (scan - 1) % 63 + 1)
            let bits: UInt8 = scan == 0 ? 0 : scan <= 63 ? 0x05 : 0x54
            all += segment(0xDA, [1, 1, 0, coefficient, coefficient, bits]) + [0x7F]
        }
        return all + [0xFF, 0xD9]
    }

    @Test("I2 the sample of the guide works")
    func guide() async throws {
        let photo = try serve("a", [picture()])
        var shown: [ImagePreview] = []
        func show(_ image: ImagePreview) { shown.append(image) }
        // guide: begin previews
        for try await image in client.images.previews(photo, size: .fit(800, 600)) {
            show(image)  // image.isFinal is true for the last one
        }
        // guide: end previews
        #expect(shown.last?.isFinal == true && shown.last?.pixels.width == 160)
    }
}

/// Interlaced RGB images, encoded without compression so that each pass has its own bytes.
enum InterlacedPNG {
    static func pixel(_ x: Int, _ y: Int) -> [UInt8] { [UInt8(x * 5), UInt8(y * 7), 90] }

    /// Returns an image in seven pieces; each completes a pass.
    static func pieces(width: Int, height: Int) -> [[UInt8]] {
        func number(_ value: Int) -> [UInt8] {
            [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
        }
        func chunk(_ type: String, _ data: [UInt8]) -> [UInt8] {
            let body = Array(type.utf8) + data
            return number(data.count) + body + number(Int(crc32(body)))
        }
        let header = number(width) + number(height) + [8, 2, 0, 0, 1]
        var pieces = [[137, 80, 78, 71, 13, 10, 26, 10] + chunk("IHDR", header)]
        var (low, high) = (1, 0)
        let steps = [
            (0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2),
            (0, 1, 1, 2),
        ]
        for (pass, (left, top, across, down)) in steps.enumerated() {
            var rows: [UInt8] = []
            for y in stride(from: top, to: height, by: down) {
                rows.append(0)
                for x in stride(from: left, to: width, by: across) { rows += pixel(x, y) }
            }
            for byte in rows {
                low = (low + Int(byte)) % 65521
                high = (high + low) % 65521
            }
            // A block that is not compressed; the last one is marked.
            let count = UInt16(rows.count)
            var data: [UInt8] = pass == 0 ? [0x78, 0x01] : []
            data.append(pass == 6 ? 1 : 0)
            for value in [count, ~count] { data += [UInt8(value & 255), UInt8(value >> 8)] }
            data += rows
            if pass == 6 { data += number(high << 16 | low) }
            let bytes = chunk("IDAT", data)
            if pass == 0 { pieces[0] += bytes } else { pieces.append(bytes) }
        }
        pieces[6] += chunk("IEND", [])
        return pieces
    }

    private static func crc32(_ bytes: [UInt8]) -> UInt32 {
        var crc: UInt32 = 0xFFFF_FFFF
        for byte in bytes {
            crc ^= UInt32(byte)
            for _ in 0..<8 {
                let divisor: UInt32 = crc & 1 == 1 ? 0xEDB8_8320 : 0
                crc = divisor ^ (crc >> 1)
            }
        }
        return ~crc
    }
}
