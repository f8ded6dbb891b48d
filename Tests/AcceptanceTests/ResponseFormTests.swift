// Wherry: acceptance tests of response conversions
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing
import Wherry

private struct CharsetCase: Decodable, Sendable {
    let type: String
    let base64: String
    let text: String
}

private struct ColourCase: Decodable, Sendable {
    let name: String
    let file: String
    let format: String
    let background: UInt32?
    let animated: String?
    let size: [Int]
    let tolerance: Int
    let rgba: Data
}

@Suite struct ResponseFormTests {
    private let scope: TestServer.Scope
    private let client: Client

    init() throws {
        scope = try TestServer.shared.scope()
        client = try makeClient(scope)
    }

    private func answer(_ type: String, base64: String) async throws -> Response {
        let type = try JSONEncoder().encode(type)
        try scope.script(
            "form",
            """
            [{"headers": [["Content-Type", \(String(decoding: type, as: UTF8.self))]],
              "body_base64": "\(base64)"}]
            """)
        return try await client.get("s/form")
    }

    @Test("R13 text uses the charset that the table expects")
    func charsets() async throws {
        for one in try scenarios("charsets.json", of: CharsetCase.self) {
            let answer = try await answer(one.type, base64: one.base64)
            #expect(Array(answer.text.utf8) == Array(one.text.utf8), "\(one.type)")
            #expect(answer.data == Data(base64Encoded: one.base64))
        }
    }

    @Test("R13 a long text keeps every character, at any chunk boundary of a conversion")
    func long() async throws {
        let text = String(repeating: "a\u{e9}\u{20ac}\u{1f600}", count: 9_001)
        let coded = try #require(text.data(using: .utf16BigEndian))
        let answer = try await answer(
            "text/plain; charset=utf-16be", base64: coded.base64EncodedString())
        #expect(answer.text == text)
        #expect(answer.charset == "utf-16be")
    }

    @Test("R13 an image has the same pixels as in another program")
    func pixels() async throws {
        for one in try scenarios("picture-colours.json", of: ColourCase.self) {
            let answer = try await answer("image/any", base64: one.file)
            var settings = Compression()
            if let background = one.background { settings.background = background }
            if one.animated == "first" { settings.animated = .first }
            let isFlat = one.format == "jpeg"
            let pixels = try answer.image.decoded(as: isFlat ? .rgb8 : .rgba8, settings)
            #expect([pixels.width, pixels.height] == one.size, "\(one.name)")
            #expect(pixels.order == (isFlat ? .rgb8 : .rgba8))
            let wanted = one.rgba.enumerated()
                .filter { !isFlat || $0.offset % 4 < 3 }.map(\.element)
            let found = pixels.bytes
            try #require(found.count == wanted.count, "\(one.name)")
            let worst = zip(found, wanted).map { abs(Int($0) - Int($1)) }.max() ?? 0
            #expect(worst <= one.tolerance, "\(one.name)")
        }
    }

    @Test("R13 pixels have the requested order and convert back to an image")
    func orders() throws {
        let raw = (0..<24).map { UInt8($0) }
        var settings = Compression()
        settings.format = .png
        let image = try Image.pixels(raw, .rgb8, width: 4, height: 2).compressed(settings).image
        let pixels = try image.decoded()
        #expect(pixels.order == .rgb8 && pixels.bytes == raw)
        #expect(try image.decoded(as: .bgra8).bytes.prefix(8) == [2, 1, 0, 255, 5, 4, 3, 255])
        #expect(try image.decoded(as: .gray8).bytes.first == 1)
        #expect(try pixels.image.compressed(settings).bytes == image.compressed(settings).bytes)
        settings.maxPixels = 7
        let error = #expect(throws: WherryError.self) { try image.decoded(as: nil, settings) }
        #expect(error?.reason == "image_too_large")
    }

    @Test("R13 an invalid image is refused when its pixels are read")
    func noPicture() async throws {
        for body in ["", "no picture", "\u{89}PNG"] {
            let coded = Data(body.utf8).base64EncodedString()
            let answer = try await answer("image/png", base64: coded)
            let error = #expect(throws: WherryError.self) { try answer.image.decoded() }
            #expect(error?.code == .image)
        }
    }

    @Test("R13 of several formats the first that succeeds is used, in order")
    func compound() async throws {
        enum Form: Equatable {
            case json(JSON)
            case picture(Int)
            case text(String)
        }
        var tried: [String] = []
        func form(_ answer: Response) throws -> Form {
            tried = []
            return try answer.first(
                of: {
                    tried.append("json")
                    return .json(try $0.json())
                },
                {
                    tried.append("picture")
                    return .picture(try $0.image.decoded().width)
                },
                {
                    tried.append("text")
                    return .text($0.text)
                })
        }
        let picture = try Image.pixels(Array(repeating: 7, count: 12), .rgb8, width: 2, height: 2)
            .compressed().bytes
        let bodies: [(Data, Form)] = [
            (Data(#"{"a": 1}"#.utf8), .json(["a": 1])), (picture.data, .picture(2)),
            (Data("neither".utf8), .text("neither")),
        ]
        for (index, (body, expected)) in bodies.enumerated() {
            let answer = try await answer("text/plain", base64: body.base64EncodedString())
            #expect(try form(answer) == expected)
            #expect(tried == Array(["json", "picture", "text"].prefix(index + 1)))
        }
        let answer = try await answer("text/plain", base64: "eA==")
        let error = #expect(throws: WherryError.self) {
            try answer.first(of: { try $0.image.decoded().width }, { try $0.json().isNull ? 1 : 0 })
        }
        #expect(error?.reason == "bad_json_body")
    }
}
