// Wherry: hosts whose addresses are given.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem
import WherryTransport

/// A host that is not looked up: its addresses are known (C19).
package struct ResolvedHost: Hashable, Sendable {
    /// In ASCII and lower case, as URLs have it; "*" for every host.
    package var host: String
    package var port: Int
    /// Each an address in digits.
    package var addresses: [String]

    /// Reads "host:port:address[,address]...", as `curl --resolve` takes it, with white space between
    /// such words.
    package static func all(in text: String) throws(WherryError) -> [ResolvedHost] {
        var found: [ResolvedHost] = []
        for word in text.utf8.split(whereSeparator: { $0 == 0x20 || (0x09...0x0D).contains($0) }) {
            let word = Substring(word)
            guard let host = ResolvedHost(word) else {
                throw WherryError(
                    .badValue,
                    "Known addresses are given as \"host:port:address,address\", and \"\(word)\" is not"
                )
            }
            found.append(host)
        }
        return found
    }

    private init?(_ word: Substring) {
        var rest = word.utf8
        // An address in the place of the host would not be looked up anyway.
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
            if address.first == "[", address.last == "]" { address = address.dropFirst().dropLast() }
            guard NetworkAddress(String(address)) != nil else { return nil }
            addresses.append(String(address))
        }
    }

    /// As libcurl takes it.
    package var text: String {
        let list = addresses.map { $0.utf8.contains(0x3A) ? "[\($0)]" : $0 }
        return "\(host):\(port):\(list.joined(separator: ","))"
    }
}
