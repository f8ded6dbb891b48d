// Wherry: the settings that say how a client's requests are sent and judged.
// SPDX-License-Identifier: Apache-2.0

import WherryCore

extension Client.Configuration {
    /// Which statuses are a success: 200...299. `Request.acceptedStatus` adds to it.
    public var acceptedStatusRange: ClosedRange<Int> {
        get { Int.range(values.options[.acceptStatusMin], values.options[.acceptStatusMax]) }
        set {
            values.options[.acceptStatusMin] = Int64(newValue.lowerBound)
            values.options[.acceptStatusMax] = Int64(newValue.upperBound)
        }
    }
    /// Another content type than JSON, or a body that is none, is an error. Off.
    public var wantsJSON: Bool {
        get { values.options[.jsonOnly] == 1 }
        set { values.options[.jsonOnly] = newValue ? 1 : 0 }
    }
    /// Sends credentials, every other field and the body along where a redirect leads to another
    /// scheme, host or port. Off: they stay behind. On for servers that trust each other only.
    public var keepsAuthAcrossHosts: Bool {
        get { values.options[.keepAuthAcrossHosts] == 1 }
        set { values.options[.keepAuthAcrossHosts] = newValue ? 1 : 0 }
    }
    /// Which codings of content are asked for and undone: gzip and deflate. Downloads ask for none.
    public var contentCodings: ContentCodings {
        get { ContentCodings(rawValue: values.options[.compressed]) ?? .gzip }
        set { values.options[.compressed] = newValue.rawValue }
    }
    /// Which version of HTTP is spoken: by itself 2 over TLS where it is offered, else 1.1, and 1.1 by
    /// downloads.
    public var httpVersion: HTTPVersion {
        get { HTTPVersion(rawValue: values.options[.httpVersion]) ?? .automatic }
        set { values.options[.httpVersion] = newValue.rawValue }
    }
    /// How arrays stand in queries and forms: `a[]=1&a[]=2`.
    public var arrayStyle: ArrayStyle {
        get { ArrayStyle(rawValue: values.options[.arrayStyle]) ?? .brackets }
        set { values.options[.arrayStyle] = newValue.rawValue }
    }
    /// How members of objects stand in queries and forms: `a[b]=1`.
    public var memberStyle: MemberStyle {
        get { MemberStyle(rawValue: values.options[.memberStyle]) ?? .brackets }
        set { values.options[.memberStyle] = newValue.rawValue }
    }
    /// How bools stand in queries and forms: `1` and `0`.
    public var boolStyle: BoolStyle {
        get { BoolStyle(rawValue: values.options[.boolStyle]) ?? .digits }
        set { values.options[.boolStyle] = newValue.rawValue }
    }
    /// The largest head of an answer: 300 KiB, which is also the most that can be set.
    public var maxHeaderBytes: Int64 {
        get { values.options[.maxHeaderBytes] }
        set { values.options[.maxHeaderBytes] = newValue }
    }
    /// The most that one request sends in a second; 0, the default, is no limit.
    public var maxSendBytesPerSecond: Int64 {
        get { values.options[.maxSendSpeed] }
        set { values.options[.maxSendSpeed] = newValue }
    }
    /// The most that one request or download receives in a second; 0, the default, is no limit.
    public var maxReceiveBytesPerSecond: Int64 {
        get { values.options[.maxReceiveSpeed] }
        set { values.options[.maxReceiveSpeed] = newValue }
    }
    /// The most that all downloads together receive in a second; 0, the default, is no limit.
    public var maxDownloadBytesPerSecond: Int64 {
        get { values.options[.maxDownloadSpeed] }
        set { values.options[.maxDownloadSpeed] = newValue }
    }
    /// How long a question waits for its answer before the rules decide: 30 s; zero: not at all.
    public var decisionTimeout: Duration {
        get { .milliseconds(values.options[.decisionTimeout]) }
        set { values.options[.decisionTimeout] = newValue.settingMilliseconds }
    }

    /// How long a transfer waits where there is no way to its host, as `waiting` with `offline`: a
    /// request before it is sent, a download after each connection that broke. `nil`, the default, is
    /// not at all for requests and 60 s for downloads; zero is not at all for both.
    public var waitForNetwork: Duration? {
        get {
            let value = values.options[.waitForNetwork]
            return value < 0 ? nil : .milliseconds(value)
        }
        set { values.options[.waitForNetwork] = newValue?.settingMilliseconds ?? -1 }
    }
    /// Makes no connection over a mobile network: such a request fails as `metered`. Off. What looks
    /// names up is not held back.
    public var deniesMetered: Bool {
        get { values.options[.denyMetered] == 1 }
        set { values.options[.denyMetered] = newValue ? 1 : 0 }
    }

    // MARK: Downloads

    /// How often what failed goes again by itself after a failure that may pass; `nil`, the default:
    /// downloads 5 times, requests not (R29).
    ///
    /// Such failures are broken connections, time limits, and 408, 429, 500, 502, 503 and 504. A
    /// request waits up to 0.5, 1, 2... 30 s before (a random part of that), or what `Retry-After`
    /// says. All requests of a client together have a hundred attempts again, and one more for every
    /// five that succeed.
    public var maxRetries: Int? {
        get { values.options[.maxRetries] < 0 ? nil : Int(values.options[.maxRetries]) }
        set { values.options[.maxRetries] = newValue.map { Int64(max(0, $0)) } ?? -1 }
    }
    /// Whether requests go again by themselves whose method has another effect the second time, such
    /// as POST: `false`.
    public var retriesUnsafeMethods: Bool {
        get { values.options[.retryUnsafeMethods] == 1 }
        set { values.options[.retryUnsafeMethods] = newValue ? 1 : 0 }
    }
    /// How many downloads run at once. The others wait for their turn, in the order of their
    /// ``Request/priority`` and their start; a paused one gives its turn up. 0, the default, is no limit.
    public var maxDownloads: Int {
        get { Int(values.options[.maxDownloads]) }
        set { values.options[.maxDownloads] = Int64(newValue) }
    }
    /// Whether connections are kept for later requests. On by default. Off: each request uses
    /// a separate connection, sends `Connection: close`, and closes it.
    public var keepsAlive: Bool {
        get { values.options[.keepAlive] == 1 }
        set { values.options[.keepAlive] = newValue ? 1 : 0 }
    }
    /// Downloaded files get the time that the server says they were changed at. Off: that of their
    /// last byte.
    public var keepsServerTime: Bool {
        get { values.options[.keepServerTime] == 1 }
        set { values.options[.keepServerTime] = newValue ? 1 : 0 }
    }
    /// Whether a response whose ``Response/isLengthUnverified`` is true fails with the reason
    /// `length_unverified`. Default: false. Downloads always fail so.
    public var requiresVerifiedLength: Bool {
        get { values.options[.requireVerifiedLength] == 1 }
        set { values.options[.requireVerifiedLength] = newValue ? 1 : 0 }
    }
    /// How many connections bring the file of a download: 1 to 16; 0, the default, for as many as
    /// help.
    public var segments: Int {
        get { Int(values.options[.segments]) }
        set { values.options[.segments] = Int64(newValue) }
    }
    /// How long a download may be slower than ``stallBytesPerSecond`` before it has stalled: 10 s.
    public var stallTimeout: Duration {
        get { .milliseconds(values.options[.stallTimeout]) }
        set { values.options[.stallTimeout] = newValue.settingMilliseconds }
    }
    /// The longest wait that a server may ask for: 60 s. A download that is asked for more ends with
    /// `retry_later`, a request with what it was answered.
    public var maxRetryAfter: Duration {
        get { .milliseconds(values.options[.maxRetryAfter]) }
        set { values.options[.maxRetryAfter] = newValue.settingMilliseconds }
    }
    /// What downloads wait for before they count bytes as kept: the disk, within a second.
    public var durability: Durability {
        get { Durability(rawValue: values.options[.durability]) ?? .checkpoints }
        set { values.options[.durability] = newValue.rawValue }
    }
    /// What downloads do where their file exists already: fail with `exists`.
    public var existingFile: Request.ExistingFile {
        get { Request.ExistingFile(rawValue: values.options[.targetExists]) ?? .fail }
        set { values.options[.targetExists] = newValue.rawValue }
    }
    /// Downloads make the directories that their paths need. Off.
    public var makesDirectories: Bool {
        get { values.options[.makeDirectories] == 1 }
        set { values.options[.makeDirectories] = newValue ? 1 : 0 }
    }

    // MARK: Uploads

    /// Whether names of files that are not ASCII are sent a second time as `filename*`. Off: RFC 7578
    /// advises against it, and few servers need it.
    public var sendsExtendedNames: Bool {
        get { values.options[.extendedNames] == 1 }
        set { values.options[.extendedNames] = newValue ? 1 : 0 }
    }
    /// The digest of the whole body that is sent with requests. None. A body is then read twice.
    public var bodyDigest: ContentDigest {
        get { ContentDigest(rawValue: values.options[.bodyDigest]) ?? .none }
        set { values.options[.bodyDigest] = newValue.rawValue }
    }
    /// The digest that stands in the head of each part that is a picture or a file. None.
    public var partDigests: ContentDigest {
        get { ContentDigest(rawValue: values.options[.partDigests]) ?? .none }
        set { values.options[.partDigests] = newValue.rawValue }
    }
    /// The content coding that bodies get before they are sent. None. See ``Request/bodyCoding``.
    public var bodyCoding: ContentCoding {
        get { ContentCoding(rawValue: values.options[.bodyCoding]) ?? .identity }
        set { values.options[.bodyCoding] = newValue.rawValue }
    }
    /// Bodies that are known to be shorter are not coded: 1,024.
    public var bodyCodingMinBytes: Int64 {
        get { values.options[.bodyCodingMinBytes] }
        set { values.options[.bodyCodingMinBytes] = newValue }
    }
    /// What becomes of ``bodyCoding`` where a request has a field Content-Encoding: it stays as it is.
    public var codedBody: Request.CodedBody {
        get { Request.CodedBody(rawValue: values.options[.codedBody]) ?? .skip }
        set { values.options[.codedBody] = newValue.rawValue }
    }

    // MARK: Pictures

    /// How the fields of a form's pictures are named: `photo0`, `photo1`.
    public var imageNaming: ImageNaming {
        get { values.texts[.imageNames].flatMap { ImageNaming(rawValue: $0) } ?? .index }
        set { values.texts[.imageNames] = newValue.rawValue }
    }
    /// The type JPEG pictures are sent as: "image/jpeg". Old servers want "image/jpg".
    public var jpegContentType: String {
        get { values.texts[.jpegType] ?? "image/jpeg" }
        set { values.texts[.jpegType] = newValue }
    }
}

extension Int {
    /// A range whose bounds were set one by one, so that they may be the wrong way round.
    static func range(_ lower: Int64, _ upper: Int64) -> ClosedRange<Int> {
        Int(lower)...Int(Swift.max(lower, upper))
    }
}
