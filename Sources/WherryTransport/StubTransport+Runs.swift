// Wherry: performing an exchange in a stub.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// An exchange performed by a stub; used only on the stub's thread.
final class StubRun {
    /// sending -> (asking ->) waiting -> answering. Each stage can also end the exchange.
    enum Stage {
        /// The stub reads the body of the request.
        case sending
        /// The program has the request and has not responded yet.
        case asking
        /// The response is delayed until this time.
        case waiting(until: Instant)
        /// The receiver has the headers and the first `offset` bytes of the body.
        case answering(offset: Int)
    }

    let exchange: Exchange
    let request: StubRequest
    let action: StubAction
    /// The number of the recorded request, if it is recorded.
    let number: Int?
    var stage = Stage.sending
    /// The body of the request, as far as it was read.
    var body = ByteBuffer()
    /// The response; valid from `waiting` on.
    var outcome: StubOutcome

    init(_ exchange: Exchange, _ request: StubRequest, action: StubAction, number: Int?) {
        self.exchange = exchange
        self.request = request
        self.action = action
        self.number = number
        if case .respond(let outcome) = action {
            self.outcome = outcome
        } else {
            outcome = StubOutcome(status: 200, head: "", body: Bytes())
        }
    }
}

extension StubTransport {
    func run(of exchange: Exchange) -> StubRun? { runs.first { $0.exchange === exchange } }

    func begin(_ exchange: Exchange) {
        let request = Self.record(of: exchange.request)
        let (number, action) = script.take(request)
        exchange.state.phase = .active
        exchange.state.started = now
        touch(exchange)
        runs.append(StubRun(exchange, request, action: action, number: number))
        exchange.receiver.exchangeDidStart(exchange)
    }

    /// Returns whether a step would have an effect now.
    func canStep(_ run: StubRun) -> Bool {
        let state = run.exchange.state.phase
        guard state == .active, !run.exchange.state.isPaused else { return false }
        switch run.stage {
        case .sending: return !run.exchange.state.holdsSending
        case .asking: return false
        case .waiting(let time): return time <= now
        case .answering: return !run.exchange.state.holdsReceiving
        }
    }

    /// Returns when a delayed response is due; `nil` if the exchange waits for no time.
    func due(of run: StubRun) -> Instant? {
        guard case .waiting(let time) = run.stage, !run.exchange.state.isPaused else { return nil }
        return time
    }

    /// Performs one step. Pauses and cancellations take effect between steps.
    func step(_ run: StubRun) {
        guard canStep(run) else { return }
        switch run.stage {
        case .sending: send(run)
        case .asking: break
        case .waiting: answer(run)
        case .answering(let offset): receive(run, from: offset)
        }
    }

    // MARK: Request body

    private func send(_ run: StubRun) {
        let exchange = run.exchange
        switch exchange.request.body {
        case .none: sent(run, Bytes())
        case .bytes(let bytes):
            exchange.setSent(Int64(bytes.count))
            script.setBody(bytes, length: Int64(bytes.count), ofRequest: run.number)
            reportProgress(exchange)
            sent(run, bytes)
        case .source(let source):
            var answer = BodyRead.wait
            withUnsafeTemporaryAllocation(byteCount: 65_536, alignment: 1) { buffer in
                answer = source.read(into: buffer, for: exchange)
                if case .bytes(let count) = answer { keep(buffer, count, run) }
            }
            switch answer {
            case .bytes:
                exchange.state.lastActivity = now
                if let length = source.length, exchange.sent > length {
                    finish(run, Self.lengthError(length))
                } else {
                    reportProgress(exchange)
                }
            case .wait: exchange.state.holdsSending = true
            case .failed(let error): finish(run, error)
            case .end:
                if let length = source.length, exchange.sent != length {
                    return finish(run, Self.lengthError(length))
                }
                let body = run.body.take()
                script.setBody(body, length: exchange.sent, ofRequest: run.number)
                sent(run, body)
            }
        }
    }

    private func keep(_ buffer: UnsafeMutableRawBufferPointer, _ count: Int, _ run: StubRun) {
        run.exchange.setSent(run.exchange.sent + Int64(count))
        let room = max(0, StubScript.bodyLimit - run.body.count)
        // If memory runs out, the record is truncated; its length stays correct.
        _ = run.body.append(UnsafeRawBufferPointer(rebasing: buffer[..<min(count, room)]))
    }

    private static func lengthError(_ length: Int64) -> TransportError {
        TransportError(
            .bodySource, "The request body does not have the \(length) bytes announced")
    }

    /// Handles the end of the request: schedules the response, or asks the program.
    private func sent(_ run: StubRun, _ body: Bytes) {
        let exchange = run.exchange
        exchange.state.lastActivity = now
        exchange.state.isSent = true
        guard case .ask(let handler) = run.action else {
            run.stage = .waiting(until: now.advanced(by: run.outcome.delay))
            return
        }
        guard Int64(body.count) == exchange.sent else {
            return finish(run, Self.longBodyError(exchange.sent))
        }
        run.stage = .asking
        var request = run.request
        request.body = body
        request.bodyLength = exchange.sent
        let call = StubCall(request) { [weak self] outcome in
            self?.respond(exchange, outcome)
        }
        if let handler {
            handler(call)
        } else {
            exchange.receiver.exchange(exchange, calls: call)
        }
    }

    private static func longBodyError(_ length: Int64) -> TransportError {
        TransportError(
            .bodySource,
            "The request body of \(length) bytes is too large for the handler of the stub: "
                + "the limit is \(StubScript.bodyLimit) bytes")
    }

    /// Handles the program's response.
    func respond(_ run: StubRun, _ outcome: StubOutcome) {
        guard case .asking = run.stage else { return }
        run.outcome = outcome
        run.stage = .waiting(until: now)
    }

    // MARK: Response

    private func answer(_ run: StubRun) {
        let exchange = run.exchange
        if let failure = run.outcome.failure, run.outcome.body.isEmpty {
            return finish(run, failure)
        }
        let head = ResponseHead(status: run.outcome.status, block: Bytes(run.outcome.head))
        touch(exchange)
        exchange.state.head = head
        if let length = head.contentLength, hasBody(run) { exchange.setExpected(length) }
        run.stage = .answering(offset: 0)
        exchange.state.disposition = exchange.receiver.exchange(exchange, didReceive: head)
        takeUpBody(run, head)
    }

    func decideBody(of exchange: Exchange, _ disposition: BodyDisposition) {
        guard exchange.state.phase == .active, exchange.isUndecided, let run = run(of: exchange),
            let head = exchange.state.head
        else { return }
        exchange.state.disposition = disposition
        exchange.state.holdsReceiving = false
        touch(exchange)
        takeUpBody(run, head)
    }

    private func takeUpBody(_ run: StubRun, _ head: ResponseHead) {
        let exchange = run.exchange
        switch exchange.state.disposition {
        case .abort(let error): finish(run, error)
        case .deliver(let offset, let eager):
            exchange.state.pieceCapacity = Exchange.pieceSize
            if !eager {
                exchange.state.pieceCapacity -= Int(max(0, offset) % Int64(Exchange.pieceSize))
            }
        case .collect(let limit):
            if hasBody(run), let length = head.contentLength, length > limit {
                finish(run, .tooLarge(limit))
            }
        case .wait: exchange.state.holdsReceiving = true
        case .discard, .skim: break
        }
    }

    private func hasBody(_ run: StubRun) -> Bool {
        run.exchange.request.method != "HEAD" && run.outcome.status != 204
            && run.outcome.status != 304
    }

    private func receive(_ run: StubRun, from offset: Int) {
        let exchange = run.exchange
        let body = hasBody(run) ? run.outcome.body : Bytes()
        guard offset < body.count else { return finish(run, run.outcome.failure) }
        var count = body.count - offset
        switch exchange.state.disposition {
        case .collect(let limit):
            guard Int64(body.count) <= limit else { return finish(run, .tooLarge(limit)) }
            guard body.withUnsafeBytes({ exchange.state.collected.append($0) }) else {
                return finish(run, TransportError(.noMemory, "Not enough memory for the body"))
            }
            note(count, run, to: body.count)
        case .deliver:
            guard exchange.mayDeliver() else {
                exchange.state.holdsReceiving = true
                return
            }
            count = min(count, exchange.state.pieceCapacity)
            exchange.state.pieceCapacity = Exchange.pieceSize
            let piece = body.withUnsafeBytes {
                Bytes(copying: UnsafeRawBufferPointer(rebasing: $0[offset..<offset + count]))
            }
            note(count, run, to: offset + count)
            exchange.deliver(piece)
        case .discard: note(count, run, to: body.count)
        case .skim:
            guard body.withUnsafeBytes({ exchange.state.collected.append($0) }) else {
                return finish(run, TransportError(.noMemory, "Not enough memory for the body"))
            }
            note(count, run, to: body.count)
        case .wait: return
        case .abort: note(count, run, to: body.count)
        }
        reportProgress(exchange)
    }

    private func note(_ count: Int, _ run: StubRun, to offset: Int) {
        run.exchange.addReceived(count, wire: count)
        run.exchange.state.lastActivity = now
        run.stage = .answering(offset: offset)
    }

    private func reportProgress(_ exchange: Exchange) {
        guard exchange.request.wantsProgress, now >= exchange.state.nextProgress else { return }
        exchange.state.nextProgress = now.advanced(by: .milliseconds(100))
        exchange.receiver.exchangeDidProgress(exchange)
    }

    // MARK: End

    func finish(_ run: StubRun, _ error: TransportError?) {
        let exchange = run.exchange
        guard exchange.state.phase == .active else { return }
        exchange.state.phase = .finished
        runs.removeAll { $0 === run }
        queue.leave(exchange)
        if case .sending = run.stage, exchange.sent > 0 {
            script.setBody(run.body.take(), length: exchange.sent, ofRequest: run.number)
        }
        var result = ExchangeResult()
        result.head = exchange.state.head
        result.body = exchange.state.collected.take()
        result.error = error
        result.isComplete = error == nil && exchange.isGathering
        result.metrics.queued = exchange.state.started.since(exchange.state.submitted) / 1000
        result.metrics.total = now.since(exchange.state.started) / 1000
        result.metrics.sent = exchange.sent
        result.metrics.received = exchange.receivedOnWire
        if result.head != nil { result.metrics.httpVersion = 11 }
        exchange.receiver.exchange(exchange, didFinish: result)
        startWaiting()
    }

    // MARK: Record

    /// Returns the request with its headers, preceded by those that libcurl would add.
    static func record(of request: ExchangeRequest) -> StubRequest {
        let list = request.headers.fields
        let known = Set(list.map { $0.name.asciiLowercased })
        // A header without a value only stops libcurl from sending its own header.
        let own = list.compactMap { field in field.value.map { (field.name, $0) } }
        var fields: [(name: String, value: String)] = []
        func add(_ name: String, _ value: String) {
            if !known.contains(name.asciiLowercased) { fields.append((name, value)) }
        }
        add("Host", authority(of: request.url))
        for field in request.ownFields { add(field.name, field.value) }
        var length: Int64?
        var isChunked = false
        switch request.body {
        case .none:
            if ["POST", "PUT", "PATCH"].contains(request.method) { length = 0 }
        case .bytes(let bytes): length = Int64(bytes.count)
        case .source(let source):
            length = source.length
            isChunked = length == nil
        }
        if isChunked { add("Transfer-Encoding", "chunked") }
        fields += own
        if let length { add("Content-Length", String(length)) }
        return StubRequest(method: request.method, url: request.url.text, fields: fields)
    }

    /// Returns host and port as written in the URL.
    private static func authority(of url: HTTPURL) -> String {
        let rest = url.text.utf8.dropFirst(url.origin.scheme.utf8.count + 3)
        let end = rest.firstIndex { $0 == 0x2F || $0 == 0x3F } ?? rest.endIndex
        return String(decoding: rest[..<end], as: UTF8.self)
    }
}
