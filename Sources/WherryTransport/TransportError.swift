// Wherry: why an exchange broke.
// SPDX-License-Identifier: Apache-2.0

/// What went wrong between the first byte of a request and the last of its answer.
package struct TransportError: Error, Sendable {
    /// The kinds that callers tell apart; each has one reason word of the public table.
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
        /// The key or the chain is none of those that the host is held to.
        case pin
        case revoked
        /// No version of TLS and no cipher that both accept.
        case tlsProtocol = "tls_protocol"
        /// The server wants a certificate of ours, or not this one.
        case clientCertificate = "client_certificate"
        case tls
        /// The host's address is of a kind that is not connected to.
        case addressDenied = "address_denied"
        case bodySource = "body_source"
        /// A file changed its size while it was sent.
        case fileChanged = "file_changed"
        /// A file could not be read while it was sent; `osCode` says why.
        case fileError = "file_error"
        case refused
        /// Every connection is taken, and it was not to wait for one.
        case busy
        case cancelled
        case noMemory = "no_memory"
        /// The process has no descriptor left for a socket.
        case tooManyFiles = "too_many_files"
        case proxy
        /// Only a mobile network leads there, and it was not to be used.
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

    /// A body of more decoded bytes than are to be collected.
    package static func tooLarge(_ limit: Int64) -> TransportError {
        TransportError(
            .tooLarge,
            "The body is larger than the limit of \(limit) bytes; raise it, stream the body or download it")
    }

    package init(_ kind: Kind, _ message: String, curlCode: Int32 = 0, osCode: Int32 = 0) {
        self.kind = kind
        self.message = message
        self.curlCode = curlCode
        self.osCode = osCode
    }
}
