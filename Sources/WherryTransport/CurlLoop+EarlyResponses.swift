// Wherry: HTTP/2 responses that arrive before the request is sent completely.
// SPDX-License-Identifier: Apache-2.0

internal import CCurl
import Glibc

// A server may send a complete HTTP/2 response before it has read the whole request, and then reset
// the stream without an error. The response is valid (RFC 9113, section 8.1). Go's server does so
// if a handler does not read the body.
//
// libcurl 7.88 does not expect this:
//
// * It loses data of the response that arrive in one read with the reset, even the headers.
// * It reports the reset as an error.
// * It does not notice the end of the response if it sends the last byte of the request after it.
// * It stops reading when it has received as much as Content-Length says, and so does not learn
//   that it may send more of the request.
//
// Therefore long bodies use HTTP/1.1, and so do all bodies for a server that was seen to respond
// early. Other bodies are sent together with their headers.

extension CurlLoop {
    /// Makes the kernel hold back the packets of a connection until ``sendCorked()``, so that a
    /// server gets the body together with the headers.
    func cork(_ socket: Int32) {
        guard !corked.contains(socket) else { return }
        corked.append(socket)
        Self.setCork(of: socket, to: 1)
    }

    /// Makes libcurl send the bodies whose headers were sent, and the kernel send the packets.
    func sendCorked() {
        while let socket = corked.popLast() {
            callCurl(socket, CURL_CSELECT_OUT)
            Self.setCork(of: socket, to: 0)
        }
    }

    private static func setCork(of socket: Int32, to value: Int32) {
        var value = value
        // Fails for a Unix domain socket, which has no packets.
        setsockopt(
            socket, Int32(IPPROTO_TCP), TCP_CORK, &value, socklen_t(MemoryLayout<Int32>.size))
    }

    /// Notes an HTTP/2 response that has begun, if its request is not sent completely.
    func noteEarlyResponse(of exchange: Exchange, _ easy: CurlEasy) {
        guard !exchange.state.isEarly, !easy.hasSentBody(exchange) else { return }
        exchange.state.isEarly = true
        exchange.state.place?.answersEarly = true
        early.append(exchange)
    }

    /// Makes libcurl read again for each early response whose request is now sent.
    func readEarlyResponses() {
        guard !early.isEmpty else { return }
        let exchanges = early
        early.removeAll(keepingCapacity: true)
        for exchange in exchanges {
            guard exchange.state.phase == .active, let easy = exchange.state.easy else { continue }
            if easy.hasSentBody(exchange) {
                if let socket = easy.socket { callCurl(socket, CURL_CSELECT_IN) }
            } else {
                // It ends soon after the response, even if no more of the request can be sent.
                noteDeadline(of: exchange)
                early.append(exchange)
            }
        }
    }
}

extension CurlEasy {
    /// Returns whether libcurl has sent the complete request body.
    func hasSentBody(_ exchange: Exchange) -> Bool {
        guard exchange.state.isSent else { return false }
        let length =
            switch exchange.request.body {
            case .none: 0
            case .bytes(let bytes) where isGivenWhole: bytes.count
            case .bytes, .source: exchange.state.bodyOffset
            }
        return length == 0 || offset(CURLINFO_SIZE_UPLOAD_T) >= Int64(length)
    }

    /// The socket of the running transfer; `nil` if it is unknown.
    fileprivate var socket: Int32? {
        loop.sockets.connection(
            to: Int32(long(CURLINFO_PRIMARY_PORT)), from: Int32(long(CURLINFO_LOCAL_PORT)))
    }

    /// Returns whether libcurl reports an error only because the server reset the stream after a
    /// complete response, without an error.
    func hasWholeEarlyResponse(_ exchange: Exchange, _ code: CURLcode) -> Bool {
        exchange.state.isEarly && isClosedStream(code)
            && (exchange.isAnswered || !exchange.state.hasLength)
    }

    /// Returns whether the body, whose length is unknown, may lack data that arrived together with
    /// the reset of the stream.
    func mayLackData(_ exchange: Exchange) -> Bool {
        exchange.state.isEarly && !exchange.state.hasLength && !hasSentBody(exchange)
    }

    /// Returns whether a transfer failed because its stream was closed without an error. libcurl
    /// describes every other error of a stream.
    func isClosedStream(_ code: CURLcode) -> Bool {
        code == CURLE_HTTP2_STREAM && errorText[0] == 0
    }

    /// Returns whether to retry a request over HTTP/1.1 because libcurl lost its response.
    ///
    /// If it must not be sent twice, it is retried only if the server refused it (4xx).
    func mayRetryLost(_ exchange: Exchange, _ code: CURLcode) -> Bool {
        guard exchange.state.failure == nil, exchange.state.head == nil, isClosedStream(code)
        else { return false }
        exchange.state.place?.answersEarly = true
        guard exchange.request.httpVersion == 0,
            exchange.request.mayRepeat || (400..<500).contains(lostStatus)
        else { return false }
        exchange.state.usesHTTP1 = true
        exchange.state.resends += 1
        return true
    }

    /// The status of a response that libcurl has lost; 0 if it is unknown.
    private var lostStatus: Int {
        var header: UnsafeMutablePointer<curl_header>?
        guard
            curl_easy_header(handle, ":status", 0, UInt32(CURLH_PSEUDO), -1, &header) == CURLHE_OK,
            let value = header?.pointee.value
        else { return 0 }
        return Int(String(cString: value)) ?? 0
    }
}

extension Exchange {
    /// The HTTP version to use: 11 or 20; 0 lets libcurl choose.
    var httpVersion: Int32 { state.usesHTTP1 ? 11 : request.httpVersion }

    /// Chooses HTTP/1.1 if libcurl may lose the response.
    func chooseVersion(answersEarly: Bool) {
        guard request.httpVersion == 0, request.hasBody, request.url.origin.isSecure else { return }
        state.usesHTTP1 = answersEarly || request.isLongUpload
    }

    /// Whether a complete response of known length arrived before the request was sent.
    var isAnswered: Bool {
        state.isEarly && state.hasLength && receivedOnWire >= max(0, expectedOnWire)
    }
}
