// Wherry: client settings for requests and responses.
// SPDX-License-Identifier: Apache-2.0

import WherryCore

extension Client.Configuration {
    /// The successful status codes; `Request.acceptedStatus` adds more. Default: 200...299.
    public var acceptedStatusRange: ClosedRange<Int> {
        get { Int.range(values.options[.acceptStatusMin], values.options[.acceptStatusMax]) }
        set {
            values.options[.acceptStatusMin] = Int64(newValue.lowerBound)
            values.options[.acceptStatusMax] = Int64(newValue.upperBound)
        }
    }
    /// Whether to fail for a content type other than JSON, or an invalid JSON body. Default: false.
    public var wantsJSON: Bool {
        get { values.options[.jsonOnly] == 1 }
        set { values.options[.jsonOnly] = newValue ? 1 : 0 }
    }
    /// Whether to send credentials, other headers and the body after a redirect to another scheme,
    /// host or port. Default: false, which drops them. Enable it only for servers that trust each
    /// other.
    public var keepsAuthAcrossHosts: Bool {
        get { values.options[.keepAuthAcrossHosts] == 1 }
        set { values.options[.keepAuthAcrossHosts] = newValue ? 1 : 0 }
    }
    /// The content encodings to request and decode. Default: gzip and deflate. Downloads request
    /// none.
    public var contentCodings: ContentCodings {
        get { ContentCodings(rawValue: values.options[.compressed]) ?? .gzip }
        set { values.options[.compressed] = newValue.rawValue }
    }
    /// The HTTP version. Default: HTTP/2 over TLS if the server offers it, otherwise 1.1; downloads
    /// use 1.1.
    public var httpVersion: HTTPVersion {
        get { HTTPVersion(rawValue: values.options[.httpVersion]) ?? .automatic }
        set { values.options[.httpVersion] = newValue.rawValue }
    }
    /// The encoding of arrays in queries and forms. Default: `a[]=1&a[]=2`.
    public var arrayStyle: ArrayStyle {
        get { ArrayStyle(rawValue: values.options[.arrayStyle]) ?? .brackets }
        set { values.options[.arrayStyle] = newValue.rawValue }
    }
    /// The encoding of object members in queries and forms. Default: `a[b]=1`.
    public var memberStyle: MemberStyle {
        get { MemberStyle(rawValue: values.options[.memberStyle]) ?? .brackets }
        set { values.options[.memberStyle] = newValue.rawValue }
    }
    /// The encoding of bools in queries and forms. Default: `1` and `0`.
    public var boolStyle: BoolStyle {
        get { BoolStyle(rawValue: values.options[.boolStyle]) ?? .digits }
        set { values.options[.boolStyle] = newValue.rawValue }
    }
    /// The maximum size of the response headers. Default and maximum: 300 KiB.
    public var maxHeaderBytes: Int64 {
        get { values.options[.maxHeaderBytes] }
        set { values.options[.maxHeaderBytes] = newValue }
    }
    /// The send limit of one request in bytes per second; 0, the default, for no limit.
    public var maxSendBytesPerSecond: Int64 {
        get { values.options[.maxSendSpeed] }
        set { values.options[.maxSendSpeed] = newValue }
    }
    /// The receive limit of one request or download in bytes per second; 0, the default, for no
    /// limit.
    public var maxReceiveBytesPerSecond: Int64 {
        get { values.options[.maxReceiveSpeed] }
        set { values.options[.maxReceiveSpeed] = newValue }
    }
    /// The receive limit of all downloads together in bytes per second; 0, the default, for no
    /// limit.
    public var maxDownloadBytesPerSecond: Int64 {
        get { values.options[.maxDownloadSpeed] }
        set { values.options[.maxDownloadSpeed] = newValue }
    }
    /// The time limit for a callback, after which the default behavior applies. Default: 30 s;
    /// zero: at once.
    public var decisionTimeout: Duration {
        get { .milliseconds(values.options[.decisionTimeout]) }
        set { values.options[.decisionTimeout] = newValue.settingMilliseconds }
    }

    /// The maximum time that a transfer waits while its host is unreachable, in state `waiting`
    /// with the reason `offline`: a request before it is sent, a download after each dropped
    /// connection. `nil`, the default: no wait for requests, 60 s for downloads. Zero: no wait for
    /// both.
    public var waitForNetwork: Duration? {
        get {
            let value = values.options[.waitForNetwork]
            return value < 0 ? nil : .milliseconds(value)
        }
        set { values.options[.waitForNetwork] = newValue?.settingMilliseconds ?? -1 }
    }
    /// Whether to forbid connections over a cellular network; such a request fails with `metered`.
    /// Default: false. Does not restrict name lookups.
    public var deniesMetered: Bool {
        get { values.options[.denyMetered] == 1 }
        set { values.options[.denyMetered] = newValue ? 1 : 0 }
    }

    // MARK: Downloads

    /// The maximum number of automatic retries of transient failures. `nil`, the default: 5 for
    /// downloads, 0 for requests (R29).
    ///
    /// Transient failures are dropped connections, timeouts, and the statuses 408, 429, 500, 502,
    /// 503 and 504. A request waits a random part of up to 0.5, 1, 2... 30 s before each retry, or
    /// as long as `Retry-After` says. All requests of a client share a budget of 100 retries, which
    /// grows by one for every five successes.
    public var maxRetries: Int? {
        get { values.options[.maxRetries] < 0 ? nil : Int(values.options[.maxRetries]) }
        set { values.options[.maxRetries] = newValue.map { Int64(max(0, $0)) } ?? -1 }
    }
    /// Whether to retry requests with methods that are not idempotent, such as POST. Default:
    /// false.
    public var retriesUnsafeMethods: Bool {
        get { values.options[.retryUnsafeMethods] == 1 }
        set { values.options[.retryUnsafeMethods] = newValue ? 1 : 0 }
    }
    /// The maximum number of concurrent downloads. Further ones queue by ``Request/priority`` and
    /// start; a paused one gives up its slot. 0, the default, for no limit.
    public var maxDownloads: Int {
        get { Int(values.options[.maxDownloads]) }
        set { values.options[.maxDownloads] = Int64(newValue) }
    }
    /// Whether to reuse connections. Default: true. If false, each request uses a separate
    /// connection, sends `Connection: close`, and closes it.
    public var keepsAlive: Bool {
        get { values.options[.keepAlive] == 1 }
        set { values.options[.keepAlive] = newValue ? 1 : 0 }
    }
    /// Whether downloaded files get the Last-Modified time of the server. Default: false, which
    /// keeps the time of the last write.
    public var keepsServerTime: Bool {
        get { values.options[.keepServerTime] == 1 }
        set { values.options[.keepServerTime] = newValue ? 1 : 0 }
    }
    /// Whether a response whose ``/WherryHTTP/Response/isLengthUnverified`` is true fails with
    /// `length_unverified`. Default: false. Downloads always fail in this case.
    public var requiresVerifiedLength: Bool {
        get { values.options[.requireVerifiedLength] == 1 }
        set { values.options[.requireVerifiedLength] = newValue ? 1 : 0 }
    }
    /// The number of parallel connections of a download: 1 to 16; 0, the default, chooses
    /// automatically.
    public var segments: Int {
        get { Int(values.options[.segments]) }
        set { values.options[.segments] = Int64(newValue) }
    }
    /// The time that a download may be slower than ``stallBytesPerSecond`` before it counts as
    /// stalled. Default: 10 s.
    public var stallTimeout: Duration {
        get { .milliseconds(values.options[.stallTimeout]) }
        set { values.options[.stallTimeout] = newValue.settingMilliseconds }
    }
    /// The maximum wait that a server may request with Retry-After. Default: 60 s. For a longer
    /// one, a download fails with `retry_later`, and a request returns the error response.
    public var maxRetryAfter: Duration {
        get { .milliseconds(values.options[.maxRetryAfter]) }
        set { values.options[.maxRetryAfter] = newValue.settingMilliseconds }
    }
    /// The condition for downloaded bytes to count as saved. Default: on disk, within a second.
    public var durability: Durability {
        get { Durability(rawValue: values.options[.durability]) ?? .checkpoints }
        set { values.options[.durability] = newValue.rawValue }
    }
    /// The treatment of an existing file by downloads. Default: fail with `exists`.
    public var existingFile: Request.ExistingFile {
        get { Request.ExistingFile(rawValue: values.options[.targetExists]) ?? .fail }
        set { values.options[.targetExists] = newValue.rawValue }
    }
    /// Whether downloads create missing directories. Default: false.
    public var makesDirectories: Bool {
        get { values.options[.makeDirectories] == 1 }
        set { values.options[.makeDirectories] = newValue ? 1 : 0 }
    }

    // MARK: Uploads

    /// What an upload does with pictures that cannot be read. Default: `fail`, which sends nothing. With
    /// ``Request/separateImages`` only the unreadable pictures fail, and the others are sent.
    public var unreadableImages: UnreadableImages {
        get { UnreadableImages(rawValue: values.options[.unreadableImages]) ?? .fail }
        set { values.options[.unreadableImages] = newValue.rawValue }
    }
    /// Whether to send non-ASCII file names a second time as `filename*`. Default: false, since RFC
    /// 7578 advises against it and few servers need it.
    public var sendsExtendedNames: Bool {
        get { values.options[.extendedNames] == 1 }
        set { values.options[.extendedNames] = newValue ? 1 : 0 }
    }
    /// The digest to send for request bodies. Default: none. The body is then read twice.
    public var bodyDigest: ContentDigest {
        get { ContentDigest(rawValue: values.options[.bodyDigest]) ?? .none }
        set { values.options[.bodyDigest] = newValue.rawValue }
    }
    /// The digest to send in the headers of each image or file part. Default: none.
    public var partDigests: ContentDigest {
        get { ContentDigest(rawValue: values.options[.partDigests]) ?? .none }
        set { values.options[.partDigests] = newValue.rawValue }
    }
    /// The content encoding of request bodies. Default: none. See ``Request/bodyCoding``.
    public var bodyCoding: ContentCoding {
        get { ContentCoding(rawValue: values.options[.bodyCoding]) ?? .identity }
        set { values.options[.bodyCoding] = newValue.rawValue }
    }
    /// The minimum body size for compression, in bytes. Default: 1,024.
    public var bodyCodingMinBytes: Int64 {
        get { values.options[.bodyCodingMinBytes] }
        set { values.options[.bodyCodingMinBytes] = newValue }
    }
    /// The effect of ``bodyCoding`` on a request with a Content-Encoding header. Default: none; the
    /// body is sent unchanged.
    public var codedBody: Request.CodedBody {
        get { Request.CodedBody(rawValue: values.options[.codedBody]) ?? .skip }
        set { values.options[.codedBody] = newValue.rawValue }
    }

    // MARK: Images

    /// The names of the form fields of images. Default: `photo0`, `photo1`.
    public var imageNaming: ImageNaming {
        get { values.texts[.imageNames].flatMap { ImageNaming(rawValue: $0) } ?? .index }
        set { values.texts[.imageNames] = newValue.rawValue }
    }
    /// The content type of JPEG images. Default: "image/jpeg". Old servers need "image/jpg".
    public var jpegContentType: String {
        get { values.texts[.jpegType] ?? "image/jpeg" }
        set { values.texts[.jpegType] = newValue }
    }
}

extension Int {
    /// Returns a range of bounds that were set separately and may be in the wrong order.
    static func range(_ lower: Int64, _ upper: Int64) -> ClosedRange<Int> {
        Int(lower)...Int(Swift.max(lower, upper))
    }
}
