// Wherry: the settings of a request that are one option each.
// SPDX-License-Identifier: Apache-2.0
// Written by scripts/make-options from options.toml.

import WherryCore
import WherryHTTP
import WherryRequests

extension Request {
    /// The timeout of a hook. After the timeout, the default behavior applies. 0 applies the
    /// default at once. `nil` uses the client's setting.
    public var hookTimeout: Duration? {
        get { value(of: .hookTimeout).map { .milliseconds($0) } }
        set { set(.hookTimeout, newValue?.settingMilliseconds) }
    }
    /// Whether to send credentials, the headers that you set, and the body after a redirect to
    /// another scheme, host, or port. Enable it only for servers that trust each other. `nil` uses
    /// the client's setting.
    public var keepsAuthAcrossHosts: Bool? {
        get { value(of: .keepAuthAcrossHosts).map { $0 == 1 } }
        set { set(.keepAuthAcrossHosts, newValue.map { $0 ? 1 : 0 }) }
    }
    /// The maximum number of automatic retries of transient failures. Range: -1 to 1,000. `nil`
    /// uses the client's setting.
    ///
    /// Transient failures are dropped connections, timeouts, and the statuses 408, 429, 500, 502,
    /// 503, and 504. Before each retry, a request waits a random time of up to 0.5, 1, 2, ... 30 s,
    /// or as long as `Retry-After` says. All requests of a client share a budget of 100 retries,
    /// which grows by one for every five successes.
    public var maxRetries: Int? {
        get { value(of: .maxRetries).map { Int($0) } }
        set { set(.maxRetries, newValue.map { Int64($0) }) }
    }
    /// Whether to retry requests with methods that are not idempotent, such as POST. The server may
    /// execute such a request twice. `nil` uses the client's setting.
    public var retriesUnsafeMethods: Bool? {
        get { value(of: .retryUnsafeMethods).map { $0 == 1 } }
        set { set(.retryUnsafeMethods, newValue.map { $0 ? 1 : 0 }) }
    }
    /// The maximum time that a transfer waits while its host is unreachable. 0: no wait. `nil` uses
    /// the client's setting.
    ///
    /// A request waits before it is sent, in state `waiting` with the reason `offline`. A download
    /// waits after each dropped connection.
    public var waitForNetwork: Duration? {
        get { value(of: .waitForNetwork).map { .milliseconds($0) } }
        set { set(.waitForNetwork, newValue?.settingMilliseconds) }
    }
    /// The HTTP version. `nil` uses the client's setting.
    public var httpVersion: HTTPVersion? {
        get { value(of: .httpVersion).flatMap { HTTPVersion(rawValue: $0) } }
        set { set(.httpVersion, newValue?.rawValue) }
    }
    /// The content encodings to request and decode. Downloads request none. `nil` uses the client's
    /// setting.
    public var contentCodings: ContentCodings? {
        get { value(of: .compressed).flatMap { ContentCodings(rawValue: $0) } }
        set { set(.compressed, newValue?.rawValue) }
    }
    /// The maximum size of the response headers in bytes. Range: 1,024 to 307,200. `nil` uses the
    /// client's setting.
    public var maxHeaderBytes: Int64? {
        get { value(of: .maxHeaderBytes) }
        set { set(.maxHeaderBytes, newValue) }
    }
    /// The maximum send rate of one transfer in bytes per second. 0: no limit. `nil` uses the
    /// client's setting.
    public var maxSendBytesPerSecond: Int64? {
        get { value(of: .maxSendSpeed) }
        set { set(.maxSendSpeed, newValue) }
    }
    /// The maximum receive rate of one transfer in bytes per second. 0: no limit. `nil` uses the
    /// client's setting.
    public var maxReceiveBytesPerSecond: Int64? {
        get { value(of: .maxReceiveSpeed) }
        set { set(.maxReceiveSpeed, newValue) }
    }
    /// The encoding of arrays in queries and forms. `nil` uses the client's setting.
    public var arrayStyle: ArrayStyle? {
        get { value(of: .arrayStyle).flatMap { ArrayStyle(rawValue: $0) } }
        set { set(.arrayStyle, newValue?.rawValue) }
    }
    /// The priority among requests that wait for a connection, and among queued downloads. The
    /// highest priority starts first. Equal priorities start in the order of submission. Range:
    /// -100 to 100. `nil` is 0.
    ///
    /// Requests with a lower priority wait while requests with a higher priority keep arriving.
    /// Over HTTP/2, the priority is also the weight of the stream.
    public var priority: Int? {
        get { value(of: .priority).map { Int($0) } }
        set { set(.priority, newValue.map { Int64($0) }) }
    }
    /// What an upload does with an image that it cannot read. `nil` uses the client's setting.
    public var unreadableImages: UnreadableImages? {
        get { value(of: .unreadableImages).flatMap { UnreadableImages(rawValue: $0) } }
        set { set(.unreadableImages, newValue?.rawValue) }
    }
    /// The number of images to upload concurrently, each in its own form. All parts that are not
    /// images are in every form. 0 sends one form. Range: 0 to 1,000. `nil` uses the client's
    /// setting.
    ///
    /// Each image is encoded while the previous one is sent. A failed image does not stop the
    /// others, but fails the whole upload; `failedImages` lists the failed ones. Timeouts apply to
    /// each request. ``/WherryAsync/TransferHandle/images`` has the response for each image.
    public var separateImages: Int? {
        get { value(of: .separateImages).map { Int($0) } }
        set { set(.separateImages, newValue.map { Int64($0) }) }
    }
    /// The maximum number of retries of an image after a transient failure, with
    /// ``separateImages``. The server may receive the image twice. Range: 0 to 1,000. `nil` uses
    /// the client's setting.
    ///
    /// Independent of ``maxRetries``.
    public var imageRetries: Int? {
        get { value(of: .imageRetries).map { Int($0) } }
        set { set(.imageRetries, newValue.map { Int64($0) }) }
    }
    /// Whether to send non-ASCII file names a second time as `filename*`. RFC 7578 advises against
    /// it, and few servers need it. `nil` uses the client's setting.
    public var sendsExtendedNames: Bool? {
        get { value(of: .extendedNames).map { $0 == 1 } }
        set { set(.extendedNames, newValue.map { $0 ? 1 : 0 }) }
    }
    /// The digest of the body, sent in a header. The body is then read twice. `nil` uses the
    /// client's setting.
    ///
    /// A streamed body fails with `bad_option`. A header set on the request overrides it.
    public var bodyDigest: ContentDigest? {
        get { value(of: .bodyDigest).flatMap { ContentDigest(rawValue: $0) } }
        set { set(.bodyDigest, newValue?.rawValue) }
    }
    /// The digest of each image and file of a form, sent in the headers of its part. `nil` uses the
    /// client's setting.
    public var partDigests: ContentDigest? {
        get { value(of: .partDigests).flatMap { ContentDigest(rawValue: $0) } }
        set { set(.partDigests, newValue?.rawValue) }
    }
    /// The encoding of object members in queries and forms. `nil` uses the client's setting.
    public var memberStyle: MemberStyle? {
        get { value(of: .memberStyle).flatMap { MemberStyle(rawValue: $0) } }
        set { set(.memberStyle, newValue?.rawValue) }
    }
    /// The encoding of bools in queries and forms. `nil` uses the client's setting.
    public var boolStyle: BoolStyle? {
        get { value(of: .boolStyle).flatMap { BoolStyle(rawValue: $0) } }
        set { set(.boolStyle, newValue?.rawValue) }
    }
    /// Whether to share the response of an identical request of this client that is in progress,
    /// instead of sending a second one. A failure is shared too. Default: false.
    ///
    /// Requests are identical if they have the same method, URL, headers, credentials, body, and
    /// settings, and all of them set this option. Each can be cancelled separately and has its own
    /// ``totalTimeout``; cancelling the last of them cancels the shared request. Never shared:
    /// requests with hooks, with ``/WherryCache/CachePolicy/thenNetwork``, and with a multipart,
    /// file, or streamed body.
    public var coalesces: Bool {
        get { value(of: .coalesce) == 1 }
        set { set(.coalesce, newValue ? 1 : nil) }
    }
    /// The content encoding of request bodies. The server must support the encoding, and few
    /// servers announce their support. `nil` uses the client's setting.
    ///
    /// Bytes, JSON, and URL-encoded forms of at most 1 MiB are compressed as a whole, and sent
    /// unchanged if compression does not make them smaller. Larger bodies, files, and streamed
    /// bodies are compressed during the transfer, without a Content-Length. Multipart forms are not
    /// compressed.
    public var bodyCoding: ContentCoding? {
        get { value(of: .bodyCoding).flatMap { ContentCoding(rawValue: $0) } }
        set { set(.bodyCoding, newValue?.rawValue) }
    }
    /// Whether to fail with `metered` instead of connecting over a mobile network. Name lookups are
    /// not restricted. `nil` uses the client's setting.
    public var deniesMetered: Bool? {
        get { value(of: .denyMetered).map { $0 == 1 } }
        set { set(.denyMetered, newValue.map { $0 ? 1 : 0 }) }
    }
    /// The minimum body size in bytes for ``bodyCoding``. Smaller bodies are sent unchanged. `nil`
    /// uses the client's setting.
    public var bodyCodingMinBytes: Int64? {
        get { value(of: .bodyCodingMinBytes) }
        set { set(.bodyCodingMinBytes, newValue) }
    }
    /// How ``bodyCoding`` treats a request with a Content-Encoding header, set on the request or on
    /// the client. `nil` uses the client's setting.
    public var codedBody: CodedBody? {
        get { value(of: .codedBody).flatMap { CodedBody(rawValue: $0) } }
        set { set(.codedBody, newValue?.rawValue) }
    }
    /// What a download does if the target file already exists. `nil` uses the client's setting.
    public var existingFile: ExistingFile? {
        get { value(of: .targetExists).flatMap { ExistingFile(rawValue: $0) } }
        set { set(.targetExists, newValue?.rawValue) }
    }
    /// Whether the path of a download is a directory. The file name comes from the server or the
    /// URL and is sanitized. Default: false.
    public var savesIntoDirectory: Bool {
        get { value(of: .targetIsDirectory) == 1 }
        set { set(.targetIsDirectory, newValue ? 1 : nil) }
    }
    /// Whether to create the missing directories of a file. `nil` uses the client's setting.
    public var makesDirectories: Bool? {
        get { value(of: .makeDirectories).map { $0 == 1 } }
        set { set(.makeDirectories, newValue.map { $0 ? 1 : 0 }) }
    }
    /// When downloaded bytes count as saved. `nil` uses the client's setting.
    public var durability: Durability? {
        get { value(of: .durability).flatMap { Durability(rawValue: $0) } }
        set { set(.durability, newValue?.rawValue) }
    }
    /// The number of parallel connections of a download. 0 chooses automatically. Range: 0 to 16.
    /// `nil` uses the client's setting.
    public var segments: Int? {
        get { value(of: .segments).map { Int($0) } }
        set { set(.segments, newValue.map { Int64($0) }) }
    }
    /// The minimum speed of a download in bytes per second. A download that is slower for
    /// ``stallTimeout`` has stalled and is retried. With 0, only the idle timeout applies. `nil`
    /// uses the client's setting.
    public var stallBytesPerSecond: Int64? {
        get { value(of: .stallSpeed) }
        set { set(.stallSpeed, newValue) }
    }
    /// The time that a download may be slower than ``stallBytesPerSecond`` before it counts as
    /// stalled. `nil` uses the client's setting.
    ///
    /// If set, for the client or the request, it also limits the wait for the first byte of a
    /// response. Otherwise ``firstByteTimeout`` alone does.
    public var stallTimeout: Duration? {
        get { value(of: .stallTimeout).map { .milliseconds($0) } }
        set { set(.stallTimeout, newValue?.settingMilliseconds) }
    }
    /// The partial files that a download resumes, if the server confirms their validator and
    /// length. Default: `nil`, those of the same URL with any query.
    public var partialOf: PartialOrigin? {
        get { value(of: .partialOf).flatMap { PartialOrigin(rawValue: $0) } }
        set { set(.partialOf, newValue?.rawValue) }
    }
    /// The maximum wait that a server may request with Retry-After. If the server requests more, a
    /// download fails with `retry_later`, and a request returns the error response. `nil` uses the
    /// client's setting.
    public var maxRetryAfter: Duration? {
        get { value(of: .maxRetryAfter).map { .milliseconds($0) } }
        set { set(.maxRetryAfter, newValue?.settingMilliseconds) }
    }
    /// Whether to set the modification time of a downloaded file to the server's Last-Modified.
    /// Otherwise, the file keeps the time of the last write. `nil` uses the client's setting.
    public var keepsServerTime: Bool? {
        get { value(of: .keepServerTime).map { $0 == 1 } }
        set { set(.keepServerTime, newValue.map { $0 ? 1 : 0 }) }
    }
    /// Whether a response whose ``/WherryHTTP/Response/isLengthUnverified`` is true fails with
    /// `length_unverified`. Downloads always fail in this case. `nil` uses the client's setting.
    public var requiresVerifiedLength: Bool? {
        get { value(of: .requireVerifiedLength).map { $0 == 1 } }
        set { set(.requireVerifiedLength, newValue.map { $0 ? 1 : 0 }) }
    }
    /// Whether to reuse connections. If false, each request uses a separate connection, sends
    /// `Connection: close`, and closes it. `nil` uses the client's setting.
    public var keepsAlive: Bool? {
        get { value(of: .keepAlive).map { $0 == 1 } }
        set { set(.keepAlive, newValue.map { $0 ? 1 : 0 }) }
    }
}
