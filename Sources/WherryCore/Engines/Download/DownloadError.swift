// Wherry: why a download ended without its file
// SPDX-License-Identifier: Apache-2.0

import Glibc
import WherrySystem

/// A failed download: a stable word, a sentence, and the numbers behind them.
package struct DownloadError: Error, Hashable, Sendable, CustomStringConvertible {
    package var reason: ErrorReason
    /// One sentence, without secrets.
    package var message: String
    /// The errno, or 0.
    package var osCode: Int32 = 0
    /// The HTTP status, or 0.
    package var status = 0
    /// The CURLcode, or 0.
    package var curlCode: Int32 = 0
    /// With `no_space`: the bytes still wanted and those free, as far as they are known.
    package var neededBytes: Int64?
    package var freeBytes: Int64?
    /// With `checksum`: what was promised and what was read back, in hexadecimal digits.
    package var expectedDigest: String?
    package var actualDigest: String?
    /// With `retry_later`: how long the server wants to be left alone, in seconds, and until when
    /// since 1970.
    package var retryAfter: Int64?
    package var retryAt: Int64?
    /// With `busy`: whether the other one downloads the same URL.
    package var isSameURL = false

    package init(_ reason: ErrorReason, _ message: String) {
        self.reason = reason
        self.message = message
    }

    package var description: String { "\(reason.rawValue): \(message)" }

    /// Whether a network that is gone brings it about.
    package var isOfNetwork: Bool {
        switch reason {
        case .resolve, .connect, .connectTimeout, .firstByteTimeout, .idleTimeout, .stalled,
            .connectionReset, .truncated:
            true
        default: false
        }
    }

    /// Whether another attempt may succeed by itself (DR15).
    package var isTransient: Bool {
        switch reason {
        case .resolve, .connect, .connectTimeout, .firstByteTimeout, .idleTimeout, .stalled,
            .connectionReset, .truncated, .tooManyFiles:
            true
        case .httpStatus: ResumeRules.isTransient(status: status)
        default: false
        }
    }
}

extension DownloadError {
    /// Trouble of an exchange, or of the client around it.
    package init(_ error: WherryError) {
        self.init(error.reasonWord, error.message)
        osCode = error.osCode
        status = error.httpStatus
        curlCode = error.curlCode
    }

    /// Trouble with a file as the word for it (DR23).
    package init(_ error: SystemError) {
        self.init(WherryError(error))
        if [ENAMETOOLONG, EINVAL, ELOOP].contains(error.code) { reason = .badPath }
    }

    /// The error everything throws.
    ///
    /// - Parameter partialPath: of the part if it was kept.
    package func wherryError(partialPath: String? = nil) -> WherryError {
        var fields = WherryError.Fields(reason: reason, message: message)
        fields.osCode = osCode
        fields.curlCode = curlCode
        fields.httpStatus = status
        fields.partialPath = partialPath
        if let retryAfter {
            let (milliseconds, overflow) = retryAfter.multipliedReportingOverflow(by: 1_000)
            fields.retryAfterMilliseconds = overflow ? .max : milliseconds
        }
        return WherryError(fields)
    }

    /// Not enough room for what is still to come.
    static func noSpace(needed: Int64, free: Int64, osCode: Int32, path: String) -> DownloadError {
        var error = DownloadError(
            .noSpace, "\(path) needs \(needed) more bytes, and \(free) are free")
        error.neededBytes = needed
        error.freeBytes = free
        error.osCode = osCode
        return error
    }
}
