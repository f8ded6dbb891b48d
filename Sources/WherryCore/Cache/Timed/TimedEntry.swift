// Wherry: an answer of the timed cache.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem
import WherryTransport

/// Why the timed cache does not give an answer (K5), in the order in which the reasons are looked
/// for.
package enum TimedRefusal: String, Error, CaseIterable, Sendable {
    /// Nothing is stored.
    case missing
    /// What is stored cannot be read.
    case damaged
    /// It was stored to be used for no time at all.
    case duration
    /// It was stored later than now: the clock went back.
    case clock
    /// It is older than it may be.
    case expired
    /// The app has, or had, another version.
    case appVersion = "app_version"
    /// The caller counts another version of the answer.
    case cacheVersion = "cache_version"
}

/// An answer that is good for a time the caller has set, whatever its header says.
package struct TimedEntry: Sendable, Equatable {
    /// SJNetwork's identifier of the request.
    package var identifier: String
    package var method: String
    /// Absolute. On disk and in lists the secrets in its query are digests.
    package var url: String
    package var status: Int
    package var httpVersion: Int
    /// The fields of the answer, but for those of one connection and cookies.
    package var block: Bytes
    package var body: Bytes
    /// Milliseconds since 1970.
    package var storedAt: Int64
    /// Milliseconds.
    package var duration: Int64
    /// `nil` where the app did not say.
    package var appVersion: String?
    package var cacheVersion: Int64

    package init(
        _ key: TimedKey, head: ResponseHead, body: Bytes, storedAt: Int64, duration: Int64,
        appVersion: String?, cacheVersion: Int64 = 0
    ) {
        identifier = key.identifier
        method = key.method
        url = key.url
        status = head.status
        httpVersion = head.httpVersion
        block = StoredFields.stored(head, isDecoded: false)
        self.body = body
        self.storedAt = storedAt
        self.duration = duration
        self.appVersion = appVersion
        self.cacheVersion = cacheVersion
    }

    package var head: ResponseHead {
        ResponseHead(status: status, httpVersion: httpVersion, block: block)
    }

    /// How long it is still good; 0 or less: no longer. Milliseconds.
    package func remaining(at now: Int64) -> Int64 {
        storedAt.addingSaturating(duration).subtractingSaturating(now)
    }

    /// Why it may not be given; `nil` where it may.
    ///
    /// - Parameters:
    ///   - now: milliseconds since 1970.
    ///   - appVersion: of the app that asks.
    ///   - cacheVersion: that the caller counts.
    package func refusal(
        at now: Int64, appVersion: String?, cacheVersion: Int64 = 0
    ) -> TimedRefusal? {
        if duration <= 0 { return .duration }
        let age = now.subtractingSaturating(storedAt)
        if age < 0 { return .clock }
        if age > duration { return .expired }
        guard let appVersion, appVersion == self.appVersion else { return .appVersion }
        return cacheVersion == self.cacheVersion ? nil : .cacheVersion
    }

    // MARK: Coding

    func description() -> [UInt8] {
        var writer = BinaryWriter()
        writer.text(identifier)
        writer.text(method)
        writer.text(url)
        writer.integer(UInt16(clamping: status))
        writer.integer(UInt8(clamping: httpVersion))
        writer.integer(duration)
        writer.optional(appVersion) { $0.text($1) }
        writer.integer(cacheVersion)
        writer.counted(block)
        return writer.bytes
    }

    /// Out of a file; `nil` for what is none.
    init?(_ file: EntryFile) {
        var reader = BinaryReader(file.description)
        guard file.kind == .response, let identifier = reader.text(), let method = reader.text(),
            let url = reader.text(), let status = reader.integer(UInt16.self),
            let version = reader.integer(UInt8.self), let duration = reader.integer(Int64.self),
            let appVersion = reader.optional({ $0.text() }),
            let cacheVersion = reader.integer(Int64.self), let block = reader.counted(),
            reader.isAtEnd
        else { return nil }
        self.identifier = identifier
        self.method = method
        self.url = url
        self.status = Int(status)
        httpVersion = Int(version)
        self.block = Bytes(block)
        body = file.body
        storedAt = file.storedAt
        self.duration = duration
        self.appVersion = appVersion
        self.cacheVersion = cacheVersion
    }
}
