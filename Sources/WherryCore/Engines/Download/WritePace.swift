// Wherry: whether a file may be written to by a thread that others wait for
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// Tells from how long a file took the last bytes whether the next may be written without a thread of
/// their own.
///
/// Bytes that lie in the cache of the processor that received them are written in the time it takes to
/// wake another thread, unless the file system has them wait. So the first that waits is the last for
/// so long that no more than a hundredth of the thread's time is lost.
struct WritePace {
    /// A write of one piece that takes longer has waited for something.
    static let quick = Int64.milliseconds(4)

    private let waitsForNobody: Bool
    private var slowUntil = Instant(nanoseconds: .min)

    /// - Parameter fileSystem: the one that the file lies on.
    init(on fileSystem: FileSystem) {
        waitsForNobody = fileSystem == .local || fileSystem == .memory
    }

    func isQuick(at now: Instant) -> Bool { waitsForNobody && now >= slowUntil }

    mutating func wrote(from begin: Instant, to end: Instant) {
        let time = end.since(begin)
        guard time > Self.quick else { return }
        let (pause, overflow) = time.multipliedReportingOverflow(by: 100)
        slowUntil = overflow ? .never : end.advanced(by: pause)
    }
}
