// Wherry: libcurl callbacks during an exchange.
// SPDX-License-Identifier: Apache-2.0

internal import CCurl
import Glibc
import WherrySystem

extension CurlEasy {
    // MARK: Response headers

    /// Handles one header line, including its line end. Returning a count other than `count` aborts
    /// the exchange.
    func receiveHeader(_ bytes: UnsafeMutablePointer<CChar>?, _ count: Int) -> Int {
        guard let carried, let bytes, count > 0 else { return 0 }
        // Called ten times for a small response, so avoid reference counting.
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
            return fail(exchange, .noMemory, "Not enough memory for the response headers")
        }
        loop.noteResponse(of: exchange, isMultiplexed: self.head.version == 20)
        noteGivenBody(exchange)
        if self.head.version == 20 { loop.noteEarlyResponse(of: exchange, self) }
        exchange.state.head = head
        exchange.state.stallStart = loop.now
        exchange.state.disposition = exchange.receiver.exchange(exchange, didReceive: head)
        loop.noteDeadline(of: exchange)
        chooseDecoding(exchange)
        return takeUpBody(of: exchange)
    }

    /// Returns whether the response has no body. Its Content-Length then describes another
    /// response.
    private func hasNoBody(_ exchange: Exchange) -> Bool {
        head.status == 204 || head.status == 304 || exchange.request.method == "HEAD"
    }

    /// Prepares for the body according to its disposition.
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
                if !Self.grown.contains(length),
                    !exchange.state.collected.reserve(Int(length))
                {
                    return fail(
                        exchange, .noMemory, "Not enough memory for a body of \(length) bytes")
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

    /// Chooses the decoder for the content encoding of the body.
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

    /// Updates the number of sent bytes of a body that was passed to libcurl at once. Only libcurl
    /// counts these bytes.
    func noteGivenBody(_ exchange: Exchange) {
        guard case .bytes = exchange.request.body, isGivenWhole else { return }
        exchange.setSent(offset(CURLINFO_SIZE_UPLOAD_T))
    }

    // MARK: The body

    func receive(_ bytes: UnsafeMutablePointer<CChar>?, _ count: Int) -> Int {
        guard let exchange, let bytes, exchange.state.failure == nil else { return 0 }
        // Paused before libcurl had a connection to pause.
        if exchange.state.isPaused { return Int(CCURL_WRITE_PAUSE) }
        guard exchange.state.head != nil else {
            _ = fail(exchange, .badProtocol, "The body arrived before the response headers")
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
            // libcurl reads a whole buffer before it decodes it, so the wire count may lag behind.
            guard checkRatio(exchange, slack: Self.bufferSize(exchange.request)),
                store(input, exchange)
            else { return 0 }
        case .impossible:
            let coding = exchange.state.head?.values("content-encoding").joined(separator: ", ")
            _ = fail(
                exchange, .badEncoding,
                "The content coding of the body is not supported: \"\(coding ?? "")\"")
            return 0
        }
        if exchange.request.wantsProgress { reportProgress(exchange) }
        return count
    }

    /// Returns whether `count` more bytes would require a delivery that the receiver cannot accept
    /// now.
    private func isFull(_ exchange: Exchange, _ count: Int) -> Bool {
        guard case .deliver(_, let eager) = exchange.state.disposition,
            eager || exchange.state.piece.count + count >= exchange.state.pieceCapacity
        else { return false }
        return !exchange.mayDeliver()
    }

    /// Detects a decompression bomb by its ratio, once more than 1 MiB was decoded (SEC-R2).
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
            // A small input may decode to much more, so check the receiver again for each 64 KiB.
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
            return fail(exchange, .badEncoding, "Could not decode the body: \(error.message)")
        }
    }

    /// Resumes delivering decoded bytes that were held back, as far as the receiver accepts them.
    ///
    /// - Returns: `false` if the exchange has failed.
    func resumeDecoding(_ exchange: Exchange) -> Bool {
        guard exchange.state.decoder?.isHeld == true else { return true }
        return decode(nil, exchange)
    }

    /// The lengths of bodies whose memory grows while they arrive, so that many slow responses need little.
    /// Shorter bodies usually arrive at once. The memory of longer ones is mapped, and costs nothing
    /// until it is used.
    private static let grown: Range<Int64> = 16_385..<131_072

    private func store(_ bytes: UnsafeRawBufferPointer, _ exchange: Exchange) -> Bool {
        switch exchange.state.disposition {
        case .collect(let limit):
            if exchange.received > limit { return tooLarge(exchange, limit) }
            let length = exchange.state.decoding == .none ? head.length ?? 0 : 0
            guard exchange.state.collected.append(bytes, of: Int(length)) else {
                return fail(exchange, .noMemory, "Not enough memory for the body")
            }
            if exchange.request.sharesBody && !exchange.state.isListed {
                exchange.state.isListed = true
                loop.eager.append(exchange)
            }
        case .deliver(_, let eager):
            return storePiece(bytes, eager: eager, exchange)
        case .discard, .skim:
            // Reading more would cost more than a new connection, so close this one.
            guard exchange.receivedOnWire <= Self.discarded else { return false }
            if case .skim = exchange.state.disposition {
                return exchange.state.collected.append(bytes)
            }
        case .wait, .abort: break
        }
        return true
    }

    /// The maximum number of bytes to read of a body that is not needed, such as that of a
    /// redirect.
    private static let discarded = 65_536

    private func storePiece(
        _ bytes: UnsafeRawBufferPointer, eager: Bool, _ exchange: Exchange
    ) -> Bool {
        var rest = bytes
        while rest.count > 0 {
            if exchange.state.piece.count == 0 && (!eager || rest.count >= Exchange.pieceSize) {
                guard exchange.state.piece.reserve(from: loop.blocks) else {
                    return fail(exchange, .noMemory, "Not enough memory for the body")
                }
            }
            if exchange.state.piece.count == 0 { exchange.state.pieceStart = loop.now }
            let room = exchange.state.pieceCapacity - exchange.state.piece.count
            let taken = UnsafeRawBufferPointer(rebasing: rest.prefix(room))
            guard exchange.state.piece.append(taken) else {
                return fail(exchange, .noMemory, "Not enough memory for the body")
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
        loop.deliverIncompleteChunk(of: exchange)
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
            // libcurl sends whatever it is given. After an early end, it waits forever for a
            // response.
            let offset = Int64(exchange.state.bodyOffset) + Int64(count)
            if offset > length || (count == 0 && offset < length) {
                _ = fail(
                    exchange, .bodySource,
                    "\(length) bytes were announced for the request body, but it has \(offset > length ? "more" : "only \(offset)"). Announce its exact size."
                )
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

    /// Returns whether the body was read to its end; `count` is the number of bytes just read.
    private func isLast(_ count: Int, _ exchange: Exchange) -> Bool {
        switch exchange.request.body {
        case .none: true
        case .bytes(let bytes): exchange.state.bodyOffset == bytes.count
        case .source(let source):
            count == 0 || source.length == Int64(exchange.state.bodyOffset)
        }
    }

    /// Rewinds the body because libcurl resends the request: a reused connection was dropped.
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

    // MARK: Helpers

    private func reportProgress(_ exchange: Exchange) {
        guard loop.now >= exchange.state.nextProgress else {
            // Report later, even if no more data is transferred.
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
