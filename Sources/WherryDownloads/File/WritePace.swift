// Wherry: speed of writes to a file.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// Decides from the duration of earlier writes whether the next write needs a separate thread.
///
/// Writing bytes from the cache of the processor that received them takes no longer than waking
/// another thread, unless the file system blocks. A slow write therefore disables direct writes for
/// 100 times its duration. At most a hundredth of the thread's time is lost.
struct WritePace {
    /// The longest duration of a write that has not blocked.
    static let quick = Int64.milliseconds(4)

    private let waitsForNobody: Bool
    private var slowUntil = Instant(nanoseconds: .min)

    /// - Parameter fileSystem: The file system of the file.
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
