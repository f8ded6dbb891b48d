// Wherry: tests of image colors, compared with another program.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import WherrySystem

@testable import WherryImaging

struct ColourTests {
    /// A case of Tests/Scenarios/picture-colours.json, which C and Python tests also use.
    private struct ColourCase: Decodable {
        let name: String
        let file: Data
        let format: String
        let background: UInt32?
        let animated: String?
        let size: [Int]
        let components: Int
        let tolerance: Int
        let rgba: Data
    }
    private struct Table: Decodable { let cases: [ColourCase] }

    @Test("U8 SEC-R10 every kind of image has the same colors as in another program")
    func colours() throws {
        let path = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("Scenarios/picture-colours.json")
        let cases = try JSONDecoder().decode(Table.self, from: Data(contentsOf: path)).cases
        #expect(cases.count > 50)
        for one in cases {
            var options = Compression(quality: 1)
            options.format = one.format == "png" ? .png : .jpeg
            options.subsampling = .s444
            if let background = one.background { options.background = background }
            if one.animated == "first" { options.animated = .first }
            let made = try ImageEncoder.encode(.array([UInt8](one.file)), options)
            let info = try ImageInfo(inspecting: .bytes(made.bytes))
            #expect([info.width, info.height] == one.size, "\(one.name)")
            #expect(info.components == one.components, "\(one.name)")
            let ours = try ImageDecoder.decode(.bytes(made.bytes), as: .rgba8).packedBytes
            let worst = zip(ours, one.rgba).map { abs(Int($0) - Int($1)) }.max() ?? 256
            #expect(ours.count == one.rgba.count && worst <= one.tolerance, "\(one.name): \(worst)")
        }
    }
}
