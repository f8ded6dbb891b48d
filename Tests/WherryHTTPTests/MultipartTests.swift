// Wherry: forms with files, as a server parses them
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing
import WherrySystem
import WherryTransport

@testable import WherryHTTP

@Suite struct MultipartTests {
    /// The bytes of a form without files.
    private func text(_ form: Multipart) -> String {
        var all: [UInt8] = []
        for segment in form.finished() {
            if case .bytes(let bytes) = segment { all += bytes.array }
        }
        return String(decoding: all, as: UTF8.self)
    }

    /// The first part's Content-Disposition.
    private func disposition(_ name: String, _ fileName: String?, extended: Bool = false) throws
        -> String
    {
        var form = Multipart(boundary: "b")
        form.usesExtendedNames = extended
        try form.addBytes(name, [1], fileName: fileName)
        let lines = text(form).components(separatedBy: "\r\n")
        return lines[1]
    }

    @Test("U12 a form has the format of RFC 7578") func format() throws {
        var form = Multipart(boundary: "b")
        form.addField("a", "1\r\n2")
        try form.addBytes(
            "f", Bytes("xyz"), fileName: "x.json",
            headers: [
                Headers.Field(name: "X-Note", value: "n")
            ])

        #expect(form.contentType == "multipart/form-data; boundary=b")
        #expect(
            text(form) == "--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n2\r\n"
                + "--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"x.json\"\r\n"
                + "Content-Type: application/json\r\nX-Note: n\r\n\r\nxyz\r\n--b--\r\n")
    }

    @Test func `a form without parts is its closing line`() {
        #expect(Multipart(boundary: "b").isEmpty)
        #expect(text(Multipart(boundary: "b")) == "--b--\r\n")
    }

    @Test("U12 every form has its own boundary") func boundaries() throws {
        let all = Set(try (0..<100).map { _ in try Multipart().boundary })
        #expect(all.count == 100)
        #expect(
            all.allSatisfy { MediaType("multipart/form-data; boundary=\($0)")?["boundary"] == $0 })
    }

    // A form kept its random boundary, so that no server could parse it under the caller's
    // Content-Type.
    @Test(
        "U12 a form has the boundary of the caller's Content-Type",
        arguments: [
            "multipart/form-data; boundary=+++",
            "multipart/form-data; charset=utf-8; boundary=\"+++\" ;",
            "Multipart/Form-Data; Boundary=+++; charset=utf-8",
        ])
    func givenBoundary(type: String) throws {
        #expect(try Multipart(contentType: type).boundary == "+++")
    }

    @Test(
        "U12 a form has a random boundary if the caller's Content-Type has none",
        arguments: [nil, "multipart/form-data", "application/json; boundary=+++", "/"])
    func noGivenBoundary(type: String?) throws {
        #expect(try Multipart(contentType: type).boundary.hasPrefix("wherry-"))
    }

    @Test(
        "U12 a boundary that RFC 2046 does not allow is refused",
        arguments: ["\"\"", "\"a \"", "\"a\u{f6}\"", "\"a;b\"", String(repeating: "b", count: 71)])
    func badBoundary(value: String) {
        #expect(throws: WherryError.self) {
            try Multipart(contentType: "multipart/form-data; boundary=\(value)")
        }
    }

    @Test("U24 quotes and line breaks in names are escaped, other bytes are sent unchanged")
    func escaping() throws {
        #expect(
            try disposition("n\"\r\n", "a\"b\r\n天.jpg")
                == "Content-Disposition: form-data; name=\"n%22%0D%0A\"; filename=\"a%22b%0D%0A天.jpg\""
        )
        #expect(
            try disposition("%22\\", "c:\\d;e\u{0}")
                == "Content-Disposition: form-data; name=\"%22\\\"; filename=\"c:\\d;e%00\"")
        #expect(
            try disposition("n", "天 x.jpg", extended: true)
                == "Content-Disposition: form-data; name=\"n\"; filename=\"天 x.jpg\"; "
                + "filename*=UTF-8''%E5%A4%A9%20x.jpg")
        #expect(
            try disposition("n", "plain.jpg", extended: true)
                == "Content-Disposition: form-data; name=\"n\"; filename=\"plain.jpg\"")
    }

    @Test(
        "U3 parts are named by index, repetition, or brackets",
        arguments: [
            (Multipart.NameStyle.index, ["color0", "color1", "color2"]),
            (.repeat, ["color", "color", "color"]),
            (.brackets, ["color[]", "color[]", "color[]"]),
        ])
    func names(style: Multipart.NameStyle, expected: [String]) {
        #expect((0..<3).map { style.name("color", index: $0) } == expected)
    }

    @Test func `the option values name the styles`() {
        #expect(Multipart.NameStyle(rawValue: "index") == .index)
        #expect(Multipart.NameStyle(rawValue: "repeat") == .repeat)
        #expect(Multipart.NameStyle(rawValue: "brackets") == .brackets)
        #expect(Multipart.NameStyle(rawValue: "Index") == nil)
    }

    @Test("U4 fifty images of one millisecond have fifty names") func fileNames() {
        let names = (0..<50).map {
            Multipart.fileName(milliseconds: 1_700_000_000_123, index: $0, extension: "jpg")
        }
        #expect(names[0] == "17000000001230.jpg")
        #expect(names[49] == "170000000012349.jpg")
        #expect(Set(names).count == 50)
    }

    @Test(
        "U12 the type of a file is derived from its extension",
        arguments: [
            ("a.png", "image/png"), ("a.JPEG", "image/jpeg"), ("/x/y.tar.GZ", "application/gzip"),
            ("a", "application/octet-stream"), (".png", "application/octet-stream"),
            ("/d.png/a", "application/octet-stream"), ("a.", "application/octet-stream"),
            ("a.天", "application/octet-stream"), ("", "application/octet-stream"),
        ])
    func types(path: String, type: String) {
        #expect(FileTypes.type(of: path) == type)
    }

    @Test func `a type or header that would break the headers of a part is refused`() throws {
        func reason(_ body: (inout Multipart) throws(WherryError) -> Void) -> String? {
            var form = Multipart(boundary: "b")
            do throws(WherryError) {
                try body(&form)
                return nil
            } catch {
                #expect(form.isEmpty)
                return error.reason
            }
        }
        #expect(
            reason { (form) throws(WherryError) in
                try form.addBytes("n", [1], contentType: "text/plain\r\nX: y")
            } == "bad_header")
        #expect(
            reason { (form) throws(WherryError) in
                try form.addFile("n", path: "/x", contentType: "")
            } == "bad_header")
        for field in [
            ("X\r\n", "y"), ("X", "y\n"), ("content-TYPE", "a/b"), ("Content-Length", "1"),
        ] {
            #expect(
                reason { (form) throws(WherryError) in
                    try form.addBytes(
                        "n", [1], headers: [Headers.Field(name: field.0, value: field.1)])
                } == "bad_header")
        }
    }

    @Test("U12 U9 U24 a server parses the parts, and the length was announced")
    func atTheServer() throws {
        let scope = try TestServer.shared.scope()
        let folder = NSTemporaryDirectory() + "wherry-multipart-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let content = TestPattern.bytes(seed: 9, count: 700_001)
        try Data(content).write(to: URL(fileURLWithPath: folder + "/photo.PNG"))
        try Data().write(to: URL(fileURLWithPath: folder + "/empty"))
        let large = TestPattern.bytes(seed: 10, count: 100_000)

        var form = try Multipart()
        form.addFields([("a[b]", "1"), ("none", nil), ("text", "天\r\n--x")])
        try form.addFile("color0", path: folder + "/photo.PNG")
        try form.addFile("e", path: folder + "/empty", fileName: "a\"b\r\n天.jpg")
        try form.addBytes("raw", Bytes(large), contentType: "application/x-thing")
        let workers = WorkerPool(limit: 1)
        defer { workers.close() }
        let body = try SegmentedBody(form.finished(), workers: workers)
        let answer = try ask(scope.url("/echo"), form.contentType, body)

        let length = answer.headers.first { $0[0] == "Content-Length" }?[1]
        #expect(length == body.length.map { String($0) })
        #expect(answer.chunked == false)
        let parts = try #require(answer.parts)
        #expect(parts.map { $0.name } == ["a[b]", "none", "text", "color0", "e", "raw"])
        #expect(
            parts.map { $0.filename }
                == [nil, nil, nil, "photo.PNG", "a\"b\r\n天.jpg", nil])
        #expect(
            parts.map { $0.type }
                == [nil, nil, nil, "image/png", "image/jpeg", "application/x-thing"])
        #expect(parts.map { $0.size } == [1, 0, 8, 700_001, 0, 100_000])
        #expect(parts[3].sha256 == Self.digest(content))
        #expect(parts[5].sha256 == Self.digest(large))
    }

    private struct Echo: Decodable {
        struct Part: Decodable {
            let name, filename, type: String?
            let size: Int
            let sha256: String
        }
        let headers: [[String]]
        let chunked: Bool
        let parts: [Part]?
    }

    private static func digest(_ bytes: [UInt8]) -> String {
        Hex.encode(Digest.hash(of: bytes, .sha256))
    }

    private func ask(_ url: String, _ type: String, _ body: SegmentedBody) throws -> Echo {
        var configuration = TransportConfiguration()
        configuration.proxies.all = ""
        let transport = try CurlTransport(configuration)
        defer { transport.close() }
        let receiver = Receiver()
        let exchange = Exchange(
            ExchangeRequest(
                method: "POST", url: try HTTPURL(url),
                headers: HeaderList([("Content-Type", type)]), body: .source(body)),
            receiver: receiver)
        transport.start(exchange, wake: .now)
        let result = receiver.result.wait(timeout: .milliseconds(600_000)) { $0 }
        let bytes = try #require(result).body.array
        #expect(result?.error == nil)
        return try JSONDecoder().decode(Echo.self, from: Data(bytes))
    }

    private final class Receiver: ExchangeReceiver {
        let result = Monitor<ExchangeResult?>(nil)
        func exchangeDidStart(_ exchange: Exchange) {}
        func exchange(_ exchange: Exchange, didReceive head: ResponseHead) -> BodyDisposition {
            .collect(limit: 16 << 20)
        }
        func exchange(_ exchange: Exchange, didReceive piece: Bytes) {}
        func exchangeDidProgress(_ exchange: Exchange) {}
        func exchange(_ exchange: Exchange, didFinish result: ExchangeResult) {
            self.result.update { $0 = result }
        }
    }
}
