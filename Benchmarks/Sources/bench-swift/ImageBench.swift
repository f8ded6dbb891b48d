// Wherry: benchmark of decoded images in memory.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Wherry

/// Lookups and loads of decoded images that are in memory. No request is sent to the network.
struct ImageBench {
    let client: Client
    private let urls: [String]
    private let size = ImageSize.crop(100, 100)

    /// Loads the images into the memory.
    init(entries: Int) async throws {
        let pixels = [UInt8](repeating: 90, count: 120 * 120 * 3)
        let image = try Image.pixels(pixels, .rgb8, width: 120, height: 120)
            .compressed(Compression(quality: 0.9, type: "jpg"))
        let stub = StubServer()
        stub.respond("https://images.example.org/*", body: image.bytes)
        client = try Client {
            $0.stubServer = stub
            $0.imageMemoryBytes = 1 << 30
        }
        urls = (0..<entries).map { "https://images.example.org/albums/2026/summer/photo-\($0).jpg" }
        for url in urls { _ = try await client.images.load(url, size: size) }
    }

    /// Measures `cached(_:size:)` or `load(_:size:)`.
    func run(_ call: String, times: Int) async throws {
        var failed = 0
        let measurement = Measurement()
        switch call {
        case "cached":
            for turn in 0..<times
            where client.images.cached(urls[turn &* 7919 % urls.count], size: size)?.width != 100 {
                failed += 1
            }
        case "load":
            for turn in 0..<times {
                let url = urls[turn &* 7919 % urls.count]
                if try await client.images.load(url, size: size).width != 100 { failed += 1 }
            }
        default: usage()
        }
        measurement.end(done: times, failed: failed, bytes: 0)
        client.close()
    }
}
