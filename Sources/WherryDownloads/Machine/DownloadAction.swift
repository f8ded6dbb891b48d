// Wherry: actions of the download state machine.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherrySystem

/// A request to send, always to the original URL or a mirror, never to a redirect target (DR10).
package struct DownloadRequest: Hashable, Sendable {
    /// The number of the request within the run. Response events carry the same number.
    package var attempt: Int
    /// The range to request; `nil` for the whole file.
    package var range: AskedRange?
    /// 0 for the original URL, otherwise the number of the mirror.
    package var source = 0

    /// The fields to send in addition to the caller's: always Accept-Encoding, and Range with
    /// If-Range (DR3) or If-Match (DR6).
    package var fields: [(name: String, value: String)] {
        var fields = [(name: "Accept-Encoding", value: "identity")]
        if let range {
            fields.append(("Range", range.fieldValue))
            if let validator = range.validator {
                let name = range.condition == .ifMatch ? "If-Match" : "If-Range"
                fields.append((name, validator.fieldValue))
            }
        }
        return fields
    }
}

/// A step that the machine requests. Actions are carried out in the given order.
///
/// Actions marked *disk* go through one first-in, first-out queue, after the writes that were
/// placed before them. Each of them is followed by the listed event or by
/// ``DownloadMachine/diskFailed(_:)``.
package enum DownloadAction: Hashable, Sendable {
    /// Sends a request. Its response headers, body and end are passed in under its attempt number.
    case send(DownloadRequest)
    /// Sends a request for another segment on an additional connection.
    case sendSegment(DownloadRequest)
    /// Cancels only the exchange of that attempt.
    case stopSegment(Int)
    /// Cancels every exchange in flight and ignores their later events. Bytes that are already
    /// placed are written first.
    case stop
    /// Stops reading but keeps the connection open. Pauses a download that cannot be resumed.
    case hold
    /// Continues reading after `hold`.
    case unhold
    /// Calls ``DownloadMachine/retryDue()`` after that many nanoseconds. The error is the reason.
    case wait(Int64, DownloadError)
    /// Cancels the wait.
    case stopWaiting
    /// *Disk.* Calls ``PartFile/begin(_:isJournaled:)``: empties the partial file for a new
    /// generation. No event follows.
    case begin(DownloadFacts, isJournaled: Bool)
    /// *Disk.* Calls ``PartFile/adopt(_:)``: records new facts about the generation that continues.
    /// No event follows.
    case adopt(DownloadFacts)
    /// *Disk.* Calls ``PartFile/checkpoint()``. Event: ``DownloadMachine/checkpointed()``.
    case checkpoint
    /// *Disk.* Calls ``PartFile/verify(_:length:isStopped:)``. Event:
    /// ``DownloadMachine/verified(_:)``.
    case verify([DigestAlgorithm], length: Int64)
    /// Stops a running verification soon. The event of the verification still follows.
    case stopVerifying
    /// *Disk.* Calls ``PartFile/publish(length:)``. Event: ``DownloadMachine/published(_:)``.
    case publish(length: Int64)
    /// *Disk.* Calls ``PartFile/close(keeping:)``. Event:
    /// ``DownloadMachine/released(partialPath:)``, with `nil` also if the call throws.
    case release(keeping: Bool)
    /// Reports an event to the caller.
    case report(DownloadReport)
    /// Ends the download. Always the last action.
    case finish(DownloadOutcome)
}

/// An event to report to the caller.
package enum DownloadReport: Hashable, Sendable {
    case state(TransferState)
    /// The download resumes at this number of bytes.
    case resumed(have: Int64)
    case restarted(RestartReason, generation: UInt32)
    /// A journal exists but is unusable.
    case journalIgnored(Journal.Defect)
    /// The file is already complete.
    case alreadyComplete
    /// The download continues with the next mirror because of this error.
    case mirror(DownloadError)
}

/// How a download ended.
package enum DownloadOutcome: Hashable, Sendable {
    case done(path: String)
    /// The path of the partial file, if it was kept.
    case failed(DownloadError, partialPath: String?)
    case cancelled(partialPath: String?)
}

/// The position of received bytes in the file.
package struct Placement: Hashable, Sendable {
    /// The number of leading bytes to skip because the file already has them.
    package var skip = 0
    /// The number of bytes to write after the skipped ones. The caller discards the rest.
    package var count = 0
    /// The file offset of the first of the `count` bytes.
    package var offset: Int64 = 0
    /// The actions to carry out after the bytes were taken.
    package var actions: [DownloadAction] = []
}
