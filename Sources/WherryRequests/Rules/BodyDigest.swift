// Wherry: digests of bodies and parts, sent as headers.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherrySystem
import WherryTransport

/// Computes the headers that carry the digest of a body (U24): Content-MD5 (RFC 1864), and
/// Content-Digest (RFC 9530) for SHA-256 and SHA-512.
package enum BodyDigest {
    /// Returns the algorithm for the value of an option; the values are those of `wherry_digest`.
    package static func algorithm(_ value: Int64) -> DigestAlgorithm? {
        switch value {
        case 1: .md5
        case 3: .sha256
        case 4: .sha512
        default: nil
        }
    }

    /// Throws if a digest is requested for a streamed body. The headers are sent first, before such
    /// a body is known.
    package static func check(_ request: Request, _ options: OptionTable) throws(WherryError) {
        guard options[.bodyDigest] != 0 || options[.partDigests] != 0, request.isWritten else {
            return
        }
        throw WherryError(
            .badOption,
            "Could not send a digest: it precedes the body, which is written during the transfer. Turn body and part digests off."
        )
    }

    /// Returns the header with the digest of a body; `nil` without a body, or if `isStopped`
    /// returns true.
    ///
    /// Reads the whole body, so call it on a worker. Throws the error of reading a file.
    package static func field(
        _ algorithm: DigestAlgorithm, of body: ExchangeBody, isStopped: () -> Bool = { false }
    ) throws(WherryError) -> Headers.Field? {
        if case .none = body { return nil }
        guard let value = try value(algorithm, of: body, isStopped: isStopped) else { return nil }
        let text = Base64.encode(value)
        switch algorithm {
        case .md5: return Headers.Field(name: "Content-MD5", value: text)
        case .sha1: return Headers.Field(name: "Content-Digest", value: "sha=:\(text):")
        case .sha256: return Headers.Field(name: "Content-Digest", value: "sha-256=:\(text):")
        case .sha512: return Headers.Field(name: "Content-Digest", value: "sha-512=:\(text):")
        // RFC 9530 registers no name for SHA-512/256.
        case .sha512_256: return nil
        }
    }

    /// Returns the digest of a body; without a body, the digest of zero bytes. Returns `nil` for a
    /// streamed body, or if `isStopped` returns true.
    ///
    /// Reads the whole body, so call it on a worker. Throws the error of reading a file.
    package static func value(
        _ algorithm: DigestAlgorithm, of body: ExchangeBody, isStopped: () -> Bool = { false }
    ) throws(WherryError) -> [UInt8]? {
        var digest = Digest(algorithm)
        switch body {
        case .none: break
        case .bytes(let bytes): unsafe bytes.withUnsafeBytes { unsafe digest.update($0) }
        case .source(let source):
            func add(_ piece: UnsafeRawBufferPointer) -> Bool {
                unsafe digest.update(piece)
                return !isStopped()
            }
            do throws(SystemError) {
                let isWhole =
                    switch source {
                    case let source as SegmentedBody: unsafe try source.forEachPiece(add)
                    case let source as CodedBody: unsafe try source.forEachPiece(add)
                    default: false
                    }
                guard isWhole else { return nil }
            } catch {
                throw WherryError(error)
            }
        }
        let value = digest.finalize()
        guard value.count == algorithm.byteCount else {
            throw WherryError(.internal, "The digest of the body could not be computed")
        }
        return value
    }
}
