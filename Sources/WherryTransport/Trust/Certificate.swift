// Wherry: parsing certificates for pins.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// An X.509 certificate, or a public key alone.
package struct Certificate: Hashable, Sendable {
    /// The whole certificate; empty for a public key alone.
    package let der: [UInt8]
    /// The SubjectPublicKeyInfo.
    package let publicKey: [UInt8]

    /// Parses one certificate; `nil` if it is invalid or has trailing data.
    package init?(der: [UInt8]) {
        var whole = DERReader(der[...])
        guard var certificate = whole.enter(0x30), whole.isAtEnd,
            var body = certificate.enter(0x30)
        else { return nil }
        // Version (optional), serial number, algorithm, issuer, validity, subject.
        _ = body.read(0xA0)
        guard body.read(0x02) != nil, body.read(0x30) != nil, body.read(0x30) != nil,
            body.read(0x30) != nil, body.read(0x30) != nil, let key = body.read(0x30)
        else { return nil }
        self.der = der
        publicKey = Array(key)
    }

    private init?(publicKey: [UInt8]) {
        var whole = DERReader(publicKey[...])
        guard var key = whole.enter(0x30), whole.isAtEnd, key.read(0x30) != nil,
            key.read(0x03) != nil
        else { return nil }
        der = []
        self.publicKey = publicKey
    }

    /// The base64 SHA-256 of the key, as used in pins.
    package var keyDigest: String { Base64.encode(Digest.hash(of: publicKey, .sha256)) }

    /// The supported labels after "-----BEGIN", without spaces.
    private static let labels: Set<String> = [
        "CERTIFICATE-----", "X509CERTIFICATE-----", "TRUSTEDCERTIFICATE-----", "PUBLICKEY-----",
    ]

    /// Returns the certificates and public keys in a file: PEM with other text around it, or one in
    /// DER. `nil` if there is none, or if one is invalid.
    package static func all(in bytes: [UInt8]) -> [Certificate]? {
        if let one = Certificate(der: bytes) ?? Certificate(publicKey: bytes) { return [one] }
        let lines = bytes.split { $0 == 0x0A || $0 == 0x0D }.map {
            String(decoding: $0, as: UTF8.self).filter { $0 != " " && $0 != "\t" }
        }
        var found: [Certificate] = []
        var body: String?
        var end = ""
        for line in lines {
            if line.hasPrefix("-----BEGIN") {
                guard body == nil else { return nil }
                let label = line.dropFirst("-----BEGIN".count)
                end = "-----END" + label
                body = labels.contains(String(label)) ? "" : nil
            } else if line.hasPrefix("-----END"), let text = body {
                body = nil
                guard line == end, let der = Base64.decode(text),
                    let one = Certificate(der: der) ?? Certificate(publicKey: der)
                else { return nil }
                found.append(one)
            } else {
                body?.append(line)
            }
        }
        return found.isEmpty || body != nil ? nil : found
    }
}

/// Reads DER values (X.690) in order. Checks lengths but not contents.
private struct DERReader {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    var isAtEnd: Bool { rest.isEmpty }

    /// Returns the next value with its tag and length, if it has this tag.
    mutating func read(_ tag: UInt8) -> ArraySlice<UInt8>? {
        guard let (header, length) = next(tag) else { return nil }
        let value = rest.prefix(header + length)
        rest = rest.dropFirst(header + length)
        return value
    }

    /// Returns a reader for the contents of the next value, if it has this tag.
    mutating func enter(_ tag: UInt8) -> DERReader? {
        guard let (header, _) = next(tag), let value = read(tag) else { return nil }
        return DERReader(value.dropFirst(header))
    }

    private func next(_ tag: UInt8) -> (header: Int, length: Int)? {
        let bytes = rest.prefix(6)
        guard bytes.first == tag, bytes.count >= 2 else { return nil }
        let first = Int(bytes[bytes.startIndex + 1])
        var header = 2
        var length = first
        if first >= 0x80 {
            let count = first & 0x7F
            guard (1...3).contains(count), bytes.count >= 2 + count else { return nil }
            header += count
            length = bytes.dropFirst(2).prefix(count).reduce(0) { $0 << 8 | Int($1) }
        }
        return rest.count >= header + length ? (header, length) : nil
    }
}
