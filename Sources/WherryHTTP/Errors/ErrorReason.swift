// Wherry: the table of error reasons.
// SPDX-License-Identifier: Apache-2.0

/// A stable word for the reason of an error, with its code. The raw value is the same in C, Python
/// and Swift; docs/errors.md explains each.
package enum ErrorReason: String, CaseIterable, Sendable {
    // argument
    case badHandle = "bad_handle"
    case badArgument = "bad_argument"
    case badOption = "bad_option"
    case badValue = "bad_value"
    case badHeader = "bad_header"
    case badMethod = "bad_method"
    case badURL = "bad_url"
    case badParameters = "bad_parameters"
    case badJSON = "bad_json"
    case badText = "bad_text"
    case badDigest = "bad_digest"
    case badPath = "bad_path"
    case badPin = "bad_pin"
    case badCertificate = "bad_certificate"
    case httpsOnly = "https_only"
    case noImages = "no_images"
    case notFound = "not_found"
    // state
    case closed
    case needsQueue = "needs_queue"
    case resolved
    case wrongState = "wrong_state"
    case hookExpired = "hook_expired"
    case lastPage = "last_page"
    case alreadyStarted = "already_started"
    // timeout
    case timeout
    case connectTimeout = "connect_timeout"
    case firstByteTimeout = "first_byte_timeout"
    case idleTimeout = "idle_timeout"
    case totalTimeout = "total_timeout"
    case stalled
    // cancelled
    case cancelled
    case refused
    case replaced
    // network
    case resolve
    case connect
    case connectionReset = "connection_reset"
    case truncated
    case badProtocol = "protocol"
    case badEncoding = "bad_encoding"
    case lengthUnverified = "length_unverified"
    case proxy
    case addressDenied = "address_denied"
    case unstable
    case offline
    case metered
    case noNetworkState = "no_network_state"
    // tls
    case untrusted
    case certificateExpired = "certificate_expired"
    case wrongName = "wrong_name"
    case pin
    case revoked
    case tlsProtocol = "tls_protocol"
    case clientCertificate = "client_certificate"
    case tls
    // http
    case httpStatus = "http_status"
    case contentType = "content_type"
    case badJSONBody = "bad_json_body"
    case tooManyRedirects = "too_many_redirects"
    case redirectRefused = "redirect_refused"
    case bodySpent = "body_spent"
    case expired
    case retryLater = "retry_later"
    case changed
    case noValidator = "no_validator"
    case rangesUnsupported = "ranges_unsupported"
    case badRange = "bad_range"
    case rangeNotSatisfiable = "416"
    case encoding
    // file
    case exists
    case isDirectory = "is_directory"
    case noSpace = "no_space"
    case readOnly = "read_only"
    case noFile = "no_file"
    case noPermission = "no_permission"
    case fileChanged = "file_changed"
    case badStorage = "bad_storage"
    case badDirectory = "bad_directory"
    case io
    case checksum
    case journalInvalid = "journal_invalid"
    case alreadyComplete = "already_complete"
    case unsafeStateDirectory = "unsafe_state_dir"
    case noAgent = "no_agent"
    case oldLibcurl = "old_libcurl"
    case interrupted
    case damagedJob = "damaged_job"
    // image
    case badImage = "bad_image"
    case unsupportedImage = "unsupported_image"
    case truncatedImage = "truncated_image"
    case imageTooLarge = "image_too_large"
    case unsupportedOption = "unsupported_option"
    // cacheMiss
    case missing
    case damaged
    case clock
    case stale
    case appVersion = "app_version"
    case cacheVersion = "cache_version"
    // limit
    case tooLarge = "too_large"
    case headerTooLarge = "header_too_large"
    case noMemory = "no_memory"
    case tooManyFiles = "too_many_files"
    // others
    case `internal`
    case forked
    case busy
    case alreadyRunning = "already_running"

    /// The error code.
    package var code: WherryError.Code {
        switch self {
        case .badHandle, .badArgument, .badOption, .badValue, .badHeader, .badMethod, .badURL,
            .badParameters, .badJSON, .badText, .badDigest, .badPath, .noImages, .notFound, .badPin,
            .badCertificate, .httpsOnly:
            .argument
        case .closed, .needsQueue, .resolved, .wrongState, .hookExpired, .lastPage,
            .alreadyStarted:
            .state
        case .timeout, .connectTimeout, .firstByteTimeout, .idleTimeout, .totalTimeout, .stalled:
            .timeout
        case .cancelled, .refused, .replaced: .cancelled
        case .resolve, .connect, .connectionReset, .truncated, .badProtocol, .badEncoding,
            .lengthUnverified, .proxy, .addressDenied, .unstable, .offline, .metered,
            .noNetworkState:
            .network
        case .untrusted, .certificateExpired, .wrongName, .pin, .revoked, .tlsProtocol,
            .clientCertificate, .tls:
            .tls
        case .httpStatus, .contentType, .badJSONBody, .tooManyRedirects, .redirectRefused,
            .bodySpent,
            .expired, .retryLater, .changed, .noValidator, .rangesUnsupported, .badRange,
            .rangeNotSatisfiable, .encoding:
            .http
        case .exists, .isDirectory, .noSpace, .readOnly, .noFile, .noPermission, .fileChanged,
            .badStorage, .badDirectory, .io, .checksum, .journalInvalid, .alreadyComplete,
            .unsafeStateDirectory, .noAgent, .oldLibcurl, .damagedJob:
            .file
        case .badImage, .unsupportedImage, .truncatedImage, .imageTooLarge, .unsupportedOption:
            .image
        case .missing, .damaged, .clock, .stale, .appVersion, .cacheVersion: .cacheMiss
        case .tooLarge, .headerTooLarge, .noMemory, .tooManyFiles: .limit
        case .internal, .interrupted: .internal
        case .forked: .forked
        case .busy, .alreadyRunning: .busy
        }
    }

    /// Whether the same request may succeed on a retry.
    package var isRetryable: Bool {
        switch self {
        case .connectTimeout, .firstByteTimeout, .idleTimeout, .stalled, .resolve, .connect,
            .connectionReset, .truncated, .retryLater, .busy, .offline, .tooManyFiles:
            true
        default: false
        }
    }
}
