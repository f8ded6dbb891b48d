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
    /// Which version of HTTP is spoken: 2 over TLS where it is offered, else 1.1.
    public var httpVersion: HTTPVersion {
        get { HTTPVersion(rawValue: values.options[.httpVersion]) ?? .automatic }
        set { values.options[.httpVersion] = newValue.rawValue }
    }
    /// How arrays stand in queries and forms: `a[]=1&a[]=2`.
    public var arrayStyle: ArrayStyle {
        get { ArrayStyle(rawValue: values.options[.arrayStyle]) ?? .brackets }
        set { values.options[.arrayStyle] = newValue.rawValue }
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

    // MARK: Downloads

    /// How often a download begins again after a failure that may pass: 5.
    public var maxRetries: Int {
        get { Int(values.options[.maxRetries]) }
        set { values.options[.maxRetries] = Int64(newValue) }
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
    /// The longest wait that a server may ask a download for: 60 s. A longer one is `retry_later`.
    public var maxRetryAfter: Duration {
        get { .milliseconds(values.options[.maxRetryAfter]) }
        set { values.options[.maxRetryAfter] = newValue.settingMilliseconds }
    }
    /// What downloads wait for before they count bytes as kept: the disk, once a second.
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
