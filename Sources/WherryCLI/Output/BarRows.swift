// Wherry: progress bars on the last lines of a terminal.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// Draws several bars, with remarks above them. All methods can be called on any thread.
final class BarRows: @unchecked Sendable {  // what changes is under `lock`
    let terminal: Terminal
    private let lock = Lock(())
    /// The line of each bar; `nil` if it is not drawn.
    private var rows: [String?] = []
    /// How many lines are drawn. The cursor is in the last one.
    private var drawn = 0

    init(on terminal: Terminal = .error) { self.terminal = terminal }

    /// Adds a row below the others. Its bar may never be drawn.
    func add() -> Int {
        lock.withLock { _ in
            rows.append(nil)
            return rows.count - 1
        }
    }

    func draw(_ line: String, in row: Int) {
        lock.withLock { _ in
            rows[row] = line
            show(after: erasing)
        }
    }

    /// Removes the bar of a row.
    func clear(_ row: Int) {
        lock.withLock { _ in
            rows[row] = nil
            show(after: erasing)
        }
    }

    /// Prints a line above the bars, and removes the bar of the row until it is drawn again.
    func say(_ text: String, in row: Int) {
        lock.withLock { _ in
            rows[row] = nil
            show(after: erasing + text + "\n")
        }
    }

    /// The escape codes that erase the bars.
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
        // A closed terminal does not end the transfers.
        try? FileBytes.write(start + text + lines.joined(separator: "\n"), to: terminal.descriptor)
    }
}
