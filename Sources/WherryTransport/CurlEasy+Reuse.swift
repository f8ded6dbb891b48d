// Wherry: whether a connection that was used before is clean.
// SPDX-License-Identifier: Apache-2.0

internal import CCurl
import Glibc

extension CurlEasy {
    /// So many connections are tried before a new one is made at any rate.
    static let mostRestarts = 8

    /// Called by libcurl when a connection is there, and before a byte is sent over it.
    ///
    /// libcurl 7.88 takes what came over an idle connection for the beginning of the next answer,
    /// so that a server, or a proxy in between, could slip in an answer to another question
    /// (RFC 9112 11.2). Between two exchanges of HTTP/1 nothing may come, not even an end.
    ///
    /// It is called again where libcurl sends a request a second time by itself, whatever its
    /// method: a connection that was used before has broken without an answer.
    func mayUseConnection(to port: Int32, from localPort: Int32) -> Bool {
        guard let exchange else { return true }
        guard maySend(exchange) else { return false }
        guard isClean(exchange, port, localPort) else { return false }
        exchange.state.hasGoneOut = true
        beginToHear(from: localPort)
        return true
    }

    private func maySend(_ exchange: Exchange) -> Bool {
        guard exchange.state.hasGoneOut, head.version == 0 else { return true }
        // libcurl counts these for the handle, gives up at the sixth, and forgets them with a reset.
        isPlain = false
        guard long(CURLINFO_REQUEST_SIZE) > 0 else { return true }
        guard exchange.request.mayRepeat || isUnseen else {
            exchange.state.failure = TransportError(
                .reset,
                "The connection to \(exchange.request.url.origin.text) broke before an answer came, and \(exchange.request.method) does not go again by itself: the server may have acted on it")
            return false
        }
        exchange.state.resends += 1
        guard exchange.state.resends % Self.mostResends == 0 else { return true }
        exchange.state.beginsAnew = true
        return false
    }

    /// So many are left to libcurl in a row.
    private static let mostResends = 4

    private func isClean(_ exchange: Exchange, _ port: Int32, _ localPort: Int32) -> Bool {
        let isUsed = long(CURLINFO_NUM_CONNECTS) == 0
        // Over TLS a connection of one that asked for HTTP/1.1 speaks that for good.
        let isBound = exchange.request.httpVersion == 11 && exchange.request.url.origin.isSecure
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
            exchange.state.beginsAnew = recv(socket, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)) >= 0
        }
        exchange.state.isOnSerial = !exchange.state.beginsAnew && speech == .either
        return !exchange.state.beginsAnew
    }

    /// What a connection that an exchange was given speaks.
    private enum Speech {
        /// HTTP/1: one answer after the other.
        case serial
        /// HTTP/2: frames come at any time, and name the answer they belong to.
        case streams
        /// The host has spoken both: it is known of the socket.
        case either
    }

    private func speech(of exchange: Exchange) -> Speech {
        if exchange.request.httpVersion == 11 { return .serial }
        guard let place = exchange.state.place else { return .streams }
        guard exchange.request.url.origin.isSecure else {
            return place.isMultiplexed || exchange.request.httpVersion == 20 ? .streams : .serial
        }
        // What a connection over TLS speaks is agreed on in its handshake.
        guard place.isSerial else { return .streams }
        return place.hasStreams ? .either : .serial
    }
}
