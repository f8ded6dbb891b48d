// Wherry: bytes on their way into a partial file
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

extension PartFile {
    private static let writeBackStep: Int64 = 8 << 20

    /// Whether the next piece may be written by a thread that others wait for.
    package var isQuick: Bool { pace.isQuick(at: SystemClock.shared.now()) }

    /// Writes a piece of a body as its ``Placement`` says.
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

    /// Writes bytes where they belong in the file.
    package func write(_ bytes: [UInt8], at offset: Int64) throws(DownloadError) {
        try write(Bytes(bytes), Placement(skip: 0, count: bytes.count, offset: offset))
    }

    /// Has the device begin with what was written, once that is enough to be worth it. Told of a
    /// little at a time it is never idle, and a checkpoint waits for the last of it alone.
    func beginWriteBack(on workers: WorkerPool) {
        guard sinceWriteBack >= Self.writeBackStep else { return }
        sinceWriteBack = 0
        workers.submit { [file] in file.beginWriteBack() }
    }
}
