// Wherry: tests that docs/errors.md and the enum of reasons are one table.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import WherryCore

@Suite struct ErrorTableTests {
    struct Row {
        var section: String
        var word: String
        var again: String
        var isExplained: Bool
    }

    static func rows() throws -> [Row] {
        let path = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../../docs/errors.md")
        var section = ""
        var rows: [Row] = []
        for line in try String(contentsOf: path, encoding: .utf8).components(separatedBy: "\n") {
            if line.hasPrefix("## ") {
                section = String(line.dropFirst(3))
            } else if line.hasPrefix("| `") {
                let cells = line.components(separatedBy: "|").map {
                    $0.trimmingCharacters(in: .whitespaces)
                }
                rows.append(
                    Row(
                        section: section, word: cells[1].trimmingCharacters(in: ["`"]),
                        again: cells[2],
                        isExplained: cells.count == 6 && cells[3].count > 10 && cells[4].count > 3))
            }
        }
        return rows
    }

    @Test("Every reason stands once in docs/errors.md, and no other word does")
    func words() throws {
        let words = try Self.rows().map(\.word)

        #expect(words.sorted() == ErrorReason.allCases.map(\.rawValue).sorted())
    }

    @Test("Every reason stands under its code, with its explanation and whether to try again")
    func meanings() throws {
        for row in try Self.rows() {
            guard let reason = ErrorReason(rawValue: row.word) else { continue }
            #expect(row.isExplained, "\(row.word)")
            #expect(row.again == (reason.isRetryable ? "yes" : "no"), "\(row.word)")
            let heading = row.section.prefix { $0 != ":" }.components(separatedBy: ", ")
            #expect(heading.contains(Self.name(of: reason.code)), "\(row.word)")
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
        case .limit: "limit"
        case .internal: "internal"
        case .forked: "forked"
        case .busy: "busy"
        default: "unknown"
        }
    }
}
