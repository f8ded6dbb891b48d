// Wherry: progress as lines and as JSON records.
// SPDX-License-Identifier: Apache-2.0

import Glibc
import Wherry

/// Tells how far a transfer has come.
protocol ProgressDisplay: AnyObject {
    func update(_ progress: TransferProgress)
    /// The display follows a transfer that has come so far before: that is not part of its speed.
    func begin(at completed: Int64)
    /// Gives what is shown another name.
    func rename(_ name: String)
    /// Something happened in between, such as a new attempt.
    func remark(_ text: String)
    /// All is there.
    func finish(_ progress: TransferProgress, note: String?)
    /// It ended otherwise; the complaint follows.
    func stop()
}

/// The texts that displays have in common.
enum ProgressText {
    static func amount(_ progress: TransferProgress) -> String {
        progress.total.map { Units.bytes(progress.completed, of: $0) }
            ?? Units.bytes(progress.completed)
    }

    /// Rounded down, so that only the whole is 100.
    static func percent(_ progress: TransferProgress) -> Int? {
        progress.fraction.map { Int($0 * 100) }
    }

    /// - Parameter base: what was there before the display began; less than `resumedAt` does not count.
    static func end(
        _ name: String, _ progress: TransferProgress, _ since: ContinuousClock.Instant,
        base: Int64 = 0
    ) -> String {
        let time = ContinuousClock.now - since
        // A base beyond the end is of an earlier attempt.
        let there = max(progress.resumedAt, base <= progress.completed ? base : 0)
        let moved = max(0, progress.completed - there)
        var text = "\(name): \(Units.bytes(progress.completed)) in \(Units.seconds(time))"
        if time.inSeconds >= 0.05, moved > 0 {
            text += ", \(Units.speed(Int64(Double(moved) / time.inSeconds)))"
        }
        if there > 0 { text += ", \(Units.bytes(there)) were there" }
        return text
    }
}

/// A line for every tenth of the way, or every ten seconds where the end is unknown.
final class ProgressLines: ProgressDisplay {
    private var name: String
    private var base: Int64 = 0
    private let begun = ContinuousClock.now
    private var tenths = 0
    private var last = ContinuousClock.now

    init(named name: String) { self.name = name.printable }

    func begin(at completed: Int64) { base = completed }
    func rename(_ name: String) { self.name = name.printable }

    func update(_ progress: TransferProgress) {
        if let percent = ProgressText.percent(progress) {
            // It goes down where a file is loaded anew.
            guard percent / 10 != tenths, percent < 100 else { return }
            tenths = percent / 10
        } else {
            guard ContinuousClock.now - last >= .seconds(10) else { return }
        }
        last = .now
        var text = "\(name): \(ProgressText.amount(progress))"
        if let percent = ProgressText.percent(progress) { text += ", \(percent) %" }
        if let speed = progress.bytesPerSecond { text += ", \(Units.speed(speed))" }
        if let left = progress.remaining { text += ", \(Units.time(left)) left" }
        write(text)
    }

    func remark(_ text: String) { write("\(name): \(text)") }

    func finish(_ progress: TransferProgress, note: String?) {
        write(ProgressText.end(name, progress, begun, base: base) + (note.map { ", \($0)" } ?? ""))
    }

    func stop() {}

    private func write(_ text: String) { FileBytes.writeLine(text, to: STDERR_FILENO) }
}

/// One JSON object per line, for each that the library tells: ten a second at most. To leave one out
/// might leave out the last for a long time.
final class ProgressRecords: ProgressDisplay {
    private var name: String

    init(named name: String) { self.name = name }

    func begin(at completed: Int64) {}
    func rename(_ name: String) { self.name = name }

    func update(_ progress: TransferProgress) {
        write(Report.progress(progress, named: name))
    }

    func remark(_ text: String) {
        write(["event": "remark", "name": .string(name), "text": .string(text)])
    }

    func finish(_ progress: TransferProgress, note: String?) {
        write(Report.progress(progress, named: name))
    }

    func stop() {}

    private func write(_ object: JSONObject) {
        FileBytes.writeLine(JSON.object(object).description, to: STDERR_FILENO)
    }
}
