// Wherry: errors of an exchange.
// SPDX-License-Identifier: Apache-2.0

/// An error between the first byte of a request and the last byte of its response.
package struct TransportError: Error, Sendable {
    /// The kinds that callers distinguish; each has one error reason.
    package enum Kind: String, Sendable {
        case badURL = "bad_url"
        case resolve
        case connect
        case connectTimeout = "connect_timeout"
        case firstByteTimeout = "first_byte_timeout"
        case idleTimeout = "idle_timeout"
        case totalTimeout = "total_timeout"
        case stalled
        case reset = "connection_reset"
        case truncated
        case badProtocol = "protocol"
        case badEncoding = "bad_encoding"
        case tooLarge = "too_large"
        case headerTooLarge = "header_too_large"
        case untrusted
        case expired = "certificate_expired"
        case wrongName = "wrong_name"
        /// The key or the chain matches none of the host's pins.
        case pin
        case revoked
        /// Client and server share no TLS version or cipher.
        case tlsProtocol = "tls_protocol"
        /// The server requires a client certificate, or rejected it.
        case clientCertificate = "client_certificate"
        case tls
        /// The host's address is blocked.
        case addressDenied = "address_denied"
        case bodySource = "body_source"
        /// A file changed its size during the transfer.
        case fileChanged = "file_changed"
        /// A file could not be read during the transfer; `osCode` says why.
        case fileError = "file_error"
        case refused
        /// All connections are in use, and the exchange must not wait.
        case busy
        case cancelled
        case noMemory = "no_memory"
        /// The process has no free descriptor for a socket.
        case tooManyFiles = "too_many_files"
        case proxy
        /// The host requires a cellular network, which is not allowed.
        case metered
        case shutDown = "shut_down"
        case forked
        case `internal`
    }

    package var kind: Kind
    /// One sentence: what was tried and what happened, without secrets.
    package var message: String
    /// The CURLcode, or 0.
    package var curlCode: Int32
    /// The errno, or 0.
    package var osCode: Int32

    /// Returns the error for a body whose decoded size exceeds the limit.
    package static func tooLarge(_ limit: Int64) -> TransportError {
        TransportError(
            .tooLarge,
            "The body is larger than the limit of \(limit) bytes. Raise the limit, stream the body, or download it."
        )
    }

    package init(_ kind: Kind, _ message: String, curlCode: Int32 = 0, osCode: Int32 = 0) {
        self.kind = kind
        self.message = message
        self.curlCode = curlCode
        self.osCode = osCode
    }
}
