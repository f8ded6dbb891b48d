// Wherry: what libcurl calls while it carries out an exchange.
// SPDX-License-Identifier: Apache-2.0

internal import CCurl
import Glibc
import WherrySystem

extension CurlEasy {
    /// At most so many fields, and so many bytes in one line (SEC-R5).
    private static let maxFields = 256
    private static let maxLine = 16_384
    /// Heads of status 1xx before the final one.
    private static let maxInterimHeads = 64

    // MARK: The head

    /// One line of a head, with its end. A count other than the one given breaks the exchange off.
    func receiveHeader(_ bytes: UnsafeMutablePointer<CChar>?, _ count: Int) -> Int {
        guard let exchange, let bytes, count > 0 else { return 0 }
        let line = UnsafeRawBufferPointer(start: bytes, count: count)
        exchange.state.lastActivity = loop.now
        guard exchange.state.head == nil else { return count }  // trailer fields
        guard exchange.state.isInHead else {
            return startHead(line, exchange) ? count : 0
        }
        var end = count
        if end > 0 && line[end - 1] == 0x0A { end -= 1 }
        if end > 0 && line[end - 1] == 0x0D { end -= 1 }
        if end == 0 {
            exchange.state.isInHead = false
            guard exchange.state.status >= 200 else { return count }  // more heads follow
            return completeHead(exchange) ? count : 0
        }
        let text = UnsafeRawBufferPointer(rebasing: line[..<end])
        return addField(text, exchange) ? count : 0
    }

    private func startHead(_ line: UnsafeRawBufferPointer, _ exchange: Exchange) -> Bool {
        exchange.state.isInHead = true
        exchange.state.headCount += 1
        exchange.state.block.removeAll()
        exchange.state.lineCount = 0
        exchange.state.length = nil
        exchange.state.isChunked = false
        exchange.state.coding = .identity
        // "HTTP/1.1 200 OK", "HTTP/2 200": libcurl has checked the form.
        var space = 5
        while space < line.count && line[space] != 0x20 { space += 1 }
        exchange.state.version =
            line.count > 7 && line[5] == 0x32 ? 20 : line.count > 7 && line[7] == 0x30 ? 10 : 11
        var status = 0
        for index in min(space + 1, line.count)..<min(space + 4, line.count)
        where line[index] >= 0x30 && line[index] <= 0x39 {
            status = status * 10 + Int(line[index] - 0x30)
        }
        exchange.state.status = status
        guard line.count > 5, memcmp(line.baseAddress!, "HTTP/", 5) == 0, status >= 100 else {
            return fail(exchange, .badProtocol, "The answer does not begin with a status line")
        }
        guard exchange.state.headCount <= Self.maxInterimHeads else {
            return fail(
                exchange, .headerTooLarge,
                "More than \(Self.maxInterimHeads) interim answers came before the final one")
        }
        return true
    }

    private func addField(_ text: UnsafeRawBufferPointer, _ exchange: Exchange) -> Bool {
        exchange.state.lineCount += 1
        if text.count > Self.maxLine || exchange.state.lineCount > Self.maxFields
            || exchange.state.block.count + text.count > exchange.request.maxHeaderBytes
        {
            return fail(
                exchange, .headerTooLarge,
                "The head of the answer is too large (more than \(Self.maxFields) fields, \(Self.maxLine) bytes in a line or \(exchange.request.maxHeaderBytes) in all)")
        }
        if memchr(text.baseAddress!, 0, text.count) != nil
            || memchr(text.baseAddress!, 0x0D, text.count) != nil
        {
            return fail(exchange, .badProtocol, "A field of the answer contains a NUL or a bare CR")
        }
        if text[0] == 0x20 || text[0] == 0x09 {
            // A folded line (RFC 9112 5.2) goes on with the one before.
            guard exchange.state.lineCount > 1 else {
                return fail(exchange, .badProtocol, "The first field of the answer is folded")
            }
            exchange.state.block.dropLast()
        } else if !note(text, exchange) {
            return false
        }
        guard exchange.state.block.append(text), exchange.state.block.append("\n", 1) else {
            return fail(exchange, .noMemory, "No memory for the head of the answer")
        }
        return true
    }

    /// Remembers the fields that decide how the body is read.
    private func note(_ line: UnsafeRawBufferPointer, _ exchange: Exchange) -> Bool {
        switch line[0] | 0x20 {
        case 0x63:  // c
            if let value = Self.value(of: line, "content-length") {
                // Differing lengths are a smuggling attack or a broken server (RFC 9112 6.3).
                guard let length = Self.number(value),
                    exchange.state.length == nil || exchange.state.length == length
                else {
                    let text = String(decoding: value, as: UTF8.self)
                    return fail(
                        exchange, .badProtocol,
                        "The answer's Content-Length is not one number: \"\(text)\"")
                }
                exchange.state.length = length
            } else if let value = Self.value(of: line, "content-encoding") {
                switch String(decoding: value, as: UTF8.self).lowercased() {
                case "gzip", "x-gzip": exchange.state.coding = .gzip
                case "deflate": exchange.state.coding = .deflate
                case "", "identity": exchange.state.coding = .identity
                default: exchange.state.coding = .other
                }
            }
        case 0x74:  // t
            if Self.value(of: line, "transfer-encoding") != nil { exchange.state.isChunked = true }
        default: break
        }
        return true
    }

    private static func value(
        of line: UnsafeRawBufferPointer, _ name: StaticString
    ) -> UnsafeRawBufferPointer? {
        guard line.count > name.utf8CodeUnitCount, line[name.utf8CodeUnitCount] == 0x3A else {
            return nil
        }
        guard let start = line.baseAddress?.assumingMemoryBound(to: CChar.self),
            name.withUTF8Buffer({ name in
                strncasecmp(
                    start, UnsafeRawPointer(name.baseAddress!).assumingMemoryBound(to: CChar.self),
                    name.count) == 0
            })
        else { return nil }
        var first = name.utf8CodeUnitCount + 1
        var end = line.count
        while first < end && (line[first] == 0x20 || line[first] == 0x09) { first += 1 }
        while end > first && (line[end - 1] == 0x20 || line[end - 1] == 0x09) { end -= 1 }
        return UnsafeRawBufferPointer(rebasing: line[first..<end])
    }

    /// Decimal digits and nothing else; `nil` also for what no Int64 holds.
    private static func number(_ digits: UnsafeRawBufferPointer) -> Int64? {
        guard digits.count > 0, digits.count < 19 else { return nil }
        var number: Int64 = 0
        for digit in digits {
            guard digit >= 0x30 && digit <= 0x39 else { return nil }
            number = number * 10 + Int64(digit - 0x30)
        }
        return number
    }

    private func completeHead(_ exchange: Exchange) -> Bool {
        if let length = exchange.state.length, !exchange.state.isChunked {
            exchange.setExpected(length)
        }
        let head = ResponseHead(
            status: exchange.state.status, httpVersion: exchange.state.version,
            block: exchange.state.block.take())
        exchange.state.head = head
        exchange.state.stallStart = loop.now
        loop.noteDeadline(of: exchange)
        exchange.state.disposition = exchange.receiver.exchange(exchange, didReceive: head)
        if exchange.request.decoding == .gzip && exchange.request.method != "HEAD" {
            switch exchange.state.coding {
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
            if let length = exchange.state.length, exchange.state.decoder == nil {
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
