// Wherry: what a download's machine wants done
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// A request the machine wants sent, always to the original URL (DR10).
package struct DownloadRequest: Hashable, Sendable {
    /// Numbers the requests of a run; what arrives is handed in under it.
    package var attempt: Int
    /// `nil`: the whole file.
    package var range: AskedRange?
    /// 0 for the URL itself, else which of its mirrors.
    package var source = 0

    /// The fields to send besides the caller's: Accept-Encoding always, Range with If-Range
    /// (DR3) or If-Match (DR6).
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

/// A step to carry out, in the order given. Those marked *disk* go through one queue, first in,
/// first out, after the bytes that were placed before them; each has one answer or
/// ``DownloadMachine/diskFailed(_:)``.
package enum DownloadAction: Hashable, Sendable {
    /// Sends a request. Its head, body and end are handed in under its attempt.
    case send(DownloadRequest)
    /// Sends a request for a further piece, on a connection of its own beside the others.
    case sendSegment(DownloadRequest)
    /// Ends the exchange of that attempt only.
    case stopSegment(Int)
    /// Ends every exchange in flight; what still comes of it is ignored here. Bytes already
    /// placed but not yet written are written first.
    case stop
    /// Stops reading and keeps the connection: pausing what could not be resumed.
    case hold
    /// Reads on after `hold`.
    case unhold
    /// Asks for ``DownloadMachine/retryDue()`` after so many nanoseconds; the error is why.
    case wait(Int64, DownloadError)
    /// The wait is off.
    case stopWaiting
    /// *Disk.* ``PartFile/begin(_:isJournaled:)``: empties the part for a new generation. No answer.
    case begin(DownloadFacts, isJournaled: Bool)
    /// *Disk.* ``PartFile/adopt(_:)``: what was learnt about the generation that goes on. No answer.
    case adopt(DownloadFacts)
    /// *Disk.* ``PartFile/checkpoint()``. Answer: ``DownloadMachine/checkpointed()``.
    case checkpoint
    /// *Disk.* ``PartFile/verify(_:length:isStopped:)``. Answer:
    /// ``DownloadMachine/verified(_:)``.
    case verify([DigestAlgorithm], length: Int64)
    /// Ends a verification that runs, soon; its answer still comes.
    case stopVerifying
    /// *Disk.* ``PartFile/publish(length:)``. Answer: ``DownloadMachine/published(_:)``.
    case publish(length: Int64)
    /// *Disk.* ``PartFile/close(keeping:)``. Answer: ``DownloadMachine/released(partialPath:)``, with
    /// `nil` also where it throws.
    case release(keeping: Bool)
    /// Tells the caller.
    case report(DownloadReport)
    /// The last action of all.
    case finish(DownloadOutcome)
}

/// News for the caller.
package enum DownloadReport: Hashable, Sendable {
    case state(TransferState)
    /// The file goes on from this many bytes.
    case resumed(have: Int64)
    case restarted(RestartReason, generation: UInt32)
    /// There was a journal, and it could not be used.
    case journalIgnored(Journal.Defect)
    /// The file was there, whole.
    case alreadyComplete
    /// On with the next mirror, because of that.
    case mirror(DownloadError)
}

/// How a download ended.
package enum DownloadOutcome: Hashable, Sendable {
    case done(path: String)
    /// The partial's path if one was kept.
    case failed(DownloadError, partialPath: String?)
    case cancelled(partialPath: String?)
}

/// Where bytes that arrived belong.
package struct Placement: Hashable, Sendable {
    /// How many of them, at the start, are there already.
    package var skip = 0
    /// How many of them, after those, are to be written. What is left over is not wanted.
    package var count = 0
    /// Where the first of the `count` goes.
    package var offset: Int64 = 0
    /// What to do after these bytes were taken.
    package var actions: [DownloadAction] = []
}
