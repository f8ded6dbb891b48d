// Wherry: the last lines of a terminal, one for each bar.
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Draws bars below each other, and what is said of them above. Any thread may call it.
final class BarRows: @unchecked Sendable {  // what changes is under `lock`
    let terminal: Terminal
    private let lock = NSLock()
    /// The line of each bar; `nil` of one that is not drawn now.
    private var rows: [String?] = []
    /// How many lines are on the terminal, the cursor in the last of them.
    private var drawn = 0

    init(on terminal: Terminal = .error) { self.terminal = terminal }

    /// A row below the others. Its bar may never be drawn.
    func add() -> Int {
        lock.withLock {
            rows.append(nil)
            return rows.count - 1
        }
    }

    func draw(_ line: String, in row: Int) {
        lock.withLock {
            rows[row] = line
            show(after: erasing)
        }
    }

    /// Takes the row's bar away.
    func clear(_ row: Int) {
        lock.withLock {
            rows[row] = nil
            show(after: erasing)
        }
    }

    /// A line that stays, above the bars; the row's own bar goes until it is drawn again.
    func say(_ text: String, in row: Int) {
        lock.withLock {
            rows[row] = nil
            show(after: erasing + text + "\n")
        }
    }

    /// What takes the bars off the terminal.
    private var erasing: String {
        switch drawn {
        case 0: ""
        case 1: "\r\u{1B}[2K"
        default: "\r\u{1B}[\(drawn - 1)A\u{1B}[J"
        }
    }

    private func show(after text: String) {
        // Lines that have left the screen cannot be erased.
        let lines = rows.compactMap { $0 }.suffix(max(1, terminal.height - 1))
        let start = text.isEmpty && !lines.isEmpty ? "\r\u{1B}[2K" : ""
        drawn = lines.count
        // A terminal that has gone is no reason to end the work.
        try? FileBytes.write(start + text + lines.joined(separator: "\n"), to: terminal.descriptor)
    }
}
