// Wherry: the settings of one request in place of its client's.
// SPDX-License-Identifier: Apache-2.0

import WherryCore

/// Each is `nil` until it is set, and then the client's counts.
extension Request {
    /// Which statuses are a success; ``acceptedStatus`` adds to it.
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
    /// Whether credentials, every other field and the body go along where a redirect leads to
    /// another scheme, host or port. Only for servers that trust each other.
    public var keepsAuthAcrossHosts: Bool? {
        get { value(of: .keepAuthAcrossHosts).map { $0 == 1 } }
        set { set(.keepAuthAcrossHosts, newValue.map { $0 ? 1 : 0 }) }
    }
    /// Which codings of content are asked for and undone. Of no effect on downloads.
    public var contentCodings: ContentCodings? {
        get { value(of: .compressed).flatMap { ContentCodings(rawValue: $0) } }
        set { set(.compressed, newValue?.rawValue) }
    }
    /// Which version of HTTP is spoken.
    public var httpVersion: HTTPVersion? {
        get { value(of: .httpVersion).flatMap { HTTPVersion(rawValue: $0) } }
        set { set(.httpVersion, newValue?.rawValue) }
    }
    /// Whether an equal request of this client that is on its way is waited for in place of sending this
    /// one (R33): its answer, or its failure, is this one's too. Off by default.
    ///
    /// Equal are those that share method, URL, header fields, credentials, body and settings, and that
    /// are both marked so. Each is cancelled by itself, and has its own ``totalTimeout``; with the last
    /// the request is cancelled. Requests with decisions, with ``/WherryCore/CachePolicy/thenNetwork``,
    /// and those whose body is a form of parts, a file or a stream go alone.
    public var coalesces: Bool {
        get { value(of: .coalesce) == 1 }
        set { set(.coalesce, newValue ? 1 : nil) }
    }
    /// How arrays stand in the query or the form.
    public var arrayStyle: ArrayStyle? {
        get { value(of: .arrayStyle).flatMap { ArrayStyle(rawValue: $0) } }
        set { set(.arrayStyle, newValue?.rawValue) }
    }
    /// How members of objects stand in the query or the form.
    public var memberStyle: MemberStyle? {
        get { value(of: .memberStyle).flatMap { MemberStyle(rawValue: $0) } }
        set { set(.memberStyle, newValue?.rawValue) }
    }
    /// How bools stand in the query or the form.
    public var boolStyle: BoolStyle? {
        get { value(of: .boolStyle).flatMap { BoolStyle(rawValue: $0) } }
        set { set(.boolStyle, newValue?.rawValue) }
    }
    /// The largest head of the answer, at most 300 KiB.
    public var maxHeaderBytes: Int64? {
        get { value(of: .maxHeaderBytes) }
        set { set(.maxHeaderBytes, newValue) }
    }
    /// The most that is sent in a second; 0 is no limit.
    public var maxSendBytesPerSecond: Int64? {
        get { value(of: .maxSendSpeed) }
        set { set(.maxSendSpeed, newValue) }
    }
    /// The most that is received in a second; 0 is no limit.
    public var maxReceiveBytesPerSecond: Int64? {
        get { value(of: .maxReceiveSpeed) }
        set { set(.maxReceiveSpeed, newValue) }
    }
    /// How long a question waits for its answer before the rules decide; zero: not at all.
    public var decisionTimeout: Duration? {
        get { value(of: .decisionTimeout).map { .milliseconds($0) } }
        set { set(.decisionTimeout, newValue?.settingMilliseconds) }
    }
    /// How long it waits where there is no way to its host; zero: not at all.
    public var waitForNetwork: Duration? {
        get { value(of: .waitForNetwork).map { .milliseconds($0) } }
        set { set(.waitForNetwork, newValue?.settingMilliseconds) }
    }
    /// Whether it fails as `metered` rather than make a connection over a mobile network.
    public var deniesMetered: Bool? {
        get { value(of: .denyMetered).map { $0 == 1 } }
        set { set(.denyMetered, newValue.map { $0 ? 1 : 0 }) }
    }
    /// How often it goes again by itself after a failure that may pass.
    public var maxRetries: Int? {
        get { value(of: .maxRetries).map { Int($0) } }
        set { set(.maxRetries, newValue.map { Int64($0) }) }
    }
    /// Which goes first of the requests that wait for a connection, and of the downloads that wait for
    /// their turn: -100...100, the highest, and equals as they come; 0 where it is `nil`.
    ///
    /// While higher ones keep coming, lower ones wait. Over HTTP/2 it is the stream's weight too.
    public var priority: Int? {
        get { value(of: .priority).map { Int($0) } }
        set { set(.priority, newValue.map { Int64($0) }) }
    }
    /// Whether a downloaded file gets the time that the server says it was changed at.
    public var keepsServerTime: Bool? {
        get { value(of: .keepServerTime).map { $0 == 1 } }
        set { set(.keepServerTime, newValue.map { $0 ? 1 : 0 }) }
    }
    /// Whether a response whose ``Response/isLengthUnverified`` is true fails with the reason
    /// `length_unverified`. Downloads always fail so.
    public var requiresVerifiedLength: Bool? {
        get { value(of: .requireVerifiedLength).map { $0 == 1 } }
        set { set(.requireVerifiedLength, newValue.map { $0 ? 1 : 0 }) }
    }
    /// Whether the connection is kept for later requests. `false` uses its own connection, sends
    /// `Connection: close`, and closes the connection afterwards. `nil` takes the client's setting.
    public var keepsAlive: Bool? {
        get { value(of: .keepAlive).map { $0 == 1 } }
        set { set(.keepAlive, newValue.map { $0 ? 1 : 0 }) }
    }
    /// Whether it goes again by itself also with a method that has another effect the second time.
    public var retriesUnsafeMethods: Bool? {
        get { value(of: .retryUnsafeMethods).map { $0 == 1 } }
        set { set(.retryUnsafeMethods, newValue.map { $0 ? 1 : 0 }) }
    }
    /// How many connections bring a download's file: 1 to 16; 0 for as many as help.
    public var segments: Int? {
        get { value(of: .segments).map { Int($0) } }
        set { set(.segments, newValue.map { Int64($0) }) }
    }
    /// The longest wait that a server may ask for; with a longer one a download ends with
    /// `retry_later`, a request with what it was answered.
    public var maxRetryAfter: Duration? {
        get { value(of: .maxRetryAfter).map { .milliseconds($0) } }
        set { set(.maxRetryAfter, newValue?.settingMilliseconds) }
    }
    /// How long a download may be slower than ``stallBytesPerSecond`` before it has stalled: 10 s. If
    /// you set it, here or for the client, it also limits the wait for the first byte of a response;
    /// otherwise ``firstByteTimeout`` alone does.
    public var stallTimeout: Duration? {
        get { value(of: .stallTimeout).map { .milliseconds($0) } }
        set { set(.stallTimeout, newValue?.settingMilliseconds) }
    }
    /// The partial files that a download resumes, if the server confirms their validator and length.
    /// Default: those of the same URL with any query.
    public var partialOf: PartialOrigin? {
        get { value(of: .partialOf).flatMap { PartialOrigin(rawValue: $0) } }
        set { set(.partialOf, newValue?.rawValue) }
    }
    /// A download that moves less than this over ``stallTimeout`` has stalled; 0 waits for the idle
    /// timeout.
    public var stallBytesPerSecond: Int64? {
        get { value(of: .stallSpeed) }
        set { set(.stallSpeed, newValue) }
    }
    /// What a download waits for before it counts bytes as kept.
    public var durability: Durability? {
        get { value(of: .durability).flatMap { Durability(rawValue: $0) } }
        set { set(.durability, newValue?.rawValue) }
    }
}
