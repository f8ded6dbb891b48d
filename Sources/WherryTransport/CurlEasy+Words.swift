// Wherry: what libcurl says in words alone.
// SPDX-License-Identifier: Apache-2.0

internal import CCurl
import Glibc

/// Whether a host of HTTP/2 has looked at a request, which matters for one that may not be sent twice.
struct Hearing {
    /// The host has said that it did not look at the request.
    var wasRefused = false
    /// The request's stream; 0 while libcurl has not said it.
    var stream: UInt32 = 0
    /// Of the connection that it is on.
    var localPort: Int32 = 0
}

extension CurlEasy {
    /// Has libcurl say what it does, where a request may not be sent twice, and where one may be on the
    /// same connection: any of its transfers may be the one that hears it close.
    func hear(_ exchange: Exchange) {
        hearing = Hearing()
        let version = exchange.request.httpVersion
        guard let place = exchange.state.place, !place.isSerial || place.hasStreams,
            version == 20 || version == 0 && place.origin.isSecure
        else { return setHeard(false) }
        if !exchange.request.mayRepeat { place.hasUnrepeatable = true }
        setHeard(place.hasUnrepeatable)
    }

    /// A request is about to go out over the connection with this port.
    func beginToHear(from localPort: Int32) {
        hearing.stream = 0
        hearing.localPort = localPort
        // Another connection had that port.
        if !loop.goneAway.isEmpty, long(CURLINFO_NUM_CONNECTS) > 0 { loop.goneAway[localPort] = nil }
    }

    /// Whether the host has said that it never looked at the request, as one that is about to close a
    /// connection says of the last streams on it: those may go again, whatever they are (RFC 9113
    /// 6.8, 8.7).
    var isUnseen: Bool {
        if hearing.wasRefused { return true }
        guard hearing.stream > 0, let last = loop.goneAway[hearing.localPort] else { return false }
        return hearing.stream > last
    }

    /// Whether a request that has failed may begin anew, since the host never looked at it: libcurl
    /// itself gives up where it hears that together with the end of the connection.
    func mayBeginAnew(_ exchange: Exchange) -> Bool {
        guard exchange.state.head == nil, exchange.state.failure == nil,
            exchange.state.restarts < CurlEasy.mostRestarts, isUnseen
        else { return false }
        exchange.state.resends += 1
        return true
    }

    /// Takes in a line.
    func hear(_ words: UnsafeMutablePointer<CChar>?, _ count: Int) {
        guard let words, count > 0, let first = UInt8(exactly: words[0]) else { return }
        let line = { String(decoding: UnsafeRawBufferPointer(start: words, count: count), as: UTF8.self) }
        switch first {
        case UInt8(ascii: "R") where line().hasPrefix("REFUSED_STREAM"): hearing.wasRefused = true
        case UInt8(ascii: "U"):
            if let stream = Self.number(behind: "Using Stream ID: ", in: line()) {
                hearing.stream = stream
            }
        case UInt8(ascii: "r"):
            let line = line()
            // 7.88 says "recveived".
            guard line.contains(" GOAWAY, "), let last = Self.number(behind: "last_stream=", in: line)
            else { return }
            if loop.goneAway.count >= Self.mostGoneAway { loop.goneAway = [:] }
            loop.goneAway[hearing.localPort] = last
        default: break
        }
    }

    private static let mostGoneAway = 1024

    private static func number(behind words: String, in line: String) -> UInt32? {
        guard let found = line.firstRange(of: words) else { return nil }
        return UInt32(line[found.upperBound...].prefix { $0.isASCII && $0.isNumber })
    }
}
