// Wherry: writes to a partial file.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

extension PartFile {
    private static let writeBackStep: Int64 = 8 << 20

    /// Whether the next write is fast enough for a thread that others wait for.
    package var isQuick: Bool { pace.isQuick(at: SystemClock.shared.now()) }

    /// Writes received bytes at the position given by their ``Placement``.
    package func write(_ piece: Bytes, _ placement: Placement) throws(DownloadError) {
        let start = max(0, placement.skip)
        let end = min(piece.count, start &+ max(0, placement.count))
        guard start < end else { return }
        // No new generation began, so the server has confirmed the old one.
        try claimLender()
        let begin = SystemClock.shared.now()
        try checkLength()
        do throws(SystemError) {
            try file.write(piece, start..<end, at: placement.offset)
        } catch {
            throw trouble(error)
        }
        pace.wrote(from: begin, to: SystemClock.shared.now())
        written.insert(placement.offset..<placement.offset + Int64(end - start))
        guard isDurable else { return }
        sinceWriteBack += Int64(end - start)
    }

    /// Writes bytes at an offset.
    package func write(_ bytes: Bytes, at offset: Int64) throws(DownloadError) {
        try write(bytes, Placement(skip: 0, count: bytes.count, offset: offset))
    }

    /// Starts write-back of the written bytes once there are enough of them. Small steps keep the
    /// device busy, so a checkpoint only waits for the last bytes.
    package func beginWriteBack(on workers: WorkerPool) {
        guard sinceWriteBack >= Self.writeBackStep else { return }
        sinceWriteBack = 0
        workers.submit { [file] in file.beginWriteBack() }
    }
}
