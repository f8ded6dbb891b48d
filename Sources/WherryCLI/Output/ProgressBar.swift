// Wherry: a progress bar on a terminal.
// SPDX-License-Identifier: Apache-2.0

import Glibc
import WherryAsync

/// `photo.iso  ━━━━━━━━╸━━━━━━━  62 %  158.7 of 256.0 MiB  412.0 MiB/s  0:03 left`
final class ProgressBar: ProgressDisplay {
    private static let longestName = 28
    private static let narrowest = 8
    private static let widest = 40

    private var name: String
    private var base: Int64 = 0
    private let rows: BarRows
    private let row: Int
    private var terminal: Terminal { rows.terminal }
    private let begun = ContinuousClock.now
    private var turn = 0

    init(named name: String, in rows: BarRows = BarRows()) {
        self.rows = rows
        row = rows.add()
        self.name = Self.shown(name)
    }

    private static func shown(_ name: String) -> String {
        let plain = name.printable
        return plain.count <= longestName ? plain : "…" + plain.suffix(longestName - 1)
    }

    func begin(at completed: Int64) { base = completed }
    func rename(_ name: String) { self.name = Self.shown(name) }

    func update(_ progress: TransferProgress) {
        rows.draw(line(progress), in: row)
    }

    func remark(_ text: String) {
        rows.say(terminal.paint("\(name): \(text)", .yellow), in: row)
    }

    func finish(_ progress: TransferProgress, note: String?) {
        var text =
            terminal.paint("✓ ", .green) + ProgressText.end(name, progress, begun, base: base)
        if let note { text += ", \(note)" }
        rows.say(text, in: row)
    }

    func stop() { rows.clear(row) }

    /// The line, at most as wide as the terminal.
    func line(_ progress: TransferProgress) -> String {
        var figures = ""
        if let percent = ProgressText.percent(progress) {
            figures += String(repeating: " ", count: percent < 10 ? 2 : percent < 100 ? 1 : 0)
            figures += "\(percent) %  "
        }
        figures += ProgressText.amount(progress)
        // The first measurements mean little.
        if let speed = progress.bytesPerSecond, ContinuousClock.now - begun >= .milliseconds(400) {
            figures += "  \(Units.speed(speed))"
        }
        if let left = progress.remaining { figures += "  \(Units.time(left)) left" }

        let room = terminal.width - 1 - name.count - figures.count - 4
        guard room >= Self.narrowest else {
            return String("\(name)  \(figures)".prefix(max(0, terminal.width - 1)))
        }
        let width = min(room, Self.widest)
        return terminal.paint(name, .bold) + "  " + bar(progress.fraction, width) + "  " + figures
    }

    /// The bar, or a moving block if the size is unknown.
    private func bar(_ fraction: Double?, _ width: Int) -> String {
        guard let fraction else {
            turn += 1
            let place = turn % (2 * (width - 3))
            let left = place < width - 3 ? place : 2 * (width - 3) - place
            return terminal.paint(String(repeating: "━", count: left), .dim)
                + terminal.paint("━━━", .cyan)
                + terminal.paint(String(repeating: "━", count: width - 3 - left), .dim)
        }
        let full = Int(fraction * Double(width))
        let rest = width - full
        // Without colors, the two parts of the bar need different characters.
        let empty = terminal.hasColour ? "━" : "╌"
        return terminal.paint(String(repeating: "━", count: full), .green)
            + terminal.paint(String(repeating: empty, count: rest), .dim)
    }
}
