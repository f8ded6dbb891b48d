// Wherry: requests with forms, pictures and digests.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

extension Request.Part {
    /// A picture, compressed on a worker when the request is sent.
    ///
    /// Its field is `name` and its index among the pictures, from 0, as SJNetwork has it;
    /// `Request.imageNaming` has other ways.
    public static func image(
        _ name: String, _ image: Image, _ compression: Compression = Compression()
    ) -> Request.Part {
        Request.Part(
            name: name, content: .image(image.source, compression.settings),
            fileName: image.fileName)
    }
}

/// How the fields of a form's pictures are named after the one name that was given.
public enum ImageNaming: String, Sendable, Hashable {
    /// `photo0`, `photo1`: SJNetwork's, the default.
    case index
    /// `photo`, `photo`.
    case `repeat`
    /// `photo[]`, `photo[]`.
    case brackets
}

extension Request {
    /// Adds a part to the body, which becomes multipart/form-data; fields there become parts.
    public mutating func add(_ part: Part) { addPart(part) }

    /// How the fields of pictures are named; `nil` takes the client's, whose default is `index`.
    public var imageNaming: ImageNaming? {
        get { imageNames.flatMap { ImageNaming(rawValue: $0) } }
        set { imageNames = newValue?.rawValue }
    }

    /// How many pictures are sent at once, each in a form of its own with every other part; `nil` takes
    /// the client's, and 0, its default, makes one form of all.
    ///
    /// Picture n+1 is encoded while n is sent. One that fails keeps no other from being sent, but makes
    /// the whole a failure, whose `failedImages` tells which. Limits of time are each request's own.
    /// ``/Wherry/TransferHandle/images`` has each picture's answer.
    public var separateImages: Int? {
        get { value(of: .separateImages).map { Int($0) } }
        set { set(.separateImages, newValue.map { Int64($0) }) }
    }

    /// How often a picture with a request of its own is sent again where its failure may pass, after a
    /// rest; `nil` takes the client's, which is 0. `maxRetries` does not count for it. The server may
    /// then have it twice.
    public var imageRetries: Int? {
        get { value(of: .imageRetries).map { Int($0) } }
        set { set(.imageRetries, newValue.map { Int64($0) }) }
    }

    /// What to do with pictures that cannot be read: fail, skip, or send them as they are. `nil`, the
    /// default, takes the client's, which is `fail`.
    public var unreadableImages: UnreadableImages? {
        get { value(of: .unreadableImages).flatMap { UnreadableImages(rawValue: $0) } }
        set { set(.unreadableImages, newValue?.rawValue) }
    }

    /// The type JPEG pictures are sent as; `nil` takes the client's, which is "image/jpeg". Old
    /// servers want "image/jpg".
    public var jpegContentType: String? {
        get { jpegType }
        set { jpegType = newValue }
    }
}

extension Request {
    /// Whether names of files that are not ASCII are sent a second time as `filename*`, for servers
    /// that read it; `nil` takes the client's, which is off.
    public var sendsExtendedNames: Bool? {
        get { value(of: .extendedNames).map { $0 == 1 } }
        set { set(.extendedNames, newValue.map { $0 ? 1 : 0 }) }
    }

    /// The digest of the whole body, sent in a field before it; `nil` takes the client's, which is
    /// none. The body is read for it first, on a worker. A body that is written while it is sent has
    /// none: `bad_option`. A field of the request's own wins.
    public var bodyDigest: ContentDigest? {
        get { value(of: .bodyDigest).flatMap { ContentDigest(rawValue: $0) } }
        set { set(.bodyDigest, newValue?.rawValue) }
    }

    /// The same of each picture and file of a form, in the head of its part.
    public var partDigests: ContentDigest? {
        get { value(of: .partDigests).flatMap { ContentDigest(rawValue: $0) } }
        set { set(.partDigests, newValue?.rawValue) }
    }

    /// The content coding that the body gets before it is sent; `nil` takes the client's, which is
    /// none. The server must know it: few say beforehand that they do.
    ///
    /// Bytes, JSON and URL-encoded forms of at most 1 MiB are coded as one, and go out as they are
    /// where that does not make them smaller. What is longer, files and what is written while it is
    /// sent are coded on the way and have no Content-Length then. Forms of parts are not coded.
    public var bodyCoding: ContentCoding? {
        get { value(of: .bodyCoding).flatMap { ContentCoding(rawValue: $0) } }
        set { set(.bodyCoding, newValue?.rawValue) }
    }

    /// Bodies that are known to be shorter go out as they are; `nil` takes the client's, 1,024.
    public var bodyCodingMinBytes: Int64? {
        get { value(of: .bodyCodingMinBytes) }
        set { set(.bodyCodingMinBytes, newValue) }
    }

    /// What becomes of ``bodyCoding`` where the request, or its client, has a field Content-Encoding;
    /// `nil` takes the client's, which is ``CodedBody/skip``.
    public var codedBody: CodedBody? {
        get { value(of: .codedBody).flatMap { CodedBody(rawValue: $0) } }
        set { set(.codedBody, newValue?.rawValue) }
    }

    /// What becomes of a body that is said to be coded already.
    public enum CodedBody: Int64, Sendable, Hashable, CaseIterable {
        /// It goes out as it is, with the field.
        case skip = 0
        /// It is coded all the same, and the field names that coding alone.
        case replace = 1
        /// The request fails as `bad_header` before anything is sent.
        case error = 2
    }
}

/// Ways to compute a digest.
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
    /// What the finished download must have, in hexadecimal or Base64; `nil` asks for nothing.
    ///
    /// The file gets its name only if the digest is right; else the error is `checksum`.
    ///
    /// - Throws: `bad_digest` for a text that is no digest of that kind.
    public mutating func setDigest(_ kind: DigestKind, _ text: String?) throws(WherryError) {
        expectedDigest = try text.map { text throws(WherryError) in
            try ExpectedDigest(kind.algorithm, text: text)
        }
    }

    /// A digest of the finished download that is to be told, whatever it is:
    /// ``/Wherry/DownloadedFile/digests`` has it. `nil`, the default, computes only what is checked.
    public var reportedDigest: DigestKind? {
        get { computedDigest.flatMap { DigestKind($0) } }
        set { computedDigest = newValue?.algorithm }
    }

    /// What a download does where its file exists already.
    public enum ExistingFile: Int64, Sendable, Hashable {
        /// The error `exists`, before anything is sent: the default.
        case fail = 0
        /// Replaces it, at the end and in one step.
        case replace = 1
        /// Takes another name: "name (1).txt".
        case number = 2
    }

    /// What a download does where its file exists already; `nil` takes the client's.
    public var existingFile: ExistingFile? {
        get { value(of: .targetExists).flatMap { ExistingFile(rawValue: $0) } }
        set { set(.targetExists, newValue?.rawValue) }
    }

    /// A download's path is a directory: the file's name is the server's or the URL's, cleaned.
    public var savesIntoDirectory: Bool {
        get { value(of: .targetIsDirectory) == 1 }
        set { set(.targetIsDirectory, newValue ? 1 : 0) }
    }

    /// A download makes the directories that its path needs; `nil` takes the client's.
    public var makesDirectories: Bool? {
        get { value(of: .makeDirectories).map { $0 == 1 } }
        set { set(.makeDirectories, newValue.map { $0 ? 1 : 0 }) }
    }
}
