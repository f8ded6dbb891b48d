// Wherry: one running load of an image.
// SPDX-License-Identifier: Apache-2.0

import Synchronization
import WherryHTTP
import WherrySystem
import WherryTransport

/// A running load of an image. Observes its request for all callers that wait for the image.
final class ImageLoad: TransferObserver, @unchecked Sendable {  // guarded by the lock of `table`
    /// True, since the activity count includes the callers instead.
    var isPart: Bool { true }
    /// True, since callers that join later may want previews.
    var followsBody: Bool { true }
    private let table: ImageLoadTable
    /// `nil` if the load shares neither its request nor its result.
    let address: ImageAddress?
    /// The cache policy, which running loads must share.
    let policy: Int32?
    /// The generation of the client's settings with which the request was planned.
    let generation: UInt64

    var machine = ImageLoadMachine()
    /// The callers that wait, by id.
    var members: [UInt64: ImageTransfer] = [:]
    /// The request; `nil` before the first caller joins, and after the end.
    var leader: RequestTransfer?
    /// The response, until all decodings have ended.
    var response: Response?
    /// The decoders of previews.
    var tracks: [PreviewMachine.Track: PreviewTrack] = [:]
    /// Whether the body is needed for previews; read without the lock.
    let needsBody = Atomic(false)

    init(
        _ table: ImageLoadTable, _ address: ImageAddress?, policy: Int32?, generation: UInt64
    ) {
        self.table = table
        self.address = address
        self.policy = policy
        self.generation = generation
    }

    func transfer(_ transfer: Transfer, did event: TransferEvent) {
        switch event {
        case .done(let outcome): table.requestDidEnd(self, outcome, transfer)
        case .state(let state, let reason):
            // Each caller pauses and resumes separately.
            guard state == .waiting || state == .running else { return }
            for member in table.members(of: self) { member.become(state, reason: reason) }
        case .progress:
            for member in table.members(of: self) where member.options[.wantProgress] == 1 {
                member.emit(event)
            }
        case .hook:
            // One response serves all callers. A caller that prefetches reads no events.
            let members = table.members(of: self)
            (members.first { !$0.isPrefetch } ?? members.first)?.emit(event)
        case .headers, .cached, .body, .wantBody, .image, .preview: break
        }
    }

    func transfer(_ transfer: Transfer, didCollect exchange: Exchange, attempt: Int) {
        guard needsBody.load(ordering: .acquiring) else { return }
        table.bodyDidGrow(self, exchange, attempt: attempt)
    }
}
