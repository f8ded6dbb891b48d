// Wherry: binary encoding of stored responses.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

extension StoredResponse {
    /// Encodes everything except the body.
    func description() -> [UInt8] {
        var writer = BinaryWriter()
        writer.integer(UInt16(clamping: status))
        writer.integer(UInt8(clamping: httpVersion))
        writer.integer(UInt8(isDecoded ? 1 : 0))
        writer.integer(freshness.date)
        writer.integer(freshness.responseTime)
        writer.integer(freshness.initialAge)
        writer.integer(freshness.lifetime)
        writer.integer(freshness.source.rawValue)
        let flags = [control.noCache, control.mustRevalidate, control.isImmutable]
        writer.integer(
            flags.enumerated().reduce(UInt8(0)) { $0 | ($1.element ? 1 << $1.offset : 0) })
        writer.optional(control.staleWhileRevalidate) { $0.integer($1) }
        writer.optional(control.staleIfError) { $0.integer($1) }
        writer.optional(etag) { $0.text($1) }
        writer.optional(lastModified) { $0.text($1) }
        writer.optional(part) { writer, part in
            writer.integer(part.first)
            writer.integer(part.last)
            writer.optional(part.total) { $0.integer($1) }
        }
        writer.integer(UInt16(clamping: selecting.fields.count))
        for field in selecting.fields {
            writer.text(field.name)
            writer.optional(field.value) { $0.text($1) }
        }
        writer.counted(block)
        writer.integer(UInt16(clamping: leftOut.count))
        for name in leftOut { writer.text(name) }
        return writer.bytes
    }

    /// Decodes the result of ``description()`` with a body; `nil` if malformed, or if a part
    /// contradicts its body.
    ///
    /// - Parameter body: `nil` leaves it out.
    init?(description: [UInt8], body: Bytes?) {
        var reader = BinaryReader(description)
        guard let status = reader.integer(UInt16.self), let version = reader.integer(UInt8.self),
            let isDecoded = reader.integer(UInt8.self), let date = reader.integer(Int64.self),
            let responseTime = reader.integer(Int64.self),
            let initialAge = reader.integer(Int64.self), let lifetime = reader.integer(Int64.self),
            let source = reader.integer(UInt8.self).flatMap({ Freshness.Source(rawValue: $0) }),
            let flags = reader.integer(UInt8.self),
            let staleWhileRevalidate = reader.optional({ $0.integer(Int64.self) }),
            let staleIfError = reader.optional({ $0.integer(Int64.self) }),
            let etag = reader.optional({ $0.text() }),
            let lastModified = reader.optional({ $0.text() }),
            let part = reader.optional({ StoredPart(&$0) }),
            let fieldCount = reader.integer(UInt16.self)
        else { return nil }
        var fields: [SelectingFields.Field] = []
        for _ in 0..<fieldCount {
            guard let name = reader.text(), let value = reader.optional({ $0.text() }) else {
                return nil
            }
            fields.append(.init(name: name, value: value))
        }
        guard let block = reader.counted(), let nameCount = reader.integer(UInt16.self) else {
            return nil
        }
        var leftOut: [String] = []
        for _ in 0..<nameCount {
            guard let name = reader.text() else { return nil }
            leftOut.append(name)
        }
        guard reader.isAtEnd, initialAge >= 0, lifetime >= 0,
            part == nil || body == nil || part?.count == body.map({ Int64($0.count) })
        else { return nil }
        var control = ReuseControl()
        control.noCache = flags & 1 != 0
        control.mustRevalidate = flags & 2 != 0
        control.isImmutable = flags & 4 != 0
        control.staleWhileRevalidate = staleWhileRevalidate
        control.staleIfError = staleIfError
        self.init(
            status: Int(status), httpVersion: Int(version), block: Bytes(block),
            selecting: SelectingFields(fields: fields),
            freshness: Freshness(
                date: date, responseTime: responseTime, initialAge: initialAge,
                lifetime: lifetime, source: source),
            control: control, etag: etag, lastModified: lastModified, part: part,
            isDecoded: isDecoded == 1, leftOut: leftOut, body: body ?? Bytes())
    }
}

extension StoredPart {
    fileprivate init?(_ reader: inout BinaryReader) {
        guard let first = reader.integer(Int64.self), let last = reader.integer(Int64.self),
            let total = reader.optional({ $0.integer(Int64.self) }), first >= 0, first <= last,
            last < .max
        else { return nil }
        self.init(first: first, last: last, total: total)
    }
}
