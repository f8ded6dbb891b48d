// Wherry: what the timed cache knows a request by.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// The identity of a request in the timed cache: base, URL, method and parameters as the caller
/// gave them (K3), and what the caller adds to keep answers apart (K11, K19).
package struct TimedKey: Hashable, Sendable {
    /// SJNetwork's identifier of the request, without the parameters that do not count.
    package let identifier: String
    /// What the identifiers of all requests to the URL start with; they share a folder.
    let prefix: String
    let method: String
    /// The URL for lists: without its query, in which secrets may stand (SEC-C10).
    let url: String
    /// Everything that has to be equal, the identifier too.
    let material: [UInt8]

    /// - Parameters:
    ///   - base: the base URL at the time of the call; `nil` where there is none or it is ignored.
    ///   - url: as the caller wrote it.
    ///   - method: as it is sent.
    ///   - parameters: the caller's own, before default ones are merged; `nil` for none.
    ///   - ignored: names of parameters that do not count, such as a time or a signature.
    ///   - varying: fields of the request that count, and their values; none by default.
    ///   - sensitive: more that has to be equal: a user's name, say.
    ///   - partition: keeps identities apart.
    package init(
        base: String?, url: String, method: String, parameters: JSON?, ignored: Set<String> = [],
        varying: [Headers.Field] = [], sensitive: String = "", partition: String = ""
    ) throws(JSONError) {
        var counted = parameters
        if !ignored.isEmpty, case .object(let object)? = parameters {
            var rest = JSONObject()
            for member in object where !ignored.contains(member.name) {
                rest[member.name] = member.value
            }
            // Nothing but a signature is the same as no parameters at all.
            counted = rest.isEmpty ? nil : .object(rest)
        }
        identifier = try RequestIdentity.request(
            base: base, url: url, method: method, parameters: counted)
        prefix = RequestIdentity.prefix(base: base, url: url)
        self.method = method
        self.url = String(url.prefix { $0 != "?" && $0 != "#" })
        var writer = BinaryWriter()
        writer.optional(base) { $0.text($1) }
        writer.text(url)
        writer.text(method)
        writer.counted(try counted?.printed(.pretty) ?? [])
        writer.text(sensitive)
        writer.text(partition)
        for field in varying.map({ ($0.name.lowercased(), $0.value) }).sorted(by: { $0.0 < $1.0 }) {
            writer.text(field.0)
            writer.optional(field.1) { $0.text($1) }
        }
        material = writer.bytes
        isPlain = varying.isEmpty && sensitive.isEmpty && partition.isEmpty
    }

    /// Whether nothing but the identifier tells it from others.
    let isPlain: Bool
}
