// Wherry: download errors.
// SPDX-License-Identifier: Apache-2.0

import Glibc
import WherryHTTP
import WherrySystem

/// A failed download: a stable reason, a message, and details.
package struct DownloadError: Error, Hashable, Sendable, CustomStringConvertible {
    package var reason: ErrorReason
    /// One sentence without secrets.
    package var message: String
    /// The errno, or 0.
    package var osCode: Int32 = 0
    /// The HTTP status, or 0.
    package var status = 0
    /// The CURLcode, or 0.
    package var curlCode: Int32 = 0
    /// With `no_space`: the bytes still needed and the bytes free, if known.
    package var neededBytes: Int64?
    package var freeBytes: Int64?
    /// With `checksum`: the expected and the actual digest, in hexadecimal digits.
    package var expectedDigest: String?
    package var actualDigest: String?
    /// With `retry_later`: the delay that the server requires, in seconds, and the time it ends, in
    /// seconds since 1970.
    package var retryAfter: Int64?
    package var retryAt: Int64?
    /// With `busy`: whether the other download has the same URL.
    package var isSameURL = false

    package init(_ reason: ErrorReason, _ message: String) {
        self.reason = reason
        self.message = message
    }

    package var description: String { "\(reason.rawValue): \(message)" }

    /// Whether a network outage can cause this error.
    package var isOfNetwork: Bool {
        switch reason {
        case .resolve, .connect, .connectTimeout, .firstByteTimeout, .idleTimeout, .stalled,
            .connectionReset, .truncated:
            true
        default: false
        }
    }

    /// Whether a retry may succeed (DR15).
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
    /// Converts an error of an exchange or of its client.
    package init(_ error: WherryError) {
        self.init(error.reasonWord, error.message)
        osCode = error.osCode
        status = error.httpStatus
        curlCode = error.curlCode
    }

    /// Converts a file system error (DR23).
    package init(_ error: SystemError) {
        self.init(WherryError(error))
        if [ENAMETOOLONG, EINVAL, ELOOP].contains(error.code) { reason = .badPath }
    }

    /// Converts the error to the public error type.
    ///
    /// - Parameter partialPath: The path of the partial file, if it was kept.
    package func wherryError(partialPath: String? = nil) -> WherryError {
        WherryError(reason, message).with { fields in
            fields.osCode = osCode
            fields.curlCode = curlCode
            fields.httpStatus = status
            fields.partialPath = partialPath
            if let retryAfter {
                let (milliseconds, overflow) = retryAfter.multipliedReportingOverflow(by: 1_000)
                fields.retryAfterMilliseconds = overflow ? .max : milliseconds
            }
        }
    }

    /// Returns the error for too little free space.
    static func noSpace(needed: Int64, free: Int64, osCode: Int32, path: String) -> DownloadError {
        var error = DownloadError(
            .noSpace,
            "There is not enough disk space: \(path) needs \(needed) more bytes, and \(free) are free. Free some space."
        )
        error.neededBytes = needed
        error.freeBytes = free
        error.osCode = osCode
        return error
    }
}
