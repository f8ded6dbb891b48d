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
        carried._withUnsafeGuaranteedRef { exchange in
            exchange.state.lastActivity = loop.now
            exchange.state.isAnswered = true
        }
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
        let length = self.head.length
        if let length, !self.head.isChunked { exchange.setExpected(length) }
        exchange.state.hasLength = length != nil || self.head.isChunked
        guard let head = self.head.makeHead() else {
            return fail(exchange, .noMemory, "No memory for the head of the answer")
        }
        exchange.state.head = head
        exchange.state.stallStart = loop.now
        loop.noteDeadline(of: exchange)
        exchange.state.disposition = exchange.receiver.exchange(exchange, didReceive: head)
        if exchange.request.decoding == .gzip && exchange.request.method != "HEAD" {
            switch self.head.coding {
            case .gzip: exchange.state.decoder = Inflater(.gzip)
            case .deflate: exchange.state.decoder = Inflater(.deflate)
            case .identity, .other: break
            }
        }
        switch exchange.state.disposition {
        case .abort(let error):
            exchange.state.failure = error
            return false
        case .collect(let limit):
            if let length, exchange.state.decoder == nil {
                if length > limit && exchange.request.method != "HEAD" {
                    return tooLarge(exchange, limit)
                }
                if exchange.request.method != "HEAD" {
                    guard exchange.state.collected.reserve(Int(length)) else {
                        return fail(exchange, .noMemory, "No memory for \(length) bytes of body")
                    }
                }
            }
        case .deliver(let offset, let eager):
            exchange.state.pieceCapacity = Exchange.pieceSize
            if !eager { exchange.state.pieceCapacity -= Int(offset % Int64(Exchange.pieceSize)) }
        case .discard: break
        }
        return true
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
        if case .deliver(_, let eager) = exchange.state.disposition,
            eager || exchange.state.piece.count + count >= exchange.state.pieceCapacity,
            !exchange.mayDeliver()
        {
            exchange.state.holdsReceiving = true
            return Int(CCURL_WRITE_PAUSE)
        }
        exchange.state.lastActivity = loop.now
        let input = UnsafeRawBufferPointer(start: bytes, count: count)
        if exchange.state.decoder != nil {
            exchange.addReceived(0, wire: count)
            guard decode(input, exchange) else { return 0 }
        } else {
            exchange.addReceived(count, wire: count)
            guard store(input, exchange) else { return 0 }
        }
        if exchange.request.wantsProgress { reportProgress(exchange) }
        return count
    }

    private func decode(_ input: UnsafeRawBufferPointer, _ exchange: Exchange) -> Bool {
        do {
            try exchange.state.decoder?.feed(input) { output in
                exchange.addReceived(output.count, wire: 0)
                // A bomb is told by its ratio once it is no longer small (SEC-R2).
                if exchange.received > 1 << 20
                    && exchange.received / 1000 > exchange.receivedOnWire
                {
                    return self.fail(
                        exchange, .tooLarge,
                        "The body decodes to more than 1,000 times its size on the wire")
                }
                return self.store(output, exchange)
            }
            return exchange.state.failure == nil
        } catch {
            return fail(exchange, .badEncoding, "The body's content coding is damaged: \(error.message)")
        }
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
        case .discard, .abort: break
        }
        return true
    }

    private func storePiece(
        _ bytes: UnsafeRawBufferPointer, eager: Bool, _ exchange: Exchange
    ) -> Bool {
        var rest = bytes
        while rest.count > 0 {
            if exchange.state.piece.count == 0 && (!eager || rest.count >= Exchange.pieceSize) {
                guard exchange.state.piece.reserve(exchange.state.pieceCapacity) else {
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
        exchange.setSent(Int64(exchange.state.bodyOffset))
        exchange.state.lastActivity = loop.now
        if exchange.request.wantsProgress { reportProgress(exchange) }
        return count
    }

    /// libcurl starts the body over: a reused connection had died.
    func seek(_ offset: curl_off_t, _ origin: Int32) -> Int32 {
        guard let exchange, offset == 0, origin == SEEK_SET else { return Int32(CCURL_SEEK_FAIL) }
        if case .source(let source) = exchange.request.body, !source.rewind() {
            return Int32(CCURL_SEEK_FAIL)
        }
        exchange.state.bodyOffset = 0
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
        fail(
            exchange, .tooLarge,
            "The body is larger than the limit of \(limit) bytes; raise it, stream the body or download it")
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
