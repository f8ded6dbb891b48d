// Wherry: the settings of a client that are one option each.
// SPDX-License-Identifier: Apache-2.0
// Written by scripts/make-options from options.toml.

import WherryCore
import WherryHTTP
import WherryRequests

extension Client.Configuration {
    /// The timeout of a hook. After the timeout, the default behavior applies. 0 applies the
    /// default at once. Default: 30 s.
    public var hookTimeout: Duration {
        get { .milliseconds(values.options[.hookTimeout]) }
        set { values.options[.hookTimeout] = newValue.settingMilliseconds }
    }
    /// Whether to send credentials, the headers that you set, and the body after a redirect to
    /// another scheme, host, or port. Enable it only for servers that trust each other. Default:
    /// false.
    public var keepsAuthAcrossHosts: Bool {
        get { values.options[.keepAuthAcrossHosts] == 1 }
        set { values.options[.keepAuthAcrossHosts] = newValue ? 1 : 0 }
    }
    /// Whether to retry requests with methods that are not idempotent, such as POST. The server may
    /// execute such a request twice. Default: false.
    public var retriesUnsafeMethods: Bool {
        get { values.options[.retryUnsafeMethods] == 1 }
        set { values.options[.retryUnsafeMethods] = newValue ? 1 : 0 }
    }
    /// The HTTP version. Default: HTTP/2 over TLS if the server offers it, otherwise 1.1; 1.1 for
    /// downloads and for bodies over 16 KiB.
    public var httpVersion: HTTPVersion {
        get { values.options.choice(.httpVersion) }
        set { values.options[.httpVersion] = newValue.rawValue }
    }
    /// The content encodings to request and decode. Downloads request none. Default: gzip and
    /// deflate.
    public var contentCodings: ContentCodings {
        get { values.options.choice(.compressed) }
        set { values.options[.compressed] = newValue.rawValue }
    }
    /// The maximum size of the response headers in bytes. Range: 1,024 to 307,200. Default:
    /// 300 KiB.
    public var maxHeaderBytes: Int64 {
        get { values.options[.maxHeaderBytes] }
        set { values.options[.maxHeaderBytes] = newValue }
    }
    /// The maximum send rate of one transfer in bytes per second. 0: no limit. Default: 0.
    public var maxSendBytesPerSecond: Int64 {
        get { values.options[.maxSendSpeed] }
        set { values.options[.maxSendSpeed] = newValue }
    }
    /// The maximum receive rate of one transfer in bytes per second. 0: no limit. Default: 0.
    public var maxReceiveBytesPerSecond: Int64 {
        get { values.options[.maxReceiveSpeed] }
        set { values.options[.maxReceiveSpeed] = newValue }
    }
    /// The maximum total receive rate of all downloads in bytes per second. A new value also
    /// applies to running downloads. 0: no limit. Default: 0.
    public var maxDownloadBytesPerSecond: Int64 {
        get { values.options[.maxDownloadSpeed] }
        set { values.options[.maxDownloadSpeed] = newValue }
    }
    /// Whether a response fails if its content type is not JSON or its body is not valid JSON.
    /// Default: false.
    public var wantsJSON: Bool {
        get { values.options[.jsonOnly] == 1 }
        set { values.options[.jsonOnly] = newValue ? 1 : 0 }
    }
    /// The encoding of arrays in queries and forms. Default: `a[]=1&a[]=2`.
    public var arrayStyle: ArrayStyle {
        get { values.options.choice(.arrayStyle) }
        set { values.options[.arrayStyle] = newValue.rawValue }
    }
    /// What an upload does with an image that it cannot read. Default: nothing is sent. With
    /// ``/WherryRequests/Request/separateImages``, only these images fail.
    public var unreadableImages: UnreadableImages {
        get { values.options.choice(.unreadableImages) }
        set { values.options[.unreadableImages] = newValue.rawValue }
    }
    /// Whether to send non-ASCII file names a second time as `filename*`. RFC 7578 advises against
    /// it, and few servers need it. Default: false.
    public var sendsExtendedNames: Bool {
        get { values.options[.extendedNames] == 1 }
        set { values.options[.extendedNames] = newValue ? 1 : 0 }
    }
    /// The digest of the body, sent in a header. The body is then read twice. Default: no digest.
    ///
    /// A streamed body fails with `bad_option`. A header set on the request overrides it.
    public var bodyDigest: ContentDigest {
        get { values.options.choice(.bodyDigest) }
        set { values.options[.bodyDigest] = newValue.rawValue }
    }
    /// The digest of each image and file of a form, sent in the headers of its part. Default: no
    /// digest.
    public var partDigests: ContentDigest {
        get { values.options.choice(.partDigests) }
        set { values.options[.partDigests] = newValue.rawValue }
    }
    /// The maximum number of concurrent downloads. Further downloads wait in the order of their
    /// ``/WherryRequests/Request/priority``. A paused download gives up its slot. 0: no limit.
    /// Range: 0 to 100,000. Default: 0.
    public var maxDownloads: Int {
        get { Int(values.options[.maxDownloads]) }
        set { values.options[.maxDownloads] = Int64(newValue) }
    }
    /// The encoding of object members in queries and forms. Default: `a[b]=1`.
    public var memberStyle: MemberStyle {
        get { values.options.choice(.memberStyle) }
        set { values.options[.memberStyle] = newValue.rawValue }
    }
    /// The encoding of bools in queries and forms. Default: `1` and `0`.
    public var boolStyle: BoolStyle {
        get { values.options.choice(.boolStyle) }
        set { values.options[.boolStyle] = newValue.rawValue }
    }
    /// The content encoding of request bodies. The server must support the encoding, and few
    /// servers announce their support. Default: no coding.
    ///
    /// Bytes, JSON, and URL-encoded forms of at most 1 MiB are compressed as a whole, and sent
    /// unchanged if compression does not make them smaller. Larger bodies, files, and streamed
    /// bodies are compressed during the transfer, without a Content-Length. Multipart forms are not
    /// compressed.
    public var bodyCoding: ContentCoding {
        get { values.options.choice(.bodyCoding) }
        set { values.options[.bodyCoding] = newValue.rawValue }
    }
    /// Whether to fail with `metered` instead of connecting over a mobile network. Name lookups are
    /// not restricted. Default: false.
    public var deniesMetered: Bool {
        get { values.options[.denyMetered] == 1 }
        set { values.options[.denyMetered] = newValue ? 1 : 0 }
    }
    /// The minimum body size in bytes for ``bodyCoding``. Smaller bodies are sent unchanged.
    /// Default: 1,024.
    public var bodyCodingMinBytes: Int64 {
        get { values.options[.bodyCodingMinBytes] }
        set { values.options[.bodyCodingMinBytes] = newValue }
    }
    /// How ``bodyCoding`` treats a request with a Content-Encoding header, set on the request or on
    /// the client. Default: the body is sent unchanged.
    public var codedBody: Request.CodedBody {
        get { values.options.choice(.codedBody) }
        set { values.options[.codedBody] = newValue.rawValue }
    }
    /// Whether an image load reports previews while the image arrives: one after each scan of a
    /// progressive JPEG except the last, and one after each of the first six passes of an
    /// interlaced PNG. Previews have the size of the result. Default: false.
    public var imagePreviews: Bool {
        get { values.options[.imagePreviews] == 1 }
        set { values.options[.imagePreviews] = newValue ? 1 : 0 }
    }
    /// What a download does if the target file already exists. Default: the download fails with
    /// `exists` before anything is sent.
    public var existingFile: Request.ExistingFile {
        get { values.options.choice(.targetExists) }
        set { values.options[.targetExists] = newValue.rawValue }
    }
    /// Whether to create the missing directories of a file. Default: false.
    public var makesDirectories: Bool {
        get { values.options[.makeDirectories] == 1 }
        set { values.options[.makeDirectories] = newValue ? 1 : 0 }
    }
    /// When downloaded bytes count as saved. Default: when they are on disk, at most 1 s or 4 MiB
    /// after they arrived.
    public var durability: Durability {
        get { values.options.choice(.durability) }
        set { values.options[.durability] = newValue.rawValue }
    }
    /// The number of parallel connections of a download. 0 chooses automatically. Range: 0 to 16.
    /// Default: 0.
    public var segments: Int {
        get { Int(values.options[.segments]) }
        set { values.options[.segments] = Int64(newValue) }
    }
    /// The time that a download may be slower than ``stallBytesPerSecond`` before it counts as
    /// stalled. Default: 10 s.
    ///
    /// If set, for the client or the request, it also limits the wait for the first byte of a
    /// response. Otherwise ``firstByteTimeout`` alone does.
    public var stallTimeout: Duration {
        get { .milliseconds(values.options[.stallTimeout]) }
        set { values.options[.stallTimeout] = newValue.settingMilliseconds }
    }
    /// The maximum wait that a server may request with Retry-After. If the server requests more, a
    /// download fails with `retry_later`, and a request returns the error response. Default: 60 s.
    public var maxRetryAfter: Duration {
        get { .milliseconds(values.options[.maxRetryAfter]) }
        set { values.options[.maxRetryAfter] = newValue.settingMilliseconds }
    }
    /// Whether the next agent resumes the jobs of an agent that died. A job is interrupted when its
    /// agent dies. Default: true.
    public var resumesInterruptedJobs: Bool {
        get { values.options[.autostart] == 1 }
        set { values.options[.autostart] = newValue ? 1 : 0 }
    }
    /// The time that an idle agent stays alive. Default: 5 s.
    public var agentIdleTime: Duration {
        get { .milliseconds(values.options[.agentIdle]) }
        set { values.options[.agentIdle] = newValue.settingMilliseconds }
    }
    /// Whether to set the modification time of a downloaded file to the server's Last-Modified.
    /// Otherwise, the file keeps the time of the last write. Default: false.
    public var keepsServerTime: Bool {
        get { values.options[.keepServerTime] == 1 }
        set { values.options[.keepServerTime] = newValue ? 1 : 0 }
    }
    /// Whether a response whose ``/WherryHTTP/Response/isLengthUnverified`` is true fails with
    /// `length_unverified`. Downloads always fail in this case. Default: false.
    public var requiresVerifiedLength: Bool {
        get { values.options[.requireVerifiedLength] == 1 }
        set { values.options[.requireVerifiedLength] = newValue ? 1 : 0 }
    }
    /// Whether to reuse connections. If false, each request uses a separate connection, sends
    /// `Connection: close`, and closes it. Default: true.
    public var keepsAlive: Bool {
        get { values.options[.keepAlive] == 1 }
        set { values.options[.keepAlive] = newValue ? 1 : 0 }
    }
    /// The content type of JPEG images. Old servers need "image/jpg". Default: "image/jpeg".
    public var jpegContentType: String {
        get { values.texts[.jpegType] ?? "image/jpeg" }
        set { values.texts[.jpegType] = newValue }
    }
    /// The path of `wherry-agent`. Default: found automatically.
    ///
    /// Without a value, the client uses `$WHERRY_AGENT`, or else the agent next to the library or
    /// program, or else the one in its `libexec/wherry`.
    public var agentPath: String? {
        get { values.texts[.agentPath] }
        set { values.texts[.agentPath] = newValue }
    }
    /// The absolute path of a session's directory. Default: `$XDG_STATE_HOME/wherry/<session>`.
    public var stateDirectory: String? {
        get { values.texts[.stateDirectory] }
        set { values.texts[.stateDirectory] = newValue }
    }
}
