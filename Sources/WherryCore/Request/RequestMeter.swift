// Wherry: the progress of a request.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherryRequests
import WherrySystem
import WherryTransport

/// Measures the progress and the speed of a request: of its body for an upload, otherwise of the
/// response.
struct RequestMeter: Sendable {
    /// The last progress that was reported. Indirect, because most requests report none, and malloc takes
    /// longer for more than 1,032 bytes.
    private enum Report: Sendable {
        case none
        indirect case last(Progress)

        var progress: Progress? { if case .last(let progress) = self { progress } else { nil } }
    }

    private let isUpload: Bool
    private var speed = SpeedMeter()
    private var reported = Report.none
    /// The progress when the last exchange was released.
    private(set) var last = Progress()

    init(isUpload: Bool) { self.isUpload = isUpload }

    /// Adds the current byte count. Returns the progress if it is news for the caller.
    mutating func measure(_ exchange: Exchange, _ body: PreparedBody, at now: Instant) -> Progress?
    {
        speed.add(isUpload ? body.plainSent(exchange).sent : exchange.receivedOnWire, at: now)
        let progress = progress(of: exchange, body)
        // Bytes of a response are not progress of an upload.
        guard progress.hasMoved(since: reported.progress) else { return nil }
        reported = .last(progress)
        return progress
    }

    func progress(of exchange: Exchange, _ body: PreparedBody) -> Progress {
        var progress = Progress()
        if isUpload {
            let plain = body.plainSent(exchange)
            progress.completed = plain.sent
            progress.total = plain.total
            progress.wire = exchange.sent
        } else {
            // For a compressed body, only the length on the wire is known (R23).
            progress.completed = exchange.receivedOnWire
            progress.wire = exchange.receivedOnWire
            progress.decodedCount = exchange.received
            let expected = exchange.expectedOnWire
            progress.total = expected < 0 ? nil : max(expected, progress.completed)
        }
        progress.bytesPerSecond = speed.bytesPerSecond
        if let total = progress.total {
            progress.remaining = speed.remaining(total - progress.completed)
        }
        return progress
    }

    /// Records the final progress of an exchange.
    mutating func finish(_ exchange: Exchange, _ body: PreparedBody) {
        last = progress(of: exchange, body)
    }

    /// Forgets the speed, after a pause and before a retry.
    mutating func restart() { speed.restart() }
}
