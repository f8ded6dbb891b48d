// Wherry: one picture on its way into a form.
// SPDX-License-Identifier: Apache-2.0

import WherryImaging
import WherrySystem

/// Encodes one picture of an upload and names it.
struct PictureJob: Sendable {
    /// A picture as its part is sent.
    struct Ready: Sendable {
        let fieldName: String
        let fileName: String
        let contentType: String
        let bytes: Bytes
    }

    /// Its place among the parts, and among the pictures.
    let partIndex: Int
    let index: Int
    private let part: Request.Part
    private let source: ImageSource
    private let compression: Compression
    private let nameStyle: Multipart.NameStyle
    private let jpegType: String
    private let milliseconds: Int64
    /// What stands behind its field's name where that is counted.
    private let fieldIndex: Int

    /// The pictures among the parts, in order.
    ///
    /// - Parameter isSeparate: each is the only one of its form.
    static func jobs(
        of request: Request, _ parts: [Request.Part], settings: ClientSettings,
        isSeparate: Bool = false
    ) -> [PictureJob] {
        let style = request.imageNames ?? settings.text(.imageNames) ?? "index"
        let jpegType = request.jpegType ?? settings.text(.jpegType) ?? "image/jpeg"
        let now = Int64(SystemClock.shared.wallSeconds() * 1000)
        var jobs: [PictureJob] = []
        for (partIndex, part) in parts.enumerated() {
            guard case .image(let source, let compression) = part.content else { continue }
            jobs.append(
                PictureJob(
                    partIndex: partIndex, index: jobs.count, part: part, source: source,
                    compression: compression,
                    nameStyle: Multipart.NameStyle(rawValue: style) ?? .index,
                    jpegType: jpegType, milliseconds: now,
                    fieldIndex: isSeparate ? 0 : jobs.count))
        }
        return jobs
    }

    /// Does the work; blocks for its time.
    func run(isCancelled: Bool) -> (ImageOutcome, Ready?) {
        guard !isCancelled else {
            return (outcome(fileName: givenName, error: Transfer.cancelledError), nil)
        }
        do {
            let image = try ImageEncoder.encode(source, compression)
            let isPNG = image.format == .png
            let fileName = part.fileName ?? Multipart.fileName(
                milliseconds: milliseconds, index: index, extension: isPNG ? "png" : "jpg")
            let ready = Ready(
                fieldName: nameStyle.name(part.name, index: fieldIndex), fileName: fileName,
                contentType: isPNG ? "image/png" : jpegType, bytes: image.bytes)
            var outcome = outcome(fileName: fileName)
            outcome.originalBytes = image.originalByteCount.map { Int64($0) } ?? -1
            outcome.encodedBytes = Int64(image.bytes.count)
            outcome.width = image.width
            outcome.height = image.height
            outcome.quality = image.quality
            return (outcome, ready)
        } catch {
            let name = givenName
            let failure = WherryError(error).with {
                $0.message = "\(label) cannot be sent: \(error.message)"
            }
            return (outcome(fileName: name, error: failure), nil)
        }
    }

    /// The picture before anything was done for it.
    var unsent: ImageOutcome { outcome(fileName: givenName) }

    /// For people, who count from 1: "Picture 2 (beach.jpg)".
    var label: String { "Picture \(index + 1) (\(givenName))" }

    private func outcome(fileName: String, error: WherryError? = nil) -> ImageOutcome {
        var outcome = ImageOutcome(index: index, fileName: fileName, error: error)
        if case .file(let path) = source { outcome.givenName = path }
        if let name = part.fileName { outcome.givenName = name }
        return outcome
    }

    /// What a person knows the picture by, before it has a name of its own.
    private var givenName: String {
        if let name = part.fileName { return name }
        switch source {
        case .file(let path): return path
        case .bytes(let bytes): return "\(bytes.count) bytes"
        case .pixels: return "raw pixels"
        }
    }
}

extension WherryError {
    /// The public form of what is wrong with a picture.
    package init(_ error: ImagingError) {
        let reason: ErrorReason = switch error.reason {
        case "truncated": .truncatedImage
        case "unsupported_image", "animated": .unsupportedImage
        case "too_large", "memory_limit", "too_many_scans", "deadline", "does_not_fit":
            .imageTooLarge
        case "no_memory": .noMemory
        case "unsupported_option": .unsupportedOption
        case "bad_parameters": .badParameters
        case "taken_back": .wrongState
        default: .badImage
        }
        if error.kind == .file {
            // The message is the imaging's; the errno tells which fault of a file it is.
            let file = WherryError(SystemError(error.systemCode, "read the picture"))
            self = file.with { $0.message = error.message }
            return
        }
        self.init(reason, error.message)
    }
}
