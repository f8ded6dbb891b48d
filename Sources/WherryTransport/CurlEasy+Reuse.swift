// Wherry: validation of reused connections.
// SPDX-License-Identifier: Apache-2.0

internal import CCurl
import Glibc

extension CurlEasy {
    /// The number of restarts after which an exchange requires a new connection.
    static let mostRestarts = 8

    /// Called by libcurl when it has a connection, before it sends any bytes.
    ///
    /// libcurl 7.88 treats bytes received on an idle connection as the start of the next response.
    /// A server, or a proxy in between, could thus inject a response to another request (RFC 9112,
    /// section 11.2). Between two HTTP/1 exchanges nothing may arrive, not even the end of the
    /// connection.
    ///
    /// libcurl calls this again when it resends a request on its own, whatever the method, because
    /// a reused connection was dropped without a response.
    func mayUseConnection(to port: Int32, from localPort: Int32) -> Bool {
        guard let exchange else { return true }
        guard maySend(exchange) else { return false }
        guard isClean(exchange, port, localPort) else { return false }
        exchange.state.hasGoneOut = true
        if exchange.request.hasBody, speech(of: exchange) != .serial,
            let socket = loop.sockets.connection(to: port, from: localPort)
        {
            loop.cork(socket)
        }
        beginToHear(from: localPort)
        return true
    }

    private func maySend(_ exchange: Exchange) -> Bool {
        guard exchange.state.hasGoneOut, head.version == 0 else { return true }
        // libcurl counts its resends per handle, gives up at the sixth, and keeps the count until
        // the handle is reset.
        isPlain = false
        guard long(CURLINFO_REQUEST_SIZE) > 0 else { return true }
        guard exchange.request.mayRepeat || isUnseen else {
            exchange.state.failure = TransportError(
                .reset,
                "Lost the connection to \(exchange.request.url.origin.text) before the response arrived. \(exchange.request.method) is not retried automatically, because the server may have processed the request."
            )
            return false
        }
        exchange.state.resends += 1
        guard exchange.state.resends % Self.mostResends == 0 else { return true }
        exchange.state.beginsAnew = true
        return false
    }

    /// The number of consecutive resends left to libcurl.
    private static let mostResends = 4

    private func isClean(_ exchange: Exchange, _ port: Int32, _ localPort: Int32) -> Bool {
        let isUsed = long(CURLINFO_NUM_CONNECTS) == 0
        // Over TLS, a connection made for HTTP/1.1 uses HTTP/1.1 until it is closed.
        let isBound = exchange.httpVersion == 11 && exchange.request.url.origin.isSecure
        let speech = speech(of: exchange)
        guard isBound || isUsed && speech != .streams,
            let socket = loop.sockets.connection(to: port, from: localPort)
        else { return true }
        if isBound { loop.sockets.setSerial(socket) }
        guard isUsed, speech == .serial || loop.sockets.isSerial(socket) else { return true }
        if let isSoiled = loop.sockets.isSoiled(socket, duringCall: loop.curlCalls) {
            exchange.state.beginsAnew = isSoiled
        } else {
            var byte: UInt8 = 0
            exchange.state.beginsAnew =
                recv(socket, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)) >= 0
        }
        exchange.state.isOnSerial = !exchange.state.beginsAnew && speech == .either
        return !exchange.state.beginsAnew
    }

    /// The protocol of the connection assigned to an exchange.
    private enum Speech {
        /// HTTP/1: one response after another.
        case serial
        /// HTTP/2: frames arrive at any time and name their stream.
        case streams
        /// The host uses both protocols; the socket table knows the one of each socket.
        case either
    }

    private func speech(of exchange: Exchange) -> Speech {
        if exchange.httpVersion == 11 { return .serial }
        guard let place = exchange.state.place else { return .streams }
        guard exchange.request.url.origin.isSecure else {
            return place.isMultiplexed || exchange.httpVersion == 20 ? .streams : .serial
        }
        // Over TLS, the handshake negotiates the protocol.
        guard place.isSerial else { return .streams }
        return place.hasStreams ? .either : .serial
    }
}
