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

    /// The content type of JPEG images; `nil` uses the client's, which defaults to "image/jpeg".
    /// Old servers need "image/jpg".
    public var jpegContentType: String? {
        get { jpegType }
        set { jpegType = newValue }
    }
}

extension Request {
    /// How to handle a body that is declared as already encoded.
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

    /// A digest to compute for a download and report in ``/WherryAsync/DownloadedFile/digests``. `nil`,
    /// the default, computes only digests to verify.
    public var reportedDigest: DigestKind? {
        get { computedDigest.flatMap { DigestKind($0) } }
        set { computedDigest = newValue?.algorithm }
    }

    /// How a download handles an existing file.
    public enum ExistingFile: Int64, Sendable, Hashable {
        /// Fail with `exists` before anything is sent. The default.
        case fail = 0
        /// Replace it atomically at the end.
        case replace = 1
        /// Use another name: "name (1).txt".
        case number = 2
    }
}
