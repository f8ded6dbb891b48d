// Wherry: the preparation of one image for upload.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherryImaging
import WherryRequests
import WherrySystem

/// Encodes one image of an upload and chooses its file name.
struct ImageJob: Sendable {
    /// An image ready to be sent as a part.
    struct Ready: Sendable {
        let fieldName: String
        let fileName: String
        let contentType: String
        let bytes: Bytes
    }

    /// The index of the image among all parts.
    let partIndex: Int
    /// The index among the images.
    let index: Int
    private let part: Request.Part
    private let source: ImageSource
    private let compression: Compression
    private let nameStyle: Multipart.NameStyle
    private let jpegType: String
    private let milliseconds: Int64
    private let unreadable: UnreadableImages
    /// The index in the field name, for naming styles that number the fields.
    private let fieldIndex: Int

    /// Returns a job for each image among the parts, in order.
    ///
    /// - Parameter isSeparate: Whether each image is the only one in its form.
    static func jobs(
        of request: Request, _ parts: [Request.Part], settings: ClientSettings,
        options: OptionTable, isSeparate: Bool = false
    ) -> [ImageJob] {
        let style = request.imageNames ?? settings.text(.imageNames) ?? "index"
        let jpegType = request.jpegType ?? settings.text(.jpegType) ?? "image/jpeg"
        let now = Int64(SystemClock.shared.wallSeconds() * 1000)
        var jobs: [ImageJob] = []
        for (partIndex, part) in parts.enumerated() {
            guard case .image(let source, let compression) = part.content else { continue }
            jobs.append(
                ImageJob(
                    partIndex: partIndex, index: jobs.count, part: part, source: source,
                    compression: compression,
                    nameStyle: Multipart.NameStyle(rawValue: style) ?? .index,
                    jpegType: jpegType, milliseconds: now,
                    unreadable: UnreadableImages(options),
                    fieldIndex: isSeparate ? 0 : jobs.count))
        }
        return jobs
    }

    /// Encodes the image. Blocks until done.
    func run(isCancelled: Bool) -> (ImageOutcome, Ready?) {
        guard !isCancelled else {
            return (outcome(sentAs: likelyName, error: Transfer.cancelledError), nil)
        }
        do {
            let image = try ImageEncoder.encode(source, compression)
            let isPNG = image.format == .png
            let fileName = fileName(isPNG ? "png" : "jpg")
            let ready = Ready(
                fieldName: nameStyle.name(part.name, index: fieldIndex), fileName: fileName,
                contentType: isPNG ? "image/png" : jpegType, bytes: image.bytes)
            var outcome = outcome(sentAs: fileName)
            outcome.originalBytes = image.originalByteCount.map { Int64($0) } ?? -1
            outcome.encodedBytes = Int64(image.bytes.count)
            outcome.width = image.width
            outcome.height = image.height
            outcome.quality = image.quality
            return (outcome, ready)
        } catch {
            return failed(error)
        }
    }

    /// Handles an image that could not be encoded.
    private func failed(_ error: ImagingError) -> (ImageOutcome, Ready?) {
        var cause = error
        if unreadable == .send, error.isOfImage {
            do throws(ImagingError) {
                if let ready = try untouched() { return ready }
            } catch {
                cause = error
            }
        }
        let failure = WherryError(cause).with {
            $0.message = "\(label) cannot be sent: \(cause.message)"
        }
        return (outcome(sentAs: likelyName, error: failure), nil)
    }

    /// Returns the image with its original bytes; `nil` if it is too large or raw pixels.
    private func untouched() throws(ImagingError) -> (ImageOutcome, Ready)? {
        guard let original = try OriginalImage(source, maxMemory: compression.maxMemory),
            original.bytes.count <= compression.maxBytes ?? .max
        else { return nil }
        let type =
            switch original.format {
            case .jpeg: jpegType
            case .some(let format): format.mediaType
            case nil: FileTypes.type(of: givenName)
            }
        let fileName = fileName(original.format?.fileExtension ?? "bin")
        let ready = Ready(
            fieldName: nameStyle.name(part.name, index: fieldIndex), fileName: fileName,
            contentType: type, bytes: original.bytes)
        var outcome = outcome(sentAs: fileName)
        outcome.originalBytes = Int64(original.bytes.count)
        outcome.encodedBytes = outcome.originalBytes
        return (outcome, ready)
    }

    /// The outcome before the image has been processed.
    var unsent: ImageOutcome { outcome(sentAs: likelyName) }

    /// The name of the image in messages, counted from 1: "Image 2 (beach.jpg)".
    var label: String { "Image \(index + 1) (\(givenName))" }

    /// Returns an outcome with the name or path that the program gave, or otherwise the file name
    /// in the form.
    private func outcome(sentAs name: String, error: WherryError? = nil) -> ImageOutcome {
        var known = part.fileName ?? name
        if case .file(let path) = source, part.fileName == nil { known = path }
        return ImageOutcome(index: index, fileName: known, error: error)
    }

    /// Returns the file name in the form: the given one, or one made from the time.
    private func fileName(_ ending: String) -> String {
        part.fileName
            ?? Multipart.fileName(
                milliseconds: milliseconds, index: index, extension: ending)
    }

    /// The file name in the form, as far as it is known without opening a file.
    private var likelyName: String {
        switch compression.format {
        case .png: return fileName("png")
        case .keep: break
        default: return fileName("jpg")
        }
        let isPNG =
            switch source {
            case .file: false  // recognized by its path
            case .bytes(let bytes): OriginalImage.format(of: bytes) == .png
            case .pixels(let pixels): pixels.format.hasAlpha
            }
        return fileName(isPNG ? "png" : "jpg")
    }

    /// The name of the image in messages before it has a file name.
    private var givenName: String {
        if let name = part.fileName { return name }
        switch source {
        case .file(let path): return path
        case .bytes(let bytes): return "\(bytes.count) bytes"
        case .pixels: return "raw pixels"
        }
    }
}

extension [ImageOutcome] {
    /// Returns the failures of an upload as one error that names each image.
    ///
    /// - Parameter what: Returns the summary for more than one failure, such as "2 of 3 images
    ///   cannot be sent".
    func failure(_ what: (Int) -> String) -> WherryError? {
        guard let error = first(where: { $0.error != nil })?.error else { return nil }
        // The message names at most 100 images; `failedImages` names all.
        let named = compactMap { $0.error?.message }.prefix(100).map {
            count > 1 && !$0.hasSuffix(".") ? $0 + "." : $0
        }
        return error.with {
            if count > 1 { $0.message = ([what(count) + "."] + named).joined(separator: " ") }
            if count > named.count { $0.message += " \(count - named.count) more failed." }
            $0.failedImages = self
        }
    }
}

extension WherryError {
    /// Creates the public error for an imaging error.
    package init(_ error: ImagingError) {
        let reason: ErrorReason =
            switch error.reason {
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
            // Keep the message of the imaging error; the errno determines the reason.
            let file = WherryError(SystemError(error.systemCode, "read the image"))
            self = file.with { $0.message = error.message }
            return
        }
        self.init(reason, error.message)
    }
}
