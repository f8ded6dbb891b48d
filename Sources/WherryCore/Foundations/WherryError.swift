// Wherry: the one error that everything throws.
// SPDX-License-Identifier: Apache-2.0

import Glibc
import WherrySystem
import WherryTransport

/// What went wrong: a coarse code, a stable word, and a sentence a person can act on.
public struct WherryError: Error, Sendable {
    /// The coarse kind of an error; compare with the static members.
    public struct Code: Hashable, Sendable {
        /// The number that C knows it by; negative.
        public let rawValue: Int32
        private init(_ rawValue: Int32) { self.rawValue = rawValue }

        /// A value that cannot be used: a URL, a header, an option.
        public static let argument = Code(-1)
        /// Not now: already sent, answered, or closed.
        public static let state = Code(-2)
        /// The wait or the transfer ran out of time.
        public static let timeout = Code(-3)
        /// It was cancelled, or a decision refused it.
        public static let cancelled = Code(-4)
        /// Name lookup, connection, or a broken stream.
        public static let network = Code(-5)
        /// The peer could not be trusted.
        public static let tls = Code(-6)
        /// An answer arrived, and it refused the request.
        public static let http = Code(-7)
        /// The local file or directory.
        public static let file = Code(-8)
        /// Not an image, or one that cannot be encoded.
        public static let image = Code(-9)
        /// The request was for the cache alone, and nothing usable is stored.
        public static let cacheMiss = Code(-10)
        /// A limit of size or count.
        public static let limit = Code(-11)
        /// A fault of Wherry's own: please report it.
        public static let `internal` = Code(-12)
        /// Called in a forked child.
        public static let forked = Code(-13)
        /// Held by another transfer or process, or full for the moment.
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

    /// The same error with some fields changed.
    package func with(_ change: (inout Fields) -> Void) -> WherryError {
        var fields = storage.fields
        change(&fields)
        return WherryError(fields)
    }

    package var reasonWord: ErrorReason { storage.fields.reason }

    /// The coarse kind.
    public var code: Code { storage.fields.reason.code }
    /// A stable word from the table in docs/errors.md, such as "bad_url" or "stalled".
    public var reason: String { storage.fields.reason.rawValue }
    /// One sentence: what was tried, what happened, what to do. Without secrets.
    public var message: String { storage.fields.message }
    /// The HTTP status of the answer, 0 if none came.
    public var httpStatus: Int { storage.fields.httpStatus }
    /// The CURLcode, or 0.
    public var curlCode: Int32 { storage.fields.curlCode }
    /// The errno, or 0.
    public var osCode: Int32 { storage.fields.osCode }
    /// Whether the same request may well succeed when sent again as it is.
    public var isRetryable: Bool {
        storage.fields.reason.isRetryable
            || (storage.fields.reason == .httpStatus
                && [408, 429, 500, 502, 503, 504].contains(httpStatus))
    }
    /// How long the server asked to be left alone.
    public var retryAfter: Duration? {
        let milliseconds = storage.fields.retryAfterMilliseconds
        return milliseconds < 0 ? nil : .milliseconds(milliseconds)
    }
    /// Where the partial file of a failed download was kept.
    public var partialPath: String? { storage.fields.partialPath }
    /// The pictures of a failed upload that did not get through; all of them if it failed whole.
    public var failedImages: [ImageOutcome] { storage.fields.failedImages }
    /// The answer that came, with its body: the server's own words.
    public var response: Response? { storage.fields.response }
    /// The error behind this one.
    public var underlying: WherryError? { storage.fields.underlying.first }
}

extension WherryError.Code: CustomStringConvertible {
    /// Its name as a stable word, such as "tls" or "cache_miss".
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
    /// The public form of what broke an exchange.
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
        // No caller makes a source of his own.
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
    /// The public form of a failed system call.
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
        default: .io
        }
    }
}
