// Wherry: tests that docs/errors.md and the enum of reasons are one table
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import WherryHTTP

@Suite struct ErrorTableTests {
    struct Row {
        var section: String
        var word: String
        var again: String
        var isExplained: Bool
    }

    /// The cells of every row, with the heading above it.
    private static func cells() throws -> [(section: String, cells: [String])] {
        let path = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../docs/errors.md")
        var section = ""
        var rows: [(section: String, cells: [String])] = []
        for line in try String(contentsOf: path, encoding: .utf8).components(separatedBy: "\n") {
            if line.hasPrefix("## ") {
                section = String(line.dropFirst(3))
            } else if line.hasPrefix("| `") {
                let cells = line.components(separatedBy: "|").dropFirst().dropLast()
                rows.append((section, cells.map { $0.trimmingCharacters(in: .whitespaces) }))
            }
        }
        return rows
    }

    /// The section with the codes of other libraries.
    private static let numbers = "Foundation and libcurl codes"

    static func rows() throws -> [Row] {
        try cells().filter { $0.section != numbers }.map { section, cells in
            Row(
                section: section, word: cells[0].trimmingCharacters(in: ["`"]),
                again: cells.count > 1 ? cells[1] : "",
                isExplained: cells.count == 4 && cells[2].count > 10 && cells[3].count > 3)
        }
    }

    @Test("Every reason is listed once in docs/errors.md, and no other word is")
    func words() throws {
        let words = try Self.rows().map(\.word)

        #expect(words.sorted() == ErrorReason.allCases.map(\.rawValue).sorted())
    }

    @Test("Every reason is listed under its code, with its explanation and whether to retry")
    func meanings() throws {
        for row in try Self.rows() {
            guard let reason = ErrorReason(rawValue: row.word) else { continue }
            #expect(row.isExplained, "\(row.word)")
            let again =
                reason == .httpStatus
                ? "depends on the status" : reason.isRetryable ? "yes" : "no"
            #expect(row.again == again, "\(row.word)")
            let heading = row.section.prefix { $0 != ":" }.components(separatedBy: ", ")
            #expect(heading.contains(Self.name(of: reason.code)), "\(row.word)")
        }
    }

    @Test("R16 every reason has its NSURLError and its libcurl codes, or a dash")
    func otherNumbers() throws {
        let rows = try Self.cells().filter { $0.section == Self.numbers }.map(\.cells)
        #expect(
            rows.map { $0[0].trimmingCharacters(in: ["`"]) } == ErrorReason.allCases.map(\.rawValue)
        )
        for cells in rows {
            try #require(cells.count == 3)
            for number in cells[1].components(separatedBy: ", ") where number != "-" {
                let value = try #require(Int(number), "\(cells)")
                #expect(value == -1 || (-3007 ... -995).contains(value), "\(cells)")
            }
            for code in cells[2].components(separatedBy: ", ") where code != "-" {
                #expect(code.wholeMatch(of: /[A-Z0-9_]+ \([0-9]+\)/) != nil, "\(cells)")
            }
        }
        // Those that SJNetwork's users know by heart.
        let known: [ErrorReason: Int] = [
            .cancelled: -999, .idleTimeout: -1001, .resolve: -1003, .connect: -1004,
            .httpStatus: -1011, .contentType: -1016, .untrusted: -1202,
        ]
        for (reason, number) in known {
            let row = rows.first { $0[0] == "`\(reason.rawValue)`" }
            #expect(row?[1].hasPrefix("\(number)") == true, "\(reason)")
        }
    }

    private static func name(of code: WherryError.Code) -> String {
        switch code {
        case .argument: "argument"
        case .state: "state"
        case .timeout: "timeout"
        case .cancelled: "cancelled"
        case .network: "network"
        case .tls: "tls"
        case .http: "http"
        case .file: "file"
        case .image: "image"
        case .cacheMiss: "cacheMiss"
        case .limit: "limit"
        case .internal: "internal"
        case .forked: "forked"
        case .busy: "busy"
        default: "unknown"
        }
    }
}
