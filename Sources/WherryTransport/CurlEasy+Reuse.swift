// Wherry: whether a connection that was used before is clean.
// SPDX-License-Identifier: Apache-2.0

internal import CCurl
import Glibc

extension CurlEasy {
    /// So many connections are tried before a new one is made at any rate.
    static let maxStale = 8

    /// Called by libcurl when a connection is there, and before a byte is sent over it.
    ///
    /// libcurl 7.88 takes what came over an idle connection for the beginning of the next answer,
    /// so that a server, or a proxy in between, could slip in an answer to another question
    /// (RFC 9112 11.2). Between two exchanges of HTTP/1 nothing may come, not even an end.
    func mayUseConnection(to port: Int32, from localPort: Int32) -> Bool {
        guard let exchange, long(CURLINFO_NUM_CONNECTS) == 0, isSerial(exchange),
            let socket = loop.sockets.connection(to: port, from: localPort)
        else { return true }
        if let isSoiled = loop.sockets.isSoiled(socket, duringCall: loop.curlCalls) {
            exchange.state.isStale = isSoiled
            return !isSoiled
        }
        var byte: UInt8 = 0
        let count = recv(socket, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT))
        guard count >= 0 else { return true }
        exchange.state.isStale = true
        return false
    }

    /// Frames of HTTP/2 come at any time, and name the answer they belong to.
    private func isSerial(_ exchange: Exchange) -> Bool {
        if exchange.request.httpVersion == 11 { return true }
        guard let place = exchange.state.place, !place.isMultiplexed else { return false }
        // What a connection over TLS speaks is agreed on in its handshake.
        return exchange.request.url.origin.isSecure
            ? place.isSerial : exchange.request.httpVersion != 20
    }
}
