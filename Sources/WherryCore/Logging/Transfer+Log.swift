// Wherry: log records of transfers, in SJNetwork's wording if it has one.
// SPDX-License-Identifier: Apache-2.0

import Synchronization
import WherryCache
import WherryHTTP
import WherryLogging
import WherryRequests
import WherrySystem
import WherryTransport

extension Client {
    /// Logs an event that belongs to no transfer.
    package func note(
        _ level: LogLevel, _ event: LogRecord.Event, _ lines: @autoclosure () -> [LogRecord.Line],
        _ change: (inout LogRecord) -> Void = { _ in }
    ) {
        guard log.isOn(level) else { return }
        var record = LogRecord(level, event, at: transport.clock.wallSeconds(), lines())
        change(&record)
        log.write(record)
    }

    /// Logs a call that failed and started nothing.
    func noteRefused(_ error: WherryError, _ request: Request) {
        note(.error, .refused, [.everybody(Self.refusal(error, request))]) { record in
            record.method = request.effectiveMethod
            record.url = HTTPURL.redacted(request.url)
            record.reason = error.reason
            record.error = error
        }
    }

    private static func refusal(_ error: WherryError, _ request: Request) -> String {
        switch error.reasonWord {
        case .noImages: "Upload image failed:There is no image to upload!"
        case .alreadyRunning:
            "Download request can not be started, since there is a task with the same download url:\(HTTPURL.redacted(request.url))"
        default:
            request.url.isEmpty
                ? "The input url is an empty string!"
                : "Request can not be started:\(error.reason): \(error.message)"
        }
    }

    /// Logs a pause, resume or cancel that matched no transfer.
    func noteNothing(to verb: String, _ match: TransferMatch) {
        guard log.isOn(.debug) else { return }
        let isEmpty =
            switch match {
            case .url(let url): url.isEmpty
            case .urls(let urls): urls.allSatisfy(\.isEmpty)
            default: false
            }
        note(
            .debug, .refused,
            [
                .everybody(
                    isEmpty ? "The input url is an empty string!" : "There is no task to \(verb)")
            ])
    }
}

extension Transfer {
    /// "<Request: 12>".
    package final var shortDescription: String { "<\(noun): \(id)>" }

    final var noun: String {
        switch kind {
        case .request: "Request"
        case .upload: "Upload"
        case .download: "Download"
        case .group: "Group"
        }
    }

    /// Logs an event of this transfer, if a sink wants it.
    package final func note(
        _ level: LogLevel, _ event: LogRecord.Event, _ lines: @autoclosure () -> [LogRecord.Line],
        _ change: (inout LogRecord) -> Void = { _ in }
    ) {
        guard client.log.isOn(level) else { return }
        client.note(level, event, lines()) { record in
            record.transferID = id
            record.method = method
            record.url = url
            change(&record)
        }
    }

    /// The client's current rules for redaction.
    package final var secrets: Secrets { client.settings.secrets }

    // MARK: Start

    /// Logs the first use of the network.
    ///
    /// - Parameters:
    ///   - shown: The URL with its query.
    ///   - fields: The request headers that the program set.
    func noteStart(_ shown: String, _ fields: [(name: String, value: String?)]) {
        guard client.log.isOn(.info) else { return }
        let secrets = secrets
        for field in fields {
            guard let value = field.value else { continue }
            let text = "added header:key:\(field.name) value:\(secrets.field(field.name, value))"
            note(.debug, .header, [.everybody(text)])
        }
        let full = secrets.text(shown)
        switch kind {
        case .request:
            note(
                .info, .started,
                [
                    .everybody("Start requesting..."), .brief("url:\(url)"), .debug("url:\(full)"),
                    .everybody("method:\(method)"), .debug("parameters:\(shownParameters)"),
                ])
        case .upload:
            note(
                .info, .started,
                [
                    .brief("Start upload request with url:\(url)..."),
                    .debug("Start upload request with url:\(full)..."),
                ])
        case .download:
            note(
                .info, .started,
                [
                    .everybody("start downloading:"), .brief("url:\(url)"), .debug("url:\(full)"),
                    .everybody("downloadPath:\(path ?? "")"),
                ]
            ) { $0.path = path }
        case .group: note(.info, .started, [.everybody("Start group:\(shown)")])
        }
    }

    /// The parameters as JSON; "(null)" if there are none.
    final var shownParameters: String {
        let parameters =
            kind == .download
            ? request.parameters : RequestPlanner.merged(request, settings, options)
        guard !parameters.isEmpty else { return "(null)" }
        return secrets.json(.object(parameters)).description
    }

    /// Logs an attempt.
    func noteSent(_ exchange: Exchange, attempt: Int) {
        note(
            .debug, .sent,
            [
                .everybody(
                    "Sending \(exchange.request.method) \(secrets.text(exchange.request.url.text))")
            ]
        ) { $0.count = Int64(attempt) }
    }

    /// Logs the headers of a response.
    func noteHead(_ head: ResponseHead) {
        guard client.log.isOn(.debug) else { return }
        let secrets = secrets
        // Informational responses came first.
        for head in head.interim + [head] {
            let fields = head.fields.map { field in
                LogRecord.Line.everybody("\(field.name): \(secrets.field(field.name, field.value))")
            }
            note(
                .debug, .headers, [.everybody("Did received response:\(head.status)")] + fields
            ) { $0.status = head.status }
        }
    }

    /// Logs a redirect.
    func noteRedirect(from old: String, status: Int, to new: String, isCounted origin: Origin?) {
        client.counters.count(origin) { $0.redirected += 1 }
        note(
            .info, .redirected,
            [
                .brief("Redirected:\(status) to \(HTTPURL.redacted(new))"),
                .debug("Redirected:\(status) from \(secrets.text(old)) to \(secrets.text(new))"),
            ]
        ) { record in
            record.status = status
            record.url = HTTPURL.redacted(old)
        }
    }

    // MARK: Progress

    /// Logs an event that the observer also receives.
    final func note(_ event: TransferEvent) {
        switch event {
        case .state(let state, let reason): note(state, reason)
        case .progress(let progress):
            note(.debug, .progressed, [.everybody(Self.text(of: progress, kind))]) {
                $0.count = progress.completed
            }
        case .image(let image): note(image)
        case .cached(let response): noteHit(response)
        case .hook(let call):
            note(.debug, .hook, [.everybody("Calling the hook:\(Self.name(of: call))")])
        default: break
        }
    }

    private static func text(of progress: Progress, _ kind: Kind) -> String {
        if kind == .group { return "Group progress:\(progress.ended) of \(progress.count) members" }
        let word = kind == .upload ? "Upload image" : kind == .download ? "Download" : "Request"
        let total = progress.total.map { " of \($0)" } ?? ""
        return "\(word) progress:\(progress.completed)\(total) bytes"
    }

    private static func name(of call: HookCall) -> String {
        if case .adapt = call.kind { return "adapt" }
        if case .redirect = call.kind { return "redirect" }
        if case .store = call.kind { return "store" }
        if case .headers = call.kind { return "headers" }
        if case .retry = call.kind { return "retry" }
        if case .token = call.kind { return "token" }
        if case .credentials = call.kind { return "credentials" }
        if case .next = call.kind { return "next" }
        if case .respond = call.kind { return "respond" }
        return "hook \(call.kind.set.rawValue)"
    }

    private func note(_ state: TransferState, _ reason: ErrorReason?) {
        switch state {
        case .paused:
            wasToldSuspended.store(true, ordering: .relaxed)
            note(.info, .suspended, [.everybody("Suspended request:\(shortDescription)")])
        case .waiting where kind != .download && reason != nil:
            break  // Logged with its hook.
        case .waiting where reason != nil:
            note(
                .warning, .retried,
                [.everybody("Request will be sent again, reason:\(reason?.rawValue ?? "")")]
            ) { $0.reason = reason?.rawValue }
        case .restarted:
            note(
                .warning, .restarted,
                [.everybody("Download begins again, reason:\(reason?.rawValue ?? "")")]
            ) { $0.reason = reason?.rawValue }
        case .verifying:
            note(.debug, .verifying, [.everybody("Verifying download file path:\(path ?? "")")])
        case .queued, .running, .waiting:
            guard let reason else {
                guard wasToldSuspended.exchange(false, ordering: .relaxed) else { return }
                return note(
                    .info, .resumed, [.everybody("Resumed request: \(shortDescription)")])
            }
            // A download that continues with another mirror or without its partial file.
            note(.warning, .retried, [.everybody("Request goes on, reason:\(reason.rawValue)")]) {
                $0.reason = reason.rawValue
            }
        case .done, .failed, .cancelled, .interrupted: break
        }
    }

    private func note(_ image: ImageOutcome) {
        let text =
            image.error.map { "Image \(image.fileName) can not be uploaded:\($0.message)" }
            ?? "Image \(image.fileName): \(image.originalBytes) bytes, \(image.encodedBytes) to send"
        note(image.error == nil ? .debug : .warning, .image, [.everybody(text)]) { record in
            record.count = Int64(image.index)
            record.reason = image.error?.reason
            record.error = image.error
        }
    }

    /// Logs a retry of a part.
    final func noteRetry(_ error: WherryError?) {
        client.counters.count(origin) { $0.retried += 1 }
        note(
            .warning, .retried,
            [.everybody("Request will be sent again, reason:\(error?.reason ?? "")")]
        ) { $0.reason = error?.reason }
    }

    /// Logs a pause, resume or cancel that had no effect.
    final func noteIdle(_ verb: String) {
        note(
            .debug, .refused,
            [
                .everybody(
                    verb == "suspend"
                        ? "Request \(shortDescription) can not be suspended, since it is not running"
                        : "Can not resume request: \(shortDescription), since it is not suspended")
            ])
    }

    // MARK: Caches

    /// Logs a cache hit.
    func noteHit(_ response: Response) {
        note(.debug, .hit, [.everybody("Load cache succeed:\(response.body.count) bytes")]) {
            $0.status = response.status
        }
    }

    /// Logs why the timed cache has no usable response (L3).
    func noteMiss(_ refusal: TimedRefusal, asksNetwork: Bool) {
        guard client.log.isOn(.debug) else { return }
        func missed(_ text: String) {
            note(.debug, .missed, [.everybody(text)]) { $0.reason = refusal.rawValue }
        }
        let cause: String? =
            switch refusal {
            case .expired, .clock: "Cache is expired"
            case .duration: "Did not set duration time"
            case .appVersion: "Failed to match app version"
            case .cacheVersion: "Failed to match cache version"
            case .missing, .damaged: nil
            }
        if let cause {
            missed("Load cache info failed, reason:\(cause), begin to clear cache...")
            missed("Load cache failed: Cache info is invalid")
        } else {
            missed(
                refusal == .missing
                    ? "Load cache failed: Cache info does not exist"
                    : "Load cache failed: Cache data is missing")
        }
        if asksNetwork { missed(Self.asksNetwork) }
    }

    static var asksNetwork: String { "Failed to load cache, start to sending network request..." }

    /// Logs that the caches are not used.
    func noteBypass() {
        note(
            .debug, .bypassed,
            [.everybody("Do not need to load cache, start sending network request...")])
    }

    func noteUnstored() {
        note(.warning, .unstored, [.everybody("Write cache failed!")])
    }

    // MARK: End

    /// Logs the end of the transfer and updates the counters.
    final func noteEnd(_ outcome: TransferOutcome) {
        if !observer.isPart, kind != .group {
            let isHit = outcome.response.map { $0.isFromCache && !$0.isRevalidated } ?? false
            client.counters.count(origin) { counters in
                switch outcome.state {
                case .done: counters.succeeded += 1
                case .cancelled: counters.cancelled += 1
                default: counters.failed += 1
                }
                if isHit { counters.cacheHits += 1 }
            }
        }
        guard client.log.isOn(.error) else { return }
        if let error = outcome.error {
            noteFailure(error, outcome)
        } else {
            noteSuccess(outcome)
        }
    }

    private func noteSuccess(_ outcome: TransferOutcome) {
        guard client.log.isOn(.info) else { return }
        let response = outcome.response
        let what = "\(response?.status ?? 0), \(response?.body.count ?? 0) bytes"
        var lines: [LogRecord.Line]
        switch kind {
        case .request where self is ImageTransfer:
            let pixels = (self as? ImageTransfer)?.pixels
            let size = "\(pixels?.width ?? 0)x\(pixels?.height ?? 0)"
            lines = [
                .everybody("Image load succeed:\(size) pixels"),
                .brief("Request url:\(url)"),
            ]
        case .request:
            let isStored = response.map { $0.isFromCache && !$0.isRevalidated } ?? false
            lines = [
                .everybody(isStored ? "Request succeed by loading Cache!" : "Request succeed!"),
                .brief("Request url:\(url)"),
                .debug("Request url:\(secrets.text(response?.url ?? url))"),
                .everybody("Response object:\(what)"),
            ]
        case .upload:
            let names = images.filter { $0.error == nil }.map(\.fileName).joined(separator: ", ")
            lines = [.everybody("Upload image request succeed:\(what)")]
            if !names.isEmpty { lines.append(.everybody("Successfully uploaded images:\(names)")) }
        case .download:
            if let path = outcome.path {
                note(.info, .moved, [.everybody("Move download file succeed:\(path)")]) {
                    $0.path = path
                }
            }
            lines = [.everybody("Download succeed,download file path:\(outcome.path ?? "")")]
        case .group: lines = [.everybody("Group succeed:\(shortDescription)")]
        }
        note(.info, .succeeded, lines) { Self.fill(&$0, outcome) }
    }

    private func noteFailure(_ error: WherryError, _ outcome: TransferOutcome) {
        let secrets = secrets
        let text = "\(error.reason): \(secrets.text(error.message))"
        if error.code == .cancelled {
            return note(
                .info, .cancelled, [.everybody("Canceled request:\(shortDescription) \(text)")]
            ) { Self.fill(&$0, outcome) }
        }
        let lines: [LogRecord.Line]
        switch kind {
        case .request:
            lines = [
                .everybody("Request failed!"), .everybody("Request model:\(shortDescription)"),
                .everybody("Error object:\(text)"), .everybody("Status code:\(error.httpStatus)"),
            ]
        case .upload:
            let names = error.failedImages.map(\.fileName).joined(separator: ", ")
            lines = [
                .everybody("Upload images request failed:"), .everybody("error:\(text)"),
                .everybody("status code:\(error.httpStatus)"), .everybody("failed images:\(names)"),
            ]
        case .download:
            lines = [
                .everybody("Download failed,download file path:\(path ?? "")"),
                .everybody("Error object:\(text)"),
            ]
        case .group:
            lines = [
                .everybody("Group failed:\(shortDescription)"), .everybody("Error object:\(text)"),
            ]
        }
        note(.error, .failed, lines) { Self.fill(&$0, outcome) }
    }

    private static func fill(_ record: inout LogRecord, _ outcome: TransferOutcome) {
        record.status = outcome.response?.status ?? outcome.error?.httpStatus ?? 0
        record.count = Int64(outcome.response?.body.count ?? 0)
        record.path = outcome.path ?? outcome.error?.partialPath
        record.metrics = outcome.response?.metrics
        record.reason = outcome.error?.reason
        record.error = outcome.error
    }
}

extension RequestTransfer {
    /// Logs an exchange passed to the transport; the first one is the start of the transfer.
    func noteLaunch(_ exchange: Exchange) {
        if caching == nil, kind == .request { noteBypass() }
        noteStart(exchange.request.url.text, exchange.request.headers.fields)
    }

    /// Logs a stored response; after the end of the request, as in SJNetwork (L3).
    func noteStored(_ bytes: Int, identifier: String, seconds: Int64?) {
        guard client.log.isOn(.debug) else { return }
        var lines: [LogRecord.Line] = [
            .everybody("Write cache succeed!"), .everybody("cache object:\(bytes) bytes"),
        ]
        if !identifier.isEmpty { lines.append(.everybody("Cache identifier:\(identifier)")) }
        if let seconds { lines.append(.everybody("Available duration:\(seconds) seconds")) }
        let record = lines
        work.withLock { $0.stored.append((record, Int64(bytes))) }
    }

    /// Logs the stored response.
    func tellStored() {
        let stored = work.withLock { work in
            defer { work.stored = [] }
            return work.stored
        }
        for (lines, count) in stored {
            note(.debug, .stored, lines) { $0.count = count }
        }
    }
}
