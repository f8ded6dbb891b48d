// Wherry: forms, images and digests of requests.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

extension Request.Part {
    /// Returns an image part, compressed on a worker when the request is sent.
    ///
    /// Its field name is `name` followed by its zero-based index among the images, as in SJNetwork;
    /// see `Request.imageNaming` for alternatives.
    public static func image(
        _ name: String, _ image: Image, _ compression: Compression = Compression()
    ) -> Request.Part {
        Request.Part(
            name: name, content: .image(image.source, compression.settings),
            fileName: image.fileName)
    }
}

/// The names of the form fields of images, derived from one name.
public enum ImageNaming: String, Sendable, Hashable {
    /// `photo0`, `photo1`: as in SJNetwork. The default.
    case index
    /// `photo`, `photo`.
    case `repeat`
    /// `photo[]`, `photo[]`.
    case brackets
}

extension Request {
    /// Adds a part. The body becomes multipart/form-data, and existing form fields become parts.
    public mutating func add(_ part: Part) { addPart(part) }

    /// The names of the form fields of images; `nil` uses the client's, which defaults to `index`.
    public var imageNaming: ImageNaming? {
        get { imageNames.flatMap { ImageNaming(rawValue: $0) } }
        set { imageNames = newValue?.rawValue }
    }

    /// The number of images to upload concurrently, each in a separate form with all other parts.
    /// `nil` uses the client's setting; 0, its default, sends one form.
    ///
    /// Image n+1 is encoded while n is sent. A failed image does not stop the others, but fails the
    /// whole upload; `failedImages` lists the failed ones. Timeouts apply to each request.
    /// ``/Wherry/TransferHandle/images`` has the response for each image.
    public var separateImages: Int? {
        get { value(of: .separateImages).map { Int($0) } }
        set { set(.separateImages, newValue.map { Int64($0) }) }
    }

    /// The maximum number of retries of an image in a separate request, after a transient failure
    /// and a delay. `nil` uses the client's setting, which defaults to 0. Independent of
    /// `maxRetries`. The server may receive the image twice.
    public var imageRetries: Int? {
        get { value(of: .imageRetries).map { Int($0) } }
        set { set(.imageRetries, newValue.map { Int64($0) }) }
    }

    /// The treatment of unreadable images: fail, skip, or send them unchanged. `nil` uses
    /// ``Client/Configuration/unreadableImages``. With ``separateImages``, `fail` fails only the
    /// unreadable images, and the others are sent.
    public var unreadableImages: UnreadableImages? {
        get { value(of: .unreadableImages).flatMap { UnreadableImages(rawValue: $0) } }
        set { set(.unreadableImages, newValue?.rawValue) }
    }

    /// The content type of JPEG images; `nil` uses the client's, which defaults to "image/jpeg".
    /// Old servers need "image/jpg".
    public var jpegContentType: String? {
        get { jpegType }
        set { jpegType = newValue }
    }
}

extension Request {
    /// Whether to send non-ASCII file names a second time as `filename*`; `nil` uses the client's
    /// setting, which defaults to false.
    public var sendsExtendedNames: Bool? {
        get { value(of: .extendedNames).map { $0 == 1 } }
        set { set(.extendedNames, newValue.map { $0 ? 1 : 0 }) }
    }

    /// The digest of the body, sent in a header. `nil` uses the client's setting, which defaults to
    /// none. A worker reads the body first to compute it. Not possible for a streamed body:
    /// `bad_option`. A header set on the request overrides it.
    public var bodyDigest: ContentDigest? {
        get { value(of: .bodyDigest).flatMap { ContentDigest(rawValue: $0) } }
        set { set(.bodyDigest, newValue?.rawValue) }
    }

    /// The digest of each image and file of a form, sent in the headers of its part.
    public var partDigests: ContentDigest? {
        get { value(of: .partDigests).flatMap { ContentDigest(rawValue: $0) } }
        set { set(.partDigests, newValue?.rawValue) }
    }

    /// The content encoding of the body; `nil` uses the client's, which defaults to none. The
    /// server must support it, and few servers announce that.
    ///
    /// Bytes, JSON and URL-encoded forms of at most 1 MiB are compressed as a whole, and sent
    /// uncompressed if that is not larger. Larger bodies, files and streamed bodies are compressed
    /// during the transfer, without a Content-Length. Multipart forms are not compressed.
    public var bodyCoding: ContentCoding? {
        get { value(of: .bodyCoding).flatMap { ContentCoding(rawValue: $0) } }
        set { set(.bodyCoding, newValue?.rawValue) }
    }

    /// The minimum body size for compression, in bytes; `nil` uses the client's, which defaults to
    /// 1,024.
    public var bodyCodingMinBytes: Int64? {
        get { value(of: .bodyCodingMinBytes) }
        set { set(.bodyCodingMinBytes, newValue) }
    }

    /// The effect of ``bodyCoding`` on a request that has a Content-Encoding header, or whose
    /// client has one; `nil` uses the client's setting, which defaults to ``CodedBody/skip``.
    public var codedBody: CodedBody? {
        get { value(of: .codedBody).flatMap { CodedBody(rawValue: $0) } }
        set { set(.codedBody, newValue?.rawValue) }
    }

    /// The treatment of a body that is declared as already encoded.
    public enum CodedBody: Int64, Sendable, Hashable, CaseIterable {
        /// Send it unchanged with the header.
        case skip = 0
        /// Compress it anyway; the header names only the new encoding.
        case replace = 1
        /// Fail with `bad_header` before anything is sent.
        case error = 2
    }
}

/// Digest algorithms.
public enum DigestKind: Sendable, Hashable, CaseIterable {
    case md5, sha1, sha256, sha512

    /// `nil` for algorithms that downloads do not offer.
    init?(_ algorithm: DigestAlgorithm) {
        switch algorithm {
        case .md5: self = .md5
        case .sha1: self = .sha1
        case .sha256: self = .sha256
        case .sha512: self = .sha512
        case .sha512_256: return nil
        }
    }

    var algorithm: DigestAlgorithm {
        switch self {
        case .md5: .md5
        case .sha1: .sha1
        case .sha256: .sha256
        case .sha512: .sha512
        }
    }
}

extension Request {
    /// Sets the expected digest of a download, in hexadecimal or Base64; `nil` expects none.
    ///
    /// The file appears only if the digest matches; otherwise the error is `checksum`.
    ///
    /// - Throws: `bad_digest` for a text that is not a digest of that kind.
    public mutating func setDigest(_ kind: DigestKind, _ text: String?) throws(WherryError) {
        expectedDigest = try text.map { text throws(WherryError) in
            try ExpectedDigest(kind.algorithm, text: text)
        }
    }

    /// A digest to compute for a download and report in ``/Wherry/DownloadedFile/digests``. `nil`,
    /// the default, computes only digests to verify.
    public var reportedDigest: DigestKind? {
        get { computedDigest.flatMap { DigestKind($0) } }
        set { computedDigest = newValue?.algorithm }
    }

    /// The treatment of an existing file by a download.
    public enum ExistingFile: Int64, Sendable, Hashable {
        /// Fail with `exists` before anything is sent. The default.
        case fail = 0
        /// Replace it atomically at the end.
        case replace = 1
        /// Use another name: "name (1).txt".
        case number = 2
    }

    /// The treatment of an existing file by a download; `nil` uses the client's setting.
    public var existingFile: ExistingFile? {
        get { value(of: .targetExists).flatMap { ExistingFile(rawValue: $0) } }
        set { set(.targetExists, newValue?.rawValue) }
    }

    /// Whether the path of a download is a directory; the file name comes from the server or the
    /// URL, made safe.
    public var savesIntoDirectory: Bool {
        get { value(of: .targetIsDirectory) == 1 }
        set { set(.targetIsDirectory, newValue ? 1 : 0) }
    }

    /// Whether a download creates missing directories; `nil` uses the client's setting.
    public var makesDirectories: Bool? {
        get { value(of: .makeDirectories).map { $0 == 1 } }
        set { set(.makeDirectories, newValue.map { $0 ? 1 : 0 }) }
    }
}
