// Wherry: what libcurl calls while it carries out an exchange.
// SPDX-License-Identifier: Apache-2.0

internal import CCurl
import Glibc
import WherrySystem

extension CurlEasy {
    // MARK: The head

    /// One line of a head, with its end. A count other than the one given breaks the exchange off.
    func receiveHeader(_ bytes: UnsafeMutablePointer<CChar>?, _ count: Int) -> Int {
        guard let carried, let bytes, count > 0 else { return 0 }
        // Called ten times for a small answer, so without a reference counted.
        carried._withUnsafeGuaranteedRef { $0.state.lastActivity = loop.now }
        switch head.add(UnsafeRawBufferPointer(start: bytes, count: count)) {
        case .goesOn: return count
        case .isComplete: return completeHead(carried.takeUnretainedValue()) ? count : 0
        case .failed:
            let exchange = carried.takeUnretainedValue()
            if exchange.state.failure == nil { exchange.state.failure = head.failure }
            return 0
        }
    }

    private func completeHead(_ exchange: Exchange) -> Bool {
        let hasNoBody = hasNoBody(exchange)
        let length = hasNoBody ? nil : self.head.length
        if let length, !self.head.isChunked { exchange.setExpected(length) }
        exchange.state.hasLength = length != nil || self.head.isChunked || hasNoBody
        if !exchange.state.hasLength, self.head.version < 20,
            exchange.request.url.origin.isSecure
        {
            exchange.state.tlsConnection = UnsafeRawPointer(ccurl_get_tls(handle))
        }
        guard let head = self.head.makeHead() else {
            return fail(exchange, .noMemory, "No memory for the head of the answer")
        }
        loop.noteAnswer(of: exchange, isMultiplexed: self.head.version == 20)
        noteGivenBody(exchange)
        exchange.state.head = head
        exchange.state.stallStart = loop.now
        exchange.state.disposition = exchange.receiver.exchange(exchange, didReceive: head)
        loop.noteDeadline(of: exchange)
        chooseDecoding(exchange)
        return takeUpBody(of: exchange)
    }

    /// A length is then that of what another answer would bring.
    private func hasNoBody(_ exchange: Exchange) -> Bool {
        head.status == 204 || head.status == 304 || exchange.request.method == "HEAD"
    }

    /// Makes ready for the body that follows, as was decided about it.
    ///
    /// - Returns: `false` if the exchange has failed.
    func takeUpBody(of exchange: Exchange) -> Bool {
        let length = hasNoBody(exchange) ? nil : head.length
        switch exchange.state.disposition {
        case .abort(let error):
            exchange.state.failure = error
            return false
        case .collect(let limit):
            if let length, exchange.state.decoding == .none {
                if length > limit { return tooLarge(exchange, limit) }
                guard exchange.state.collected.reserve(Int(length)) else {
                    return fail(exchange, .noMemory, "No memory for \(length) bytes of body")
                }
            }
        case .deliver(let offset, let eager):
            exchange.state.pieceCapacity = Exchange.pieceSize
            if !eager { exchange.state.pieceCapacity -= Int(offset % Int64(Exchange.pieceSize)) }
        case .wait: exchange.state.holdsReceiving = true
        case .discard, .skim: break
        }
        return true
    }

    /// Who undoes the coding of the body that follows.
    private func chooseDecoding(_ exchange: Exchange) {
        guard exchange.request.decoding != .identity, !exchange.isDiscarding else { return }
        let isAll = exchange.request.decoding == .all
        switch head.coding {
        case .identity: return
        case .gzip: exchange.state.decoder = Inflater(.gzip, buffer: loop.inflateBuffer)
        case .deflate: exchange.state.decoder = Inflater(.deflate, buffer: loop.inflateBuffer)
        case .brotli where isAll, .zstd where isAll:
            exchange.state.decoding = .curl
            return decodeByCurl(true)
        case .brotli, .zstd, .other:
            exchange.state.decoding = .impossible
            return
        }
        exchange.state.decoding = .ours
    }

    /// Of a body that libcurl was given whole, it alone knows how much it has sent.
    func noteGivenBody(_ exchange: Exchange) {
        guard case .bytes = exchange.request.body, isGivenWhole else { return }
        exchange.setSent(offset(CURLINFO_SIZE_UPLOAD_T))
    }

    // MARK: The body

    func receive(_ bytes: UnsafeMutablePointer<CChar>?, _ count: Int) -> Int {
        guard let exchange, let bytes, exchange.state.failure == nil else { return 0 }
        // Paused before there was a connection that libcurl could have held.
        if exchange.state.isPaused { return Int(CCURL_WRITE_PAUSE) }
        guard exchange.state.head != nil else {
            _ = fail(exchange, .badProtocol, "A body came before the head of the answer")
            return 0
        }
        if exchange.isUndecided { return Int(CCURL_WRITE_PAUSE) }
        if exchange.state.decoder?.isHeld == true || isFull(exchange, count) {
            exchange.state.holdsReceiving = true
            return Int(CCURL_WRITE_PAUSE)
        }
        if !exchange.request.speedLimits.isEmpty, loop.throttle(exchange, count) {
            return Int(CCURL_WRITE_PAUSE)
        }
        exchange.state.lastActivity = loop.now
        let input = UnsafeRawBufferPointer(start: bytes, count: count)
        switch exchange.state.decoding {
        case .none:
            exchange.addReceived(count, wire: count)
            guard store(input, exchange) else { return 0 }
        case .ours:
            exchange.addReceived(0, wire: count)
            guard decode(input, exchange) else { return 0 }
        case .curl:
            exchange.addReceived(count, wire: 0)
            exchange.setReceivedOnWire(offset(CURLINFO_SIZE_DOWNLOAD_T))
            // What it reads at once it counts when that is decoded.
            guard checkRatio(exchange, slack: Self.bufferSize(exchange.request)),
                store(input, exchange)
            else { return 0 }
        case .impossible:
            let coding = exchange.state.head?.values("content-encoding").joined(separator: ", ")
            _ = fail(
                exchange, .badEncoding,
                "The body has a content coding that cannot be undone: \"\(coding ?? "")\"")
            return 0
        }
        if exchange.request.wantsProgress { reportProgress(exchange) }
        return count
    }

    /// Whether so many bytes more would have to be handed over to a receiver that has its fill.
    private func isFull(_ exchange: Exchange, _ count: Int) -> Bool {
        guard case .deliver(_, let eager) = exchange.state.disposition,
            eager || exchange.state.piece.count + count >= exchange.state.pieceCapacity
        else { return false }
        return !exchange.mayDeliver()
    }

    /// A bomb is told by its ratio once it is no longer small (SEC-R2).
    private func checkRatio(_ exchange: Exchange, slack: Int = 0) -> Bool {
        guard exchange.received > 1 << 20,
            exchange.received / 1000 > exchange.receivedOnWire + Int64(slack)
        else { return true }
        return fail(
            exchange, .tooLarge, "The body decodes to more than 1,000 times its size on the wire")
    }

    private func decode(_ input: UnsafeRawBufferPointer?, _ exchange: Exchange) -> Bool {
        guard let decoder = exchange.state.decoder else { return true }
        func take(_ output: UnsafeRawBufferPointer) -> Bool {
            exchange.addReceived(output.count, wire: 0)
            guard checkRatio(exchange), store(output, exchange) else { return false }
            // A little input may become a lot, so the receiver is asked again for each 64 KiB.
            return !isFull(exchange, InflateBuffer.capacity)
        }
        do {
            if let input {
                try decoder.feed(input, into: take)
            } else {
                try decoder.resume(into: take)
            }
            if decoder.isHeld { exchange.state.holdsReceiving = true }
            return exchange.state.failure == nil
        } catch {
            return fail(exchange, .badEncoding, "The body's content coding is damaged: \(error.message)")
        }
    }

    /// Goes on with what was decoded but not handed over, as far as the receiver takes it.
    ///
    /// - Returns: `false` if the exchange has failed.
    func resumeDecoding(_ exchange: Exchange) -> Bool {
        guard exchange.state.decoder?.isHeld == true else { return true }
        return decode(nil, exchange)
    }

    private func store(_ bytes: UnsafeRawBufferPointer, _ exchange: Exchange) -> Bool {
        switch exchange.state.disposition {
        case .collect(let limit):
            if exchange.received > limit { return tooLarge(exchange, limit) }
            guard exchange.state.collected.append(bytes) else {
                return fail(exchange, .noMemory, "No memory for the body")
            }
        case .deliver(_, let eager):
            return storePiece(bytes, eager: eager, exchange)
        case .discard, .skim:
            // More than this is not worth the connection, which is then cut.
            guard exchange.receivedOnWire <= Self.discarded else { return false }
            if case .skim = exchange.state.disposition {
                return exchange.state.collected.append(bytes)
            }
        case .wait, .abort: break
        }
        return true
    }

    /// How much of a redirect's page is read.
    private static let discarded = 65_536

    private func storePiece(
        _ bytes: UnsafeRawBufferPointer, eager: Bool, _ exchange: Exchange
    ) -> Bool {
        var rest = bytes
        while rest.count > 0 {
            if exchange.state.piece.count == 0 && (!eager || rest.count >= Exchange.pieceSize) {
                guard exchange.state.piece.reserve(from: loop.blocks) else {
                    return fail(exchange, .noMemory, "No memory for the body")
                }
            }
            if exchange.state.piece.count == 0 { exchange.state.pieceStart = loop.now }
            let room = exchange.state.pieceCapacity - exchange.state.piece.count
            let taken = UnsafeRawBufferPointer(rebasing: rest.prefix(room))
            guard exchange.state.piece.append(taken) else {
                return fail(exchange, .noMemory, "No memory for the body")
            }
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(taken.count))
            if exchange.state.piece.count == exchange.state.pieceCapacity {
                exchange.state.pieceCapacity = Exchange.pieceSize
                exchange.deliver(exchange.state.piece.take())
            }
        }
        if eager && exchange.state.piece.count > 0 && !exchange.state.isListed {
            exchange.state.isListed = true
            loop.eager.append(exchange)
        }
        // Of a slow stream, what a second brought is handed over: nobody should have to fetch it again.
        if !eager && exchange.state.piece.count > 0
            && loop.now.since(exchange.state.pieceStart) >= 1_000_000_000 && exchange.mayDeliver()
        {
            loop.flush(exchange)
        }
        return true
    }

    // MARK: Sending

    func send(_ buffer: UnsafeMutablePointer<CChar>?, _ capacity: Int) -> Int {
        guard let exchange, let buffer, capacity > 0 else { return Int(CCURL_READ_ABORT) }
        if exchange.state.isPaused { return Int(CCURL_READ_PAUSE) }
        var count = 0
        switch exchange.request.body {
        case .none: return 0
        case .bytes(let bytes):
            let offset = exchange.state.bodyOffset
            count = min(capacity, bytes.count - offset)
            if count > 0 {
                bytes.withUnsafeBytes { _ = memcpy(buffer, $0.baseAddress! + offset, count) }
            }
        case .source(let source):
            let target = UnsafeMutableRawBufferPointer(start: buffer, count: capacity)
            switch source.read(into: target, for: exchange) {
            case .bytes(let read): count = read
            case .end: count = 0
            case .wait:
                exchange.state.holdsSending = true
                return Int(CCURL_READ_PAUSE)
            case .failed(let error):
                if exchange.state.failure == nil { exchange.state.failure = error }
                return Int(CCURL_READ_ABORT)
            }
        }
        if case .source(let source) = exchange.request.body, let length = source.length {
            // libcurl sends what it is given, and at an early end waits for ever for an answer.
            let offset = Int64(exchange.state.bodyOffset) + Int64(count)
            if offset > length || (count == 0 && offset < length) {
                _ = fail(
                    exchange, .bodySource,
                    "The request body was announced with \(length) bytes and has \(offset > length ? "more" : "only \(offset)")")
                return Int(CCURL_READ_ABORT)
            }
        }
        exchange.state.bodyOffset += count
        if isLast(count, exchange) {
            exchange.state.isSent = true
            exchange.state.lastActivity = loop.now
            loop.noteDeadline(of: exchange)
        }
        exchange.setSent(Int64(exchange.state.bodyOffset))
        exchange.state.lastActivity = loop.now
        if exchange.request.wantsProgress { reportProgress(exchange) }
        return count
    }

    /// Whether these bytes of the body are the last ones.
    private func isLast(_ count: Int, _ exchange: Exchange) -> Bool {
        switch exchange.request.body {
        case .none: true
        case .bytes(let bytes): exchange.state.bodyOffset == bytes.count
        case .source(let source):
            count == 0 || source.length == Int64(exchange.state.bodyOffset)
        }
    }

    /// libcurl starts the body over: a reused connection had died.
    func seek(_ offset: curl_off_t, _ origin: Int32) -> Int32 {
        guard let exchange, offset == 0, origin == SEEK_SET else { return Int32(CCURL_SEEK_FAIL) }
        if case .source(let source) = exchange.request.body, !source.rewind() {
            return Int32(CCURL_SEEK_FAIL)
        }
        exchange.state.bodyOffset = 0
        exchange.state.isSent = false
        exchange.setSent(0)
        return Int32(CCURL_SEEK_OK)
    }

    // MARK: Small things

    private func reportProgress(_ exchange: Exchange) {
        guard loop.now >= exchange.state.nextProgress else {
            // Told later, also if nothing moves any more.
            exchange.state.owesProgress = true
            loop.nextSweep = min(loop.nextSweep, exchange.state.nextProgress)
            return
        }
        exchange.state.owesProgress = false
        exchange.state.nextProgress = loop.now.advanced(by: .milliseconds(100))
        exchange.receiver.exchangeDidProgress(exchange)
    }

    private func tooLarge(_ exchange: Exchange, _ limit: Int64) -> Bool {
        if exchange.state.failure == nil { exchange.state.failure = .tooLarge(limit) }
        return false
    }

    private func fail(
        _ exchange: Exchange, _ kind: TransportError.Kind, _ message: String
    ) -> Bool {
        if exchange.state.failure == nil {
            exchange.state.failure = TransportError(kind, message)
        }
        return false
    }
}
