// Wherry: starting a request without awaiting it.
// SPDX-License-Identifier: Apache-2.0

extension Client {
    /// Starts a request, to observe and control it.
    ///
    /// - Throws: Errors that are detected immediately. Nothing has been started in that case.
    public func start(
        _ request: Request, hooks: Hooks? = nil
    ) throws(WherryError) -> TransferHandle<Response> {
        var request = request
        request.set(.wantProgress, 1)
        let events = TransferEvents(self.hooks(hooks, for: &request))
        let transfer = try send(request, observer: events)
        return TransferHandle(transfer, events) { outcome throws(WherryError) in
            try outcome.response()
        }
    }
}
