// Wherry: the public error type.
// SPDX-License-Identifier: Apache-2.0

import Glibc
import WherrySystem
import WherryTransport

/// An error with a code, a stable reason, and an actionable message.
public struct WherryError: Error, Sendable {
    /// The category of an error; compare with the static members.
    public struct Code: Hashable, Sendable {
        /// The number in C; negative.
        public let rawValue: Int32
        private init(_ rawValue: Int32) { self.rawValue = rawValue }

        /// An invalid value: a URL, a header, an option.
        public static let argument = Code(-1)
        /// The call is not valid in the current state: already sent, resolved, or closed.
        public static let state = Code(-2)
        /// A wait or a transfer timed out.
        public static let timeout = Code(-3)
        /// Cancelled, or refused by a callback.
        public static let cancelled = Code(-4)
        /// Name lookup, connection, or stream failed.
        public static let network = Code(-5)
        /// The TLS peer could not be trusted.
        public static let tls = Code(-6)
        /// The server responded with an error.
        public static let http = Code(-7)
        /// An operation on a local file or directory failed.
        public static let file = Code(-8)
        /// The image is invalid or cannot be encoded.
        public static let image = Code(-9)
        /// The request was limited to the cache, which has no usable response.
        public static let cacheMiss = Code(-10)
        /// A size or count limit was exceeded.
        public static let limit = Code(-11)
        /// A bug in Wherry: please report it.
        public static let `internal` = Code(-12)
        /// Called in a forked child.
        public static let forked = Code(-13)
        /// In use by another transfer or process, or temporarily full.
        public static let busy = Code(-14)
    }

    private final class Storage: Sendable {
        let fields: Fields
        init(_ fields: Fields) {
            var fields = fields
            fields.message = MessageText.shortened(fields.message)
            self.fields = fields
        }
    }

    package struct Fields: Sendable {
        package var reason: ErrorReason
        package var message: String
        package var curlCode: Int32 = 0
        package var osCode: Int32 = 0
        package var httpStatus = 0
        package var retryAfterMilliseconds: Int64 = -1
        package var partialPath: String?
        package var failedImages: [ImageOutcome] = []
        package var response: Response?
        package var underlying: [WherryError] = []
    }

    private let storage: Storage

    package init(_ fields: Fields) {
        var fields = fields
        fields.message = PathText.shown(fields.message)
        storage = Storage(fields)
    }

    package init(_ reason: ErrorReason, _ message: String) {
        storage = Storage(Fields(reason: reason, message: PathText.shown(message)))
    }

    package var fields: Fields { storage.fields }

    /// Returns a copy with changed fields.
    package func with(_ change: (inout Fields) -> Void) -> WherryError {
        var fields = storage.fields
        change(&fields)
        return WherryError(fields)
    }

    package var reasonWord: ErrorReason { storage.fields.reason }

    /// The category.
    public var code: Code { storage.fields.reason.code }
    /// A stable identifier from the table in docs/errors.md, such as "bad_url" or "stalled".
    public var reason: String { storage.fields.reason.rawValue }
    /// One sentence: what was tried, what happened, what to do. Contains no secrets.
    public var message: String { storage.fields.message }
    /// The HTTP status of the response; 0 without one.
    public var httpStatus: Int { storage.fields.httpStatus }
    /// The CURLcode, or 0.
    public var curlCode: Int32 { storage.fields.curlCode }
    /// The errno, or 0.
    public var osCode: Int32 { storage.fields.osCode }
    /// Whether the same request may succeed on a retry.
    public var isRetryable: Bool {
        storage.fields.reason.isRetryable
            || (storage.fields.reason == .httpStatus
                && [408, 429, 500, 502, 503, 504].contains(httpStatus))
    }
    /// The delay that the server requested with Retry-After.
    public var retryAfter: Duration? {
        let milliseconds = storage.fields.retryAfterMilliseconds
        return milliseconds < 0 ? nil : .milliseconds(milliseconds)
    }
    /// The path of the partial file of a failed download.
    public var partialPath: String? { storage.fields.partialPath }
    /// The images of a failed upload that were not sent; all of them if the whole upload failed.
    public var failedImages: [ImageOutcome] { storage.fields.failedImages }
    /// The error response of the server, with its body.
    public var response: Response? { storage.fields.response }
    /// The underlying error.
    public var underlying: WherryError? { storage.fields.underlying.first }
}

extension WherryError.Code: CustomStringConvertible {
    /// The name as a stable identifier, such as "tls" or "cache_miss".
    public var description: String {
        switch self {
        case .argument: "argument"
        case .state: "state"
        case .timeout: "timeout"
        case .cancelled: "cancelled"
        case .network: "network"
        case .tls: "tls"
        case .http: "http"
        case .file: "file"
        case .image: "image"
        case .cacheMiss: "cache_miss"
        case .limit: "limit"
        case .internal: "internal"
        case .forked: "forked"
        case .busy: "busy"
        default: "code \(rawValue)"
        }
    }
}

extension WherryError: CustomStringConvertible {
    /// "bad_url: The URL ...".
    public var description: String { "\(reason): \(message)" }
}

extension WherryError {
    /// Converts the error of an exchange.
    package init(_ error: TransportError) {
        let reason: ErrorReason
        switch error.kind {
        case .badURL: reason = .badURL
        case .resolve: reason = .resolve
        case .connect: reason = .connect
        case .connectTimeout: reason = .connectTimeout
        case .firstByteTimeout: reason = .firstByteTimeout
        case .idleTimeout: reason = .idleTimeout
        case .totalTimeout: reason = .totalTimeout
        case .stalled: reason = .stalled
        case .reset: reason = .connectionReset
        case .truncated: reason = .truncated
        case .badProtocol: reason = .badProtocol
        case .badEncoding: reason = .badEncoding
        case .tooLarge: reason = .tooLarge
        case .headerTooLarge: reason = .headerTooLarge
        case .untrusted: reason = .untrusted
        case .expired: reason = .certificateExpired
        case .wrongName: reason = .wrongName
        case .pin: reason = .pin
        case .revoked: reason = .revoked
        case .tlsProtocol: reason = .tlsProtocol
        case .clientCertificate: reason = .clientCertificate
        case .tls: reason = .tls
        case .addressDenied: reason = .addressDenied
        case .fileChanged: reason = .fileChanged
        case .fileError: reason = Self.reason(ofErrno: error.osCode)
        // Callers cannot create body sources.
        case .bodySource: reason = .internal
        case .refused: reason = .refused
        case .busy: reason = .busy
        case .cancelled: reason = .cancelled
        case .noMemory: reason = .noMemory
        case .tooManyFiles: reason = .tooManyFiles
        case .proxy: reason = .proxy
        case .metered: reason = .metered
        case .shutDown: reason = .closed
        case .forked: reason = .forked
        case .internal: reason = .internal
        }
        self.init(
            Fields(
                reason: reason, message: error.message, curlCode: error.curlCode,
                osCode: error.osCode))
    }
}

extension WherryError {
    /// Converts a failed system call.
    package init(_ error: SystemError) {
        self.init(
            Fields(
                reason: Self.reason(ofErrno: error.code), message: error.description,
                osCode: error.code))
    }

    private static func reason(ofErrno code: Int32) -> ErrorReason {
        switch code {
        case ENOENT: .noFile
        case EACCES, EPERM: .noPermission
        case EROFS: .readOnly
        case ENOSPC, EDQUOT, EFBIG: .noSpace
        case EISDIR: .isDirectory
        case ENOTDIR: .badDirectory
        case EEXIST: .exists
        case ENOMEM: .noMemory
        case EMFILE, ENFILE: .tooManyFiles
        case ELIBACC: .oldLibcurl
        default: .io
        }
    }
}

extension WherryError {
    /// Returns the error message for a status that is not a success.
    package static func statusMessage(_ method: String, _ url: String, _ status: Int) -> String {
        "\(method) \(HTTPURL.redacted(url)) returned status \(status)"
    }
}
