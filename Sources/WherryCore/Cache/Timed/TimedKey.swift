// Wherry: what the timed cache knows a request by.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem
import WherryTransport

/// The identity of a request in the timed cache: base, URL, method and parameters as the caller
/// gave them (K3), and what the caller adds to keep answers apart (K11, K19).
///
/// The digests of the identifier are made each time that they are asked for: an answer in memory is
/// found without them.
package struct TimedKey: Hashable, Sendable {
    private let base: String?
    private let fullURL: String
    let method: String
    /// As the identifier has them: printed with sorted names; `nil` for none.
    private let parameters: [UInt8]?
    /// What keeps answers apart beside the identifier; empty for nothing.
    private let apart: [UInt8]

    /// What the identifiers of all requests to the URL start with; they share a folder.
    var prefix: String { RequestIdentity.prefix(base: base, url: fullURL) }
    /// What follows ``prefix`` in the identifier.
    var own: String { RequestIdentity.own(method: method, printed: parameters) }
    /// The absolute URL for lists, with its query. ``TimedCacheStore`` replaces secrets in it.
    var url: String {
        let absolute =
            if let base {
                try? ClientSettings.parseBase(base).resolving(fullURL)
            } else {
                try? HTTPURL(fullURL)
            }
        return String((absolute?.text ?? fullURL).prefix { $0 != "#" })
    }
    /// Whether nothing but the identifier tells it from others.
    var isPlain: Bool { apart.isEmpty }

    /// SJNetwork's identifier of the request, without the parameters that do not count.
    package var identifier: String {
        RequestIdentity.request(base: base, url: fullURL, method: method, printed: parameters)
    }

    /// Everything that has to be equal.
    var material: [UInt8] {
        var writer = BinaryWriter()
        writer.optional(base) { $0.text($1) }
        writer.text(fullURL)
        writer.text(method)
        writer.counted(parameters ?? [])
        writer.raw(apart)
        return writer.bytes
    }

    /// - Parameters:
    ///   - base: the base URL at the time of the call; `nil` where there is none or it is ignored.
    ///   - url: as the caller wrote it.
    ///   - method: as it is sent.
    ///   - parameters: the caller's own that count, before default ones are merged; `nil` for none.
    ///   - varying: fields of the request that count, and their values; none by default.
    ///   - sensitive: more that has to be equal: a user's name, say.
    ///   - partition: keeps identities apart.
    package init(
        base: String?, url: String, method: String, parameters: JSON?,
        varying: [Headers.Field] = [], sensitive: String = "", partition: String = ""
    ) throws(JSONError) {
        self.base = base
        fullURL = url
        self.method = method
        self.parameters = try parameters?.printed(.pretty)
        guard !(varying.isEmpty && sensitive.isEmpty && partition.isEmpty) else {
            apart = []
            return
        }
        var writer = BinaryWriter()
        writer.text(sensitive)
        writer.text(partition)
        // By name; several of one name stay in their order, which may mean something.
        let names = varying.enumerated().map { ($0.element.name.lowercased(), $0.offset) }
        for (name, place) in names.sorted(by: <) {
            writer.text(name)
            writer.optional(varying[place].value) { $0.text($1) }
        }
        apart = writer.bytes
    }
}
