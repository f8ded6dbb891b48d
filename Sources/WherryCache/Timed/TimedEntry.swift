// Wherry: entries of the timed cache.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem
import WherryTransport

/// The reason why the timed cache does not return a response (K5), in the order of the checks.
package enum TimedRefusal: String, Error, CaseIterable, Sendable {
    /// No response is stored.
    case missing
    /// The stored response is unreadable.
    case damaged
    /// It was stored with a duration of zero or less.
    case duration
    /// It was stored in the future: the clock went back.
    case clock
    /// It is older than its duration.
    case expired
    /// It was stored by another version of the app.
    case appVersion = "app_version"
    /// It has another cache version.
    case cacheVersion = "cache_version"
}

/// A response that is valid for a time set by the caller, whatever its headers say.
package struct TimedEntry: Sendable, Equatable {
    /// SJNetwork's identifier of the request.
    package var identifier: String
    package var method: String
    /// The absolute URL. On disk and in lists, secrets in its query are digests.
    package var url: String
    package var status: Int
    package var httpVersion: Int
    /// The response headers, except cookies and those for a connection.
    package var block: Bytes
    package var body: Bytes
    /// In milliseconds since 1970.
    package var storedAt: Int64
    /// In milliseconds.
    package var duration: Int64
    /// `nil` if the app has not set it.
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

    /// Returns the remaining lifetime in milliseconds; 0 or less if expired.
    package func remaining(at now: Int64) -> Int64 {
        storedAt.addingSaturating(duration).subtractingSaturating(now)
    }

    /// Returns why the entry is unusable; `nil` if it is usable.
    ///
    /// - Parameters:
    ///   - now: Milliseconds since 1970.
    ///   - appVersion: The version of the requesting app.
    ///   - cacheVersion: The version set by the caller.
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

    // MARK: Encoding

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

    /// Decodes a file; `nil` if invalid.
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
