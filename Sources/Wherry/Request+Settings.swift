// Wherry: request settings that override the client's.
// SPDX-License-Identifier: Apache-2.0

import WherryCore

/// A setting is `nil` by default and then uses the client's value.
extension Request {
    /// The successful status codes; ``acceptedStatus`` adds more.
    public var acceptedStatusRange: ClosedRange<Int>? {
        get {
            guard let lower = value(of: .acceptStatusMin), let upper = value(of: .acceptStatusMax)
            else { return nil }
            return Int.range(lower, upper)
        }
        set {
            set(.acceptStatusMin, newValue.map { Int64($0.lowerBound) })
            set(.acceptStatusMax, newValue.map { Int64($0.upperBound) })
        }
    }
    /// Whether to send credentials, other headers and the body after a redirect to another scheme,
    /// host or port. Enable it only for servers that trust each other.
    public var keepsAuthAcrossHosts: Bool? {
        get { value(of: .keepAuthAcrossHosts).map { $0 == 1 } }
        set { set(.keepAuthAcrossHosts, newValue.map { $0 ? 1 : 0 }) }
    }
    /// The content encodings to request and decode. No effect on downloads.
    public var contentCodings: ContentCodings? {
        get { value(of: .compressed).flatMap { ContentCodings(rawValue: $0) } }
        set { set(.compressed, newValue?.rawValue) }
    }
    /// The HTTP version.
    public var httpVersion: HTTPVersion? {
        get { value(of: .httpVersion).flatMap { HTTPVersion(rawValue: $0) } }
        set { set(.httpVersion, newValue?.rawValue) }
    }
    /// Whether to share the response of an equal request of this client that is in progress,
    /// instead of sending this one (R33). A failure is shared too. Default: false.
    ///
    /// Equal requests share method, URL, headers, credentials, body and settings, and both set this
    /// property. Each can be cancelled separately and has its own ``totalTimeout``; cancelling the
    /// last one cancels the shared request. Never shared: requests with callbacks, with
    /// ``/WherryCache/CachePolicy/thenNetwork``, and with a multipart, file or streamed body.
    public var coalesces: Bool {
        get { value(of: .coalesce) == 1 }
        set { set(.coalesce, newValue ? 1 : nil) }
    }
    /// The encoding of arrays in the query or form.
    public var arrayStyle: ArrayStyle? {
        get { value(of: .arrayStyle).flatMap { ArrayStyle(rawValue: $0) } }
        set { set(.arrayStyle, newValue?.rawValue) }
    }
    /// The encoding of object members in the query or form.
    public var memberStyle: MemberStyle? {
        get { value(of: .memberStyle).flatMap { MemberStyle(rawValue: $0) } }
        set { set(.memberStyle, newValue?.rawValue) }
    }
    /// The encoding of bools in the query or form.
    public var boolStyle: BoolStyle? {
        get { value(of: .boolStyle).flatMap { BoolStyle(rawValue: $0) } }
        set { set(.boolStyle, newValue?.rawValue) }
    }
    /// The maximum size of the response headers, at most 300 KiB.
    public var maxHeaderBytes: Int64? {
        get { value(of: .maxHeaderBytes) }
        set { set(.maxHeaderBytes, newValue) }
    }
    /// The send limit in bytes per second; 0 for no limit.
    public var maxSendBytesPerSecond: Int64? {
        get { value(of: .maxSendSpeed) }
        set { set(.maxSendSpeed, newValue) }
    }
    /// The receive limit in bytes per second; 0 for no limit.
    public var maxReceiveBytesPerSecond: Int64? {
        get { value(of: .maxReceiveSpeed) }
        set { set(.maxReceiveSpeed, newValue) }
    }
    /// The time limit for a callback, after which the default behavior applies; zero: at once.
    public var decisionTimeout: Duration? {
        get { value(of: .decisionTimeout).map { .milliseconds($0) } }
        set { set(.decisionTimeout, newValue?.settingMilliseconds) }
    }
    /// The maximum time to wait while the host is unreachable; zero: no wait.
    public var waitForNetwork: Duration? {
        get { value(of: .waitForNetwork).map { .milliseconds($0) } }
        set { set(.waitForNetwork, newValue?.settingMilliseconds) }
    }
    /// Whether to fail with `metered` instead of connecting over a cellular network.
    public var deniesMetered: Bool? {
        get { value(of: .denyMetered).map { $0 == 1 } }
        set { set(.denyMetered, newValue.map { $0 ? 1 : 0 }) }
    }
    /// The maximum number of automatic retries of transient failures.
    public var maxRetries: Int? {
        get { value(of: .maxRetries).map { Int($0) } }
        set { set(.maxRetries, newValue.map { Int64($0) }) }
    }
    /// The priority among requests that wait for a connection, and among queued downloads:
    /// -100...100, highest first, equal ones in order. `nil` is 0.
    ///
    /// Lower priorities wait as long as higher ones arrive. Over HTTP/2 it is also the weight of
    /// the stream.
    public var priority: Int? {
        get { value(of: .priority).map { Int($0) } }
        set { set(.priority, newValue.map { Int64($0) }) }
    }
    /// Whether a downloaded file gets the Last-Modified time of the server.
    public var keepsServerTime: Bool? {
        get { value(of: .keepServerTime).map { $0 == 1 } }
        set { set(.keepServerTime, newValue.map { $0 ? 1 : 0 }) }
    }
    /// Whether a response whose ``/WherryHTTP/Response/isLengthUnverified`` is true fails with
    /// `length_unverified`. Downloads always fail in this case.
    public var requiresVerifiedLength: Bool? {
        get { value(of: .requireVerifiedLength).map { $0 == 1 } }
        set { set(.requireVerifiedLength, newValue.map { $0 ? 1 : 0 }) }
    }
    /// Whether to reuse connections. `false` uses a separate connection, sends `Connection: close`,
    /// and closes the connection afterwards. `nil` uses the client's setting.
    public var keepsAlive: Bool? {
        get { value(of: .keepAlive).map { $0 == 1 } }
        set { set(.keepAlive, newValue.map { $0 ? 1 : 0 }) }
    }
    /// Whether to retry the request even if its method is not idempotent.
    public var retriesUnsafeMethods: Bool? {
        get { value(of: .retryUnsafeMethods).map { $0 == 1 } }
        set { set(.retryUnsafeMethods, newValue.map { $0 ? 1 : 0 }) }
    }
    /// The number of parallel connections of a download: 1 to 16; 0 chooses automatically.
    public var segments: Int? {
        get { value(of: .segments).map { Int($0) } }
        set { set(.segments, newValue.map { Int64($0) }) }
    }
    /// The maximum wait that a server may request with Retry-After. For a longer one, a download
    /// fails with `retry_later`, and a request returns the error response.
    public var maxRetryAfter: Duration? {
        get { value(of: .maxRetryAfter).map { .milliseconds($0) } }
        set { set(.maxRetryAfter, newValue?.settingMilliseconds) }
    }
    /// The time that a download may be slower than ``stallBytesPerSecond`` before it counts as
    /// stalled. Default: 10 s. If set, here or for the client, it also limits the wait for the
    /// first byte of a response; otherwise ``firstByteTimeout`` alone does.
    public var stallTimeout: Duration? {
        get { value(of: .stallTimeout).map { .milliseconds($0) } }
        set { set(.stallTimeout, newValue?.settingMilliseconds) }
    }
    /// The partial files that a download resumes, if the server confirms their validator and
    /// length. Default: those of the same URL with any query.
    public var partialOf: PartialOrigin? {
        get { value(of: .partialOf).flatMap { PartialOrigin(rawValue: $0) } }
        set { set(.partialOf, newValue?.rawValue) }
    }
    /// The speed in bytes per second below which a download counts as stalled after
    /// ``stallTimeout``; 0 uses only the idle timeout.
    public var stallBytesPerSecond: Int64? {
        get { value(of: .stallSpeed) }
        set { set(.stallSpeed, newValue) }
    }
    /// The condition for downloaded bytes to count as saved.
    public var durability: Durability? {
        get { value(of: .durability).flatMap { Durability(rawValue: $0) } }
        set { set(.durability, newValue?.rawValue) }
    }
}
