// Wherry: keys of the timed cache.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherrySystem
import WherryTransport

/// The key of a request in the timed cache: base, URL, method and parameters as the caller wrote
/// them (K3), and the caller's additions that separate responses (K11, K19).
///
/// The digests of the identifier are computed on each use: a response in memory is found without
/// them.
package struct TimedKey: Hashable, Sendable {
    private let base: String?
    private let fullURL: String
    let method: String
    /// As in the identifier: JSON with sorted names; `nil` for none.
    private let parameters: [UInt8]?
    /// The data besides the identifier that separate responses; may be empty.
    private let apart: [UInt8]

    /// The common prefix of the identifiers of all requests to the URL, which share a directory.
    var prefix: String { RequestIdentity.prefix(base: base, url: fullURL) }
    /// The part of the identifier after ``prefix``.
    var own: String { RequestIdentity.own(method: method, printed: parameters) }
    /// The absolute URL with its query, for lists. ``TimedCacheStore`` replaces its secrets.
    var url: String {
        let absolute =
            if let base {
                try? HTTPURL.base(base).resolving(fullURL)
            } else {
                try? HTTPURL(fullURL)
            }
        return String((absolute?.text ?? fullURL).prefix { $0 != "#" })
    }
    /// Whether the identifier alone determines the key.
    var isPlain: Bool { apart.isEmpty }

    /// SJNetwork's identifier of the request, without ignored parameters.
    package var identifier: String {
        RequestIdentity.request(base: base, url: fullURL, method: method, printed: parameters)
    }

    /// All parts of the key.
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
    ///   - base: The base URL at the time of the call; `nil` if there is none or it is ignored.
    ///   - url: The URL as the caller wrote it.
    ///   - method: The method as sent.
    ///   - parameters: The caller's parameters that count, before default ones are merged; `nil`
    ///     for none.
    ///   - varying: The request headers that count, with their values. Default: none.
    ///   - sensitive: More data that must be equal, such as a user name.
    ///   - partition: Separates identities.
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
        // Sorted by name; repeated names keep their order, which may be significant.
        let names = varying.enumerated().map { ($0.element.name.lowercased(), $0.offset) }
        for (name, place) in names.sorted(by: <) {
            writer.text(name)
            writer.optional(varying[place].value) { $0.text($1) }
        }
        apart = writer.bytes
    }
}
