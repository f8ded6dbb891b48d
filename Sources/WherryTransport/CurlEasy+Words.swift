// Wherry: events that libcurl reports only in its debug text.
// SPDX-License-Identifier: Apache-2.0

internal import CCurl
import Glibc

/// What is known about whether an HTTP/2 server processed a request. It decides whether a request
/// that must not be sent twice may be retried.
struct Hearing {
    /// Whether the server has refused the stream without processing the request.
    var wasRefused = false
    /// The stream ID of the request; 0 if not known yet.
    var stream: UInt32 = 0
    /// The local port of the connection.
    var localPort: Int32 = 0
}

extension CurlEasy {
    /// Enables libcurl's debug text if a request must not be sent twice, or if such a request may
    /// share the connection. Any transfer of the connection may be the one that receives GOAWAY.
    func hear(_ exchange: Exchange) {
        hearing = Hearing()
        let version = exchange.httpVersion
        guard let place = exchange.state.place, !place.isSerial || place.hasStreams,
            version == 20 || version == 0 && place.origin.isSecure
        else { return setHeard(false) }
        if !exchange.request.mayRepeat { place.hasUnrepeatable = true }
        setHeard(place.hasUnrepeatable)
    }

    /// Notes that a request is about to be sent over the connection with this local port.
    func beginToHear(from localPort: Int32) {
        hearing.stream = 0
        hearing.localPort = localPort
        // An earlier connection used the same port.
        if !loop.goneAway.isEmpty, long(CURLINFO_NUM_CONNECTS) > 0 {
            loop.goneAway[localPort] = nil
        }
    }

    /// Whether the server never processed the request. A server that is about to close a connection
    /// reports the last stream it processed (GOAWAY). Requests on later streams may be retried,
    /// whatever their method (RFC 9113, sections 6.8 and 8.7).
    var isUnseen: Bool {
        if hearing.wasRefused { return true }
        guard hearing.stream > 0, let last = loop.goneAway[hearing.localPort] else { return false }
        return hearing.stream > last
    }

    /// Returns whether to restart a failed request because the server never processed it. libcurl
    /// itself gives up if GOAWAY arrives together with the end of the connection.
    func mayBeginAnew(_ exchange: Exchange) -> Bool {
        guard exchange.state.head == nil, exchange.state.failure == nil,
            exchange.state.restarts < CurlEasy.mostRestarts, isUnseen
        else { return false }
        exchange.state.resends += 1
        return true
    }

    /// Handles a line of libcurl's debug text.
    func hear(_ words: UnsafeMutablePointer<CChar>?, _ count: Int) {
        guard let words, count > 0, let first = UInt8(exactly: words[0]) else { return }
        let line = {
            String(decoding: UnsafeRawBufferPointer(start: words, count: count), as: UTF8.self)
        }
        switch first {
        case UInt8(ascii: "R") where line().hasPrefix("REFUSED_STREAM"): hearing.wasRefused = true
        case UInt8(ascii: "U"):
            if let stream = Self.number(behind: "Using Stream ID: ", in: line()) {
                hearing.stream = stream
            }
        case UInt8(ascii: "r"):
            let line = line()
            // libcurl 7.88 writes "recveived".
            guard line.contains(" GOAWAY, "),
                let last = Self.number(behind: "last_stream=", in: line)
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
