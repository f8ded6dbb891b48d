// Wherry: transfers that are started now and awaited later.
// SPDX-License-Identifier: Apache-2.0

extension Client {
    /// Starts a request, to follow its progress and steer it.
    ///
    /// - Throws: what is known at once; then nothing has started.
    public func start(
        _ request: Request, decisions: Decisions? = nil
    ) throws(WherryError) -> TransferHandle<Response> {
        var request = request
        request.set(.wantProgress, 1)
        let events = TransferEvents(self.decisions(decisions, for: &request))
        let transfer = try send(request, observer: events)
        return TransferHandle(transfer, events) { outcome throws(WherryError) in
            try outcome.response()
        }
    }
}
