// Wherry: the lifecycle of an exchange in the loop.
// SPDX-License-Identifier: Apache-2.0

internal import CCurl
import WherrySystem

extension CurlLoop {
    func read(_ messages: [Message]) {
        for message in messages {
            switch message {
            case .start(let exchange): submit(exchange)
            case .cancel(let exchange):
                let error = TransportError(.cancelled, "The transfer was cancelled")
                switch exchange.state.phase {
                case .waiting:
                    queue.remove(exchange)
                    finishUnstarted(exchange, error)
                case .active: finish(exchange, error: error)
                case .idle, .finished: break
                }
            case .setPaused(let exchange, let paused): setPaused(exchange, paused)
            case .setPriority(let exchange, let priority):
                queue.setPriority(of: exchange, to: priority)
            case .continueReceiving(let exchange):
                guard exchange.state.phase == .active, exchange.state.holdsReceiving else { break }
                exchange.state.holdsReceiving = false
                applyHolds(exchange)
            case .continueSending(let exchange):
                guard exchange.state.phase == .active, exchange.state.holdsSending else { break }
                exchange.state.holdsSending = false
                applyHolds(exchange)
            case .decide(let exchange, let disposition):
                guard exchange.state.phase == .active, exchange.isUndecided else { break }
                decide(exchange, disposition)
            case .schedule(let time, let body):
                timers.append((time, body))
                nextSweep = min(nextSweep, time)
            case .tell(let listener): listeners.append(listener)
            case .limits(let perHost, let total):
                queue.setLimits(perHost: perHost, total: total)
                setConnectionCache()
                startWaiting()
            case .rate(let rate):
                queue.setRate(rate)
                startWaiting()
            case .lookAgain: now = clock.now()
            }
        }
    }

    func setConnectionCache() {
        ccurl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, max(64, queue.total))
        // libcurl must not limit the exempt exchanges either.
        ccurl_multi_set_long(multi, CURLMOPT_MAX_HOST_CONNECTIONS, queue.perHost + queue.exempt)
    }

    func submit(_ exchange: Exchange) {
        guard exchange.state.phase == .idle else { return }
        exchange.state.submitted = now
        if let refusal { return finishUnstarted(exchange, refusal) }
        // Do not send a request whose response would arrive too late.
        guard exchange.request.deadline > now else {
            return finishUnstarted(exchange, exchange.timeoutError(.totalTimeout))
        }
        if queue.isLimited { queue.advance(to: now) }
        guard queue.admit(exchange) else {
            if exchange.request.admission == .onlyIfFree {
                queue.remove(exchange)
                let host = exchange.request.url.origin.text
                return finishUnstarted(
                    exchange, TransportError(.busy, "Every connection to \(host) is in use"))
            }
            exchange.state.phase = .waiting
            exchange.receiver.exchangeMustWait(exchange)
            nextSweep = min(nextSweep, exchange.request.deadline)
            // There may be a token now, for an exchange further ahead in the queue.
            if queue.isLimited { startWaiting() }
            return
        }
        begin(exchange)
    }

    func begin(_ exchange: Exchange) {
        if exchange.request.admission == .always { setConnectionCache() }
        exchange.state.phase = .active
        exchange.state.index = active.count
        exchange.state.started = now
        active.append(exchange)
        guard let easy = pool.popLast() ?? CurlEasy(loop: self) else {
            return finish(
                exchange, error: TransportError(.noMemory, "Not enough memory for a request"))
        }
        exchange.state.easy = easy
        exchange.state.lastActivity = now
        exchange.state.stallStart = now
        exchange.receiver.exchangeDidStart(exchange)
        if let error = easy.prepare(exchange) { return finish(exchange, error: error) }
        addHandle(of: exchange, easy)
    }

    private func addHandle(of exchange: Exchange, _ easy: CurlEasy) {
        exchange.state.isSent = easy.isGivenWhole
        let code = easy.add()
        guard code == CURLM_OK else {
            let text = String(cString: curl_multi_strerror(code))
            return finish(
                exchange,
                error: TransportError(.internal, "libcurl did not accept the request: \(text)"))
        }
        noteDeadline(of: exchange)
    }

    func startWaiting() {
        // An exchange that fails at once must not start the next one recursively.
        guard !isStarting, !ProcessExit.hasBegun else { return }
        isStarting = true
        if queue.isLimited { queue.advance(to: now) }
        while let exchange = queue.next() { begin(exchange) }
        isStarting = false
        if queue.isLimited { nextSweep = min(nextSweep, queue.nextOpening) }
    }

    /// Records the HTTP version of a response that has begun, which determines the capacity of its
    /// host. Called by libcurl, which accepts no new handles at that moment.
    func noteResponse(of exchange: Exchange, isMultiplexed: Bool) {
        if queue.note(exchange, isMultiplexed: isMultiplexed) { hasNewRoom = true }
    }

    func setPaused(_ exchange: Exchange, _ paused: Bool) {
        guard exchange.state.isPaused != paused else { return }
        exchange.state.isPaused = paused
        switch exchange.state.phase {
        case .active:
            if paused { flush(exchange) }
            applyHolds(exchange)
        case .waiting:
            queue.pauseChanged(exchange)
            if !paused { startWaiting() }
        case .idle, .finished: break
        }
    }

    /// Continues with a response whose body was waiting.
    private func decide(_ exchange: Exchange, _ disposition: BodyDisposition) {
        guard let easy = exchange.state.easy else { return }
        exchange.state.disposition = disposition
        exchange.state.holdsReceiving = false
        guard easy.takeUpBody(of: exchange) else {
            return finish(exchange, error: exchange.state.failure)
        }
        applyHolds(exchange)
    }

    /// Pauses or resumes each direction of the transfer in libcurl.
    func applyHolds(_ exchange: Exchange) {
        guard let easy = exchange.state.easy else { return }
        if !exchange.state.isPaused && !exchange.state.holdsReceiving {
            guard easy.resumeDecoding(exchange) else {
                return finish(exchange, error: exchange.state.failure)
            }
        }
        if let result = exchange.state.curlResult {
            if exchange.state.decoder?.isHeld != true, !exchange.isUndecided {
                end(exchange, CURLcode(UInt32(result)))
            }
            return
        }
        var mask = CURLPAUSE_CONT
        if exchange.state.isPaused || exchange.state.holdsReceiving || exchange.state.isThrottled {
            mask |= CURLPAUSE_RECV
        }
        if exchange.state.isPaused || exchange.state.holdsSending { mask |= CURLPAUSE_SEND }
        guard !ProcessExit.hasBegun else { return }
        exchange.state.lastActivity = now
        exchange.restartStallWindow(at: now)
        noteDeadline(of: exchange)
        let code = curl_easy_pause(easy.handle, mask)
        // libcurl returns this error before it has a connection; the callbacks will then pause it.
        if code == CURLE_BAD_FUNCTION_ARGUMENT { return }
        if code != CURLE_OK, exchange.state.phase == .active {
            finish(exchange, error: exchange.state.failure ?? easy.error(code))
        }
    }

    func harvest() {
        var code = CURLE_OK
        while let handle = ccurl_multi_next_done(multi, &code) {
            var context: UnsafeMutableRawPointer?
            guard ccurl_get_pointer(handle, &context) == CURLE_OK, let context else { continue }
            let easy = Unmanaged<CurlEasy>.fromOpaque(context).takeUnretainedValue()
            guard let exchange = easy.exchange else { continue }
            if exchange.state.beginsAnew
                || code != CURLE_OK
                    && (easy.mayBeginAnew(exchange) || easy.mayRetryLost(exchange, code))
            {
                restart(exchange, easy)
                continue
            }
            if easy.lacksDescriptor(code), postpone(exchange, easy) { continue }
            let isWaiting = exchange.isUndecided && code == CURLE_OK
            if exchange.state.decoder?.isHeld == true || isWaiting, exchange.state.failure == nil {
                // The receiver gets the rest first, when it has room.
                exchange.state.curlResult = Int32(code.rawValue)
                continue
            }
            end(exchange, code)
        }
    }

    /// Restarts on another connection, after one that had stray bytes, or after many dropped
    /// connections.
    private func restart(_ exchange: Exchange, _ easy: CurlEasy) {
        exchange.state.beginsAnew = false
        exchange.state.restarts += 1
        curl_multi_remove_handle(multi, easy.handle)
        if exchange.state.hasGoneOut, easy.seek(0, SEEK_SET) != Int32(CCURL_SEEK_OK) {
            return finish(
                exchange,
                error: TransportError(
                    .reset,
                    "Lost the connection to \(exchange.request.url.origin.text), and the request body cannot be sent again"
                ))
        }
        if let error = easy.prepare(exchange) { return finish(exchange, error: error) }
        addHandle(of: exchange, easy)
    }

    /// Postpones a connection while the process has no free descriptor for its socket; other
    /// transfers will release theirs.
    ///
    /// - Returns: `false` if the connect timeout has expired.
    private func postpone(_ exchange: Exchange, _ easy: CurlEasy) -> Bool {
        let connect = exchange.request.timeouts.connect
        let limit = connect > 0 ? connect : .milliseconds(10_000)
        guard exchange.state.failure == nil, now.since(exchange.state.started) < limit else {
            return false
        }
        curl_multi_remove_handle(multi, easy.handle)
        let until = now.advanced(by: .milliseconds(50))
        exchange.state.postponedUntil = until
        exchange.state.lastActivity = now
        nextSweep = min(nextSweep, until)
        return true
    }

    /// Retries the connection of a postponed exchange.
    func reconnect(_ exchange: Exchange) {
        guard exchange.state.phase == .active, let easy = exchange.state.easy else { return }
        exchange.state.postponedUntil = nil
        exchange.state.openedAddresses = 0
        exchange.state.lacksDescriptor = false
        exchange.state.lastActivity = now
        if let error = easy.prepare(exchange) { return finish(exchange, error: error) }
        addHandle(of: exchange, easy)
    }

    /// Completes an exchange that libcurl has completed.
    func end(_ exchange: Exchange, _ code: CURLcode) {
        guard let easy = exchange.state.easy else { return }
        var error = exchange.state.failure
        // If the body is not needed, its failure does not matter: the response headers have
        // arrived.
        let isWhole = code == CURLE_OK || easy.hasWholeEarlyResponse(exchange, code)
        if error == nil, !isWhole, !exchange.isDiscarding { error = easy.error(code) }
        exchange.state.hasWholeBody = error == nil && isWhole
        exchange.state.mayLackData = easy.mayLackData(exchange)
        if error == nil && exchange.state.head == nil {
            error = TransportError(.badProtocol, "The connection ended without a response")
        }
        finish(exchange, error: error)
    }

    /// Delivers the eager chunks collected while the sockets were read, and reports the growth of
    /// shared bodies.
    func flush() {
        guard !eager.isEmpty else { return }
        let exchanges = eager
        eager.removeAll(keepingCapacity: true)
        for exchange in exchanges {
            exchange.state.isListed = false
            flush(exchange)
            exchange.tellCollected()
        }
    }

    /// Delivers an incomplete chunk a second after its first byte, so that a failure does not lose the
    /// bytes of a slow or stalled stream (DR20).
    func deliverIncompleteChunk(of exchange: Exchange) {
        guard case .deliver(_, eager: false) = exchange.state.disposition,
            exchange.state.piece.count > 0
        else { return }
        let due = exchange.state.pieceStart.advanced(by: Exchange.chunkDelay)
        if now < due {
            nextSweep = min(nextSweep, due)
        } else if exchange.mayDeliver() {
            flush(exchange)
        } else {
            nextSweep = min(nextSweep, now.advanced(by: Exchange.chunkDelay))
        }
    }

    func flush(_ exchange: Exchange) {
        guard exchange.state.piece.count > 0 else { return }
        if case .deliver(_, eager: false) = exchange.state.disposition {
            exchange.state.pieceCapacity -= exchange.state.piece.count
        }
        exchange.deliver(exchange.state.piece.take())
    }

    func finish(_ exchange: Exchange, error: TransportError?) {
        guard exchange.state.phase == .active else { return }
        exchange.state.phase = .finished
        let last = active.removeLast()
        if last !== exchange {
            active[exchange.state.index] = last
            last.state.index = exchange.state.index
        }
        var result = ExchangeResult()
        result.error = error
        result.metrics.queued = exchange.state.started.since(exchange.state.submitted) / 1000
        queue.leave(exchange)
        if exchange.request.admission == .always { setConnectionCache() }
        if let easy = exchange.state.easy {
            if easy.hasRun {
                let queued = result.metrics.queued
                result.metrics = easy.metrics()
                result.metrics.resends = exchange.state.resends
                result.metrics.queued = queued
                easy.noteGivenBody(exchange)
                if exchange.state.decoding == .curl {
                    exchange.setReceivedOnWire(easy.offset(CURLINFO_SIZE_DOWNLOAD_T))
                }
            }
            if !ProcessExit.hasBegun { curl_multi_remove_handle(multi, easy.handle) }
            easy.detach()
            exchange.state.easy = nil
            // libcurl keeps the errno of a failure, and would report it for a later failure without
            // one.
            if pool.count < 256, easy.long(CURLINFO_OS_ERRNO) == 0 { pool.append(easy) }
        }
        complete(exchange, &result)
        startWaiting()
        if active.isEmpty { blocks.freeAll() }
    }

    func complete(_ exchange: Exchange, _ result: inout ExchangeResult) {
        if result.error == nil { result.error = codingError(of: exchange) }
        flush(exchange)
        result.head = exchange.state.head
        result.body = exchange.state.collected.take()
        result.isComplete = exchange.state.hasWholeBody && exchange.isGathering
        switch exchange.state.decoding {
        case .ours, .curl: result.isDecoded = true
        case .none, .impossible: break
        }
        if let head = result.head, result.error == nil {
            // close_notify proves that the peer, not an attacker on the network, ended the
            // connection.
            let isClosedByPeer = exchange.state.tlsConnection.map {
                closedByPeer.remove($0) != nil
            }
            let endsWithConnection =
                exchange.request.url.origin.isSecure
                && head.httpVersion < 20 && !exchange.state.hasLength && isClosedByPeer != true
            result.isLengthUnverified = endsWithConnection || exchange.state.mayLackData
        }
        exchange.state.decoder = nil
        exchange.receiver.exchange(exchange, didFinish: result)
    }

    /// Returns the error of a compressed body that is or may be truncated (SEC-R3).
    private func codingError(of exchange: Exchange) -> TransportError? {
        if let decoder = exchange.state.decoder, decoder.bytesIn > 0 {
            do { try decoder.finish() } catch {
                return TransportError(
                    .badEncoding, "Could not decode the body: \(error.message)")
            }
        }
        // libcurl accepts everything that it could decode as complete, wherever the connection
        // ended.
        if exchange.state.decoding == .curl, !exchange.state.hasLength,
            let head = exchange.state.head, head.httpVersion < 20, exchange.receivedOnWire > 0
        {
            return TransportError(
                .badEncoding,
                "The body may be truncated: it has no length, and its content coding does not mark its end. Request gzip instead."
            )
        }
        return nil
    }

    func finishUnstarted(_ exchange: Exchange, _ error: TransportError) {
        exchange.state.phase = .finished
        exchange.refuse(error)
    }
}
