// Wherry: uploads with unreadable images
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestServer
import Testing
import Wherry

@Suite(.timeLimit(.minutes(2)))
struct UnreadablePictureTests {
    private let scope: TestServer.Scope
    private let client: Client
    private let gif = Image.bytes(Bytes(Array("GIF89a".utf8) + [1, 0, 1, 0, 0, 0, 0, 0x3B]))
    private let text = Image.bytes(Bytes("no picture"), fileName: "text.jpg")

    init() throws {
        scope = try TestServer.shared.scope()
        client = try makeClient(scope)
    }

    @Test("U11 an upload that fails before a byte is sent names every unreadable image")
    func named() async throws {
        let upload = try client.upload([gif, text], to: "echo", name: "photo")
        let error = await failure { () throws(WherryError) in try await upload.value }
        #expect(error?.message.contains("2 of 2 images cannot be sent.") == true)
        #expect(error?.message.contains("Image 1 (14 bytes)") == true)
        #expect(error?.message.contains("Image 2 (text.jpg)") == true)
        #expect(error?.failedImages.map(\.index) == [0, 1])
        #expect(try scope.requests().isEmpty)
    }

    @Test("U11 an unreadable image is sent unchanged on request")
    func untouched() async throws {
        let response = try await client.upload(
            [gif, text], to: "echo", name: "photo", unreadable: .send
        ).value
        let echo = try JSONDecoder().decode(Echo.self, from: Data(response.body))
        #expect(echo.parts?.map(\.type) == ["image/gif", "image/jpeg"])
        #expect(echo.parts?.map(\.size) == [14, 10])
        #expect(response.images.map(\.encodedBytes) == [14, 10])
        #expect(response.images.allSatisfy { $0.error == nil && $0.width == 0 })
        var request = Request("echo", method: "POST")
        #expect(request.unreadableImages == nil)
        request.unreadableImages = .send
        #expect(request.unreadableImages == .send)
    }

    // Only a request could choose.
    @Test("U11 the client sets a mode for its uploads, and a request overrides it")
    func ofClient() async throws {
        let client = try makeClient(scope) { $0.unreadableImages = .send }
        let response = try await client.upload([gif], to: "echo", name: "photo").value
        #expect(response.images.map(\.encodedBytes) == [14])
        let strict = try client.upload([gif], to: "echo", name: "photo", unreadable: .fail)
        let error = await failure { () throws(WherryError) in try await strict.value }
        #expect(error?.code == .image)
        #expect(try scope.requests().count == 1)
    }

    @Test("U11 U22 of separate requests only the unreadable image fails")
    func separate() async throws {
        let sound = try Image.pixels([UInt8](repeating: 7, count: 12), .rgb8, width: 2, height: 2)
        let upload = try client.upload([gif, sound], to: "echo", name: "photo", separately: 1)
        let error = await failure { () throws(WherryError) in try await upload.value }
        #expect(error?.failedImages.map(\.index) == [0])
        #expect(try scope.requests().count == 1)
    }

    @Test("U11 an image has the same file name whether it is sent or not")
    func names() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/a.gif"
        try Data(Array("GIF89a".utf8) + [1, 0, 1, 0, 0, 0, 0, 0x3B]).write(
            to: URL(fileURLWithPath: path))
        let pictures = [Image.file(path), text]
        let sent = try await client.upload(
            pictures, to: "echo", name: "photo", unreadable: .send
        ).value
        #expect(sent.images.map(\.fileName) == [path, "text.jpg"])
        let refused = try client.upload(
            pictures, to: "status/500", name: "photo", unreadable: .send)
        let unread = try client.upload(pictures, to: "echo", name: "photo")
        for upload in [refused, unread] {
            let error = await failure { () throws(WherryError) in try await upload.value }
            #expect(error?.failedImages.map(\.fileName) == [path, "text.jpg"])
        }
    }

    @Test("U11 refused raw pixels are not sent unchanged")
    func pixels() async throws {
        var settings = Compression()
        settings.maxPixels = 3
        let raw = try Image.pixels([UInt8](repeating: 7, count: 12), .rgb8, width: 2, height: 2)
        let upload = try client.upload(
            [raw], to: "echo", name: "photo", compression: settings, unreadable: .send)
        let error = await failure { () throws(WherryError) in try await upload.value }
        #expect(error?.reason == "image_too_large")
        #expect(try scope.requests().isEmpty)
    }
}
