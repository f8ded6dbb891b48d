// Wherry: progress as lines and as JSON records.
// SPDX-License-Identifier: Apache-2.0

import Glibc
import WherryAsync

/// Displays the progress of a transfer.
protocol ProgressDisplay: AnyObject {
    func update(_ progress: TransferProgress)
    /// Starts at bytes that were transferred before, which do not count for the speed.
    func begin(at completed: Int64)
    /// Changes the displayed name.
    func rename(_ name: String)
    /// Shows an event, such as a retry.
    func remark(_ text: String)
    /// Shows that the transfer is complete.
    func finish(_ progress: TransferProgress, note: String?)
    /// Ends the display without a result. An error message follows.
    func stop()
}

/// The texts that all displays share.
enum ProgressText {
    static func amount(_ progress: TransferProgress) -> String {
        progress.total.map { Units.bytes(progress.completed, of: $0) }
            ?? Units.bytes(progress.completed)
    }

    /// Rounded down, so that 100 means complete.
    static func percent(_ progress: TransferProgress) -> Int? {
        progress.fraction.map { Int($0 * 100) }
    }

    /// - Parameter base: The bytes that were transferred before; at least `resumedAt`.
    static func end(
        _ name: String, _ progress: TransferProgress, _ since: ContinuousClock.Instant,
        base: Int64 = 0
    ) -> String {
        let time = ContinuousClock.now - since
        // A larger base is from an earlier attempt.
        let there = max(progress.resumedAt, base <= progress.completed ? base : 0)
        let moved = max(0, progress.completed - there)
        var text = "\(name): \(Units.bytes(progress.completed)) in \(Units.seconds(time))"
        if time.inSeconds >= 0.05, moved > 0 {
            text += ", \(Units.speed(Int64(Double(moved) / time.inSeconds)))"
        }
        if there > 0 { text += ", \(Units.bytes(there)) were already there" }
        return text
    }
}

/// A line for every 10 %, or every ten seconds if the size is unknown.
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
            // The progress decreases if a download starts over.
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

/// One JSON object per line for each progress event, at most ten per second. All are printed, because a
/// skipped event may be the last one for a long time.
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
