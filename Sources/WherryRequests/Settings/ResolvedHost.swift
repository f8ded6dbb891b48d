// Wherry: hosts with known addresses.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherrySystem
import WherryTransport

/// A host whose addresses are known, so that it needs no name lookup (C19).
package struct ResolvedHost: Hashable, Sendable {
    /// The host in lower-case ASCII, as in URLs; "*" for every host.
    package var host: String
    package var port: Int
    /// The addresses in numeric form.
    package var addresses: [String]

    /// Parses entries of the form "host:port:address[,address]...", as in `curl --resolve`,
    /// separated by white space.
    package static func all(in text: String) throws(WherryError) -> [ResolvedHost] {
        var found: [ResolvedHost] = []
        for word in text.utf8.split(whereSeparator: { $0 == 0x20 || (0x09...0x0D).contains($0) }) {
            let word = Substring(word)
            guard let host = ResolvedHost(word) else {
                throw WherryError(
                    .badValue,
                    "Could not parse the known addresses \"\(word)\". Use \"host:port:address,address\"."
                )
            }
            found.append(host)
        }
        return found
    }

    private init?(_ word: Substring) {
        var rest = word.utf8
        // A numeric address as the host is invalid: it needs no name lookup.
        guard let end = rest.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        let name = String(Substring(rest[..<end])).asciiLowercased
        guard let ascii = HTTPURL.asciiHost(name) else { return nil }
        host = ascii
        rest = rest[end...]
        guard host.utf8.first != UInt8(ascii: "["), NetworkAddress(host) == nil else { return nil }
        guard !host.isEmpty, rest.popFirst() == UInt8(ascii: ":"),
            let colon = rest.firstIndex(of: UInt8(ascii: ":")),
            let port = Int(Substring(rest[..<colon])), (1...65_535).contains(port)
        else { return nil }
        self.port = port
        addresses = []
        let list = Substring(rest[rest.index(after: colon)...])
        for part in list.split(separator: ",", omittingEmptySubsequences: false) {
            var address = part
            if address.first == "[", address.last == "]" {
                address = address.dropFirst().dropLast()
            }
            guard NetworkAddress(String(address)) != nil else { return nil }
            addresses.append(String(address))
        }
    }

    /// The entry in the form that libcurl expects.
    package var text: String {
        let list = addresses.map { $0.utf8.contains(0x3A) ? "[\($0)]" : $0 }
        return "\(host):\(port):\(list.joined(separator: ","))"
    }
}
