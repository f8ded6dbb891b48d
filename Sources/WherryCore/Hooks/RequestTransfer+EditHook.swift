// Wherry: the callback that edits or signs a request before each attempt.
// SPDX-License-Identifier: Apache-2.0

import WherryRequests
import WherrySystem
import WherryTransport

extension RequestTransfer.State {
    /// A hop before a callback edited it. Every attempt starts from this request, so that an edit,
    /// such as a signature in the URL, is not applied twice.
    struct Unedited {
        let request: Request
        let method: String
        let body: PreparedBody
        let lostBody: Bool
        /// Whether an edit replaced the body.
        var isBodyReplaced = false
    }

    /// Reverts the edits of earlier attempts at this hop.
    mutating func forgetEdits() {
        guard let unedited else { return }
        edited = unedited.request
        follower.method = unedited.method
        restoreBody()
        self.unedited = nil
    }

    /// Restores a body that an edit replaced. The restored body was not sent in this hop.
    mutating func restoreBody() {
        guard let before = unedited, before.isBodyReplaced else { return }
        body = before.body
        lostBody = before.lostBody
        isDigested = false
        unedited?.isBodyReplaced = false
    }
}

extension RequestTransfer {
    /// Passes the request of the next attempt to the program, if it wants to edit requests, then
    /// sends the request.
    func ask() {
        guard decisions.contains(.adapt) else { return send(wake: .now) }
        let (own, preview) = makePreview()
        let isEdited = hops.withLock { $0.unedited != nil }
        put(.adapt(preview.request)) { [self] answer in
            switch answer {
            case .standard, .follow, .credentials, .store, .again, .save, .token, .next, .stop, .fail:
                // An earlier attempt may have been edited.
                resume { isEdited ? self.adapt(own, from: own) : self.proceed() }
            case .adapted(let request):
                note(.debug, .adapted, [.everybody("Adapted request:\(shortDescription)")])
                resume { self.adapt(request.ownForm, from: own) }
            case .refuse(let message): refuse(message)
            }
        }
    }

    /// Returns the request of the next attempt, as the transfer keeps it and as the program sees
    /// it.
    private func makePreview() -> (own: Request, RequestPreview) {
        hops.withLock { state in
            let own = state.unedited?.request ?? state.edited ?? request
            let body = state.unedited?.isBodyReplaced == true ? state.unedited?.body : state.body
            let method = state.unedited?.method ?? state.follower.method
            var options = planning(own)
            if state.follower.isRedirected { options[.defaultParameters] = 0 }
            var url = state.follower.url
            if state.unedited != nil {
                let unedited = try? RequestPlanner.url(
                    of: own, method: method, settings: settings, options: options)
                url = unedited ?? url
            }
            let fields = RequestPlanner.previewFields(
                of: own, contentType: body?.contentType, settings: settings,
                crossOrigin: state.follower.isCrossOrigin, added: state.redirectFields, lostBody: state.lostBody)
            let preview = RequestPreview(
                own, method: method, url: url, headers: fields, settings: settings,
                options: options)
            return (own, preview)
        }
    }

    /// Returns the options for planning a request. An edit may leave out the default parameters.
    private func planning(_ request: Request) -> OptionTable {
        var options = options
        options[.defaultParameters] =
            request.value(of: .defaultParameters) ?? Option.defaultParameters.defaultValue
        return options
    }

    /// Applies an edited request, then continues.
    ///
    /// - Parameter own: The request before the edits of this and earlier attempts.
    private func adapt(_ edited: Request, from own: Request) {
        do {
            let method = edited.effectiveMethod
            try RequestPlanner.check(method: method, body: edited.body)
            let isRedirected = hops.withLock { $0.follower.isRedirected }
            // The URL of a redirect already contains the parameters, and a kept body is already
            // prepared.
            var options = planning(edited)
            if isRedirected { options[.defaultParameters] = 0 }
            let url = try RequestPlanner.url(
                of: edited, method: method, settings: settings, options: options)
            let keepsBody = stream != nil || edited.hasImages
                || (isRedirected && !edited.body.replaces(own.body))
            let body = keepsBody
                ? nil
                : try UploadEngine.body(
                    of: edited, method: method, settings: settings, options: options,
                    workers: client.workers)
            let isLate = hops.withLock { $0.hasLooked }
            if !isLate, caching != nil || edited.caching != nil {
                caching = try client.transferCaching(edited, method: method, settings: settings)
            }
            hops.withLock { state in
                if isLate { state.isEditedLate = true }
                state.fallbackCache = nil
                if state.unedited == nil {
                    state.unedited = State.Unedited(
                        request: own, method: state.follower.method, body: state.body,
                        lostBody: state.lostBody)
                }
                let isOther = !edited.hasSameCredentials(state.edited ?? request)
                state.edited = edited
                state.follower.retarget(url, method: method, options: options)
                if isOther { state.follower.changeCredentials(to: edited, settings) }
                guard let body else { return state.restoreBody() }
                state.body = body
                state.isDigested = false
                state.lostBody = false
                state.unedited?.isBodyReplaced = true
            }
            proceed()
        } catch {
            end(TransferOutcome(error: error))
        }
    }
}
