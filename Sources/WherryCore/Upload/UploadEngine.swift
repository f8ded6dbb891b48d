// Wherry: the construction of upload bodies.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherryRequests
import WherrySystem
import WherryTransport

/// Creates the body of an upload: checks the parts, encodes images on the workers, and joins the
/// parts.
package enum UploadEngine {
    /// Checks the request for errors that are detectable before any work (U2).
    package static func check(_ request: Request) throws(WherryError) {
        guard case .multipart(let parts) = request.body else { return }
        if parts.isEmpty {
            throw WherryError(
                .noImages, "The upload has no images and no other parts. Add at least one.")
        }
        for part in parts { try Multipart.check(part.contentType, part.headers.fields) }
    }

    /// Returns the stream for the parts that the caller writes; `nil` without such parts.
    package static func stream(for parts: [Request.Part]) throws(WherryError) -> StreamedBody? {
        var total: Int64?
        for part in parts {
            guard case .stream(let length) = part.content else { continue }
            let (sum, overflow) = (total ?? 0).addingReportingOverflow(length)
            guard length >= 0, !overflow else {
                throw WherryError(
                    .badValue,
                    "The length of a part that is written during the transfer cannot be \(length)")
            }
            total = sum
        }
        return total.map { StreamedBody(length: $0) }
    }

    /// Returns the body of a request without images.
    ///
    /// - Parameters:
    ///   - stream: The stream for the parts that the caller writes.
    ///   - computesDigests: Whether to compute the digests of parts, if requested. Reads the files
    ///     of the parts, which blocks.
    package static func body(
        of request: Request, method: String, settings: ClientSettings, options: OptionTable,
        workers: WorkerPool, stream: StreamedBody? = nil, computesDigests: Bool = false
    ) throws(WherryError) -> PreparedBody {
        guard case .multipart(let parts) = request.body else {
            return try RequestPlanner.body(
                of: request, method: method, settings: settings, options: options, workers: workers)
        }
        try check(request)
        return try form(
            request, parts, images: [:], settings: settings, options: options, workers: workers,
            stream: stream, computesDigests: computesDigests)
    }

    /// Returns the body of a request. Encodes its images one after another on this thread.
    package static func encodedBody(
        of request: Request, method: String, settings: ClientSettings, options: OptionTable,
        workers: WorkerPool
    ) throws(WherryError) -> PreparedBody {
        guard request.hasImages, case .multipart(let parts) = request.body else {
            return try body(
                of: request, method: method, settings: settings, options: options, workers: workers,
                computesDigests: true)
        }
        try check(request)
        var images: [Int: ImageJob.Ready] = [:]
        var failed: [ImageOutcome] = []
        for job in ImageJob.jobs(of: request, parts, settings: settings, options: options) {
            let (outcome, ready) = job.run(isCancelled: false)
            if let ready { images[job.partIndex] = ready } else { failed.append(outcome) }
        }
        let total = images.count + failed.count
        if let error = failure(failed, of: total, options) { throw error }
        return try form(
            request, parts, images: images, settings: settings, options: options,
            workers: workers, stream: nil, computesDigests: true)
    }

    /// Returns the error of an upload with these failed images; `nil` if the upload continues
    /// without them.
    private static func failure(
        _ failed: [ImageOutcome], of total: Int, _ options: OptionTable
    ) -> WherryError? {
        if UnreadableImages(options) == .skip, failed.count < total { return nil }
        return failed.failure { "\($0) of \(total) images cannot be sent" }
    }

    /// Returns the form of all parts in order, with the encoded images.
    private static func form(
        _ request: Request, _ parts: [Request.Part], images: [Int: ImageJob.Ready],
        settings: ClientSettings, options: OptionTable, workers: WorkerPool,
        stream: StreamedBody?, computesDigests: Bool
    ) throws(WherryError) -> PreparedBody {
        let own = [request.headers.fields, settings.fields].joined().first {
            Headers.areEqual($0.name, "Content-Type")
        }
        var form = try Multipart(contentType: own?.value)
        form.usesExtendedNames = options[.extendedNames] == 1
        let algorithm = computesDigests ? BodyDigest.algorithm(options[.partDigests]) : nil
        /// Returns the headers of a part, with the digest of its content.
        func headers(_ part: Request.Part, _ content: BodySegment) throws(WherryError) -> [Headers
            .Field]
        {
            var headers = part.headers
            if let algorithm {
                let field = try BodyDigest.field(
                    algorithm, of: .source(RequestPlanner.segmented([content], workers: workers)))
                if let field, !headers.contains(field.name) {
                    headers.append(field.name, field.value ?? "")
                }
            }
            return headers.fields
        }
        if !RequestPlanner.takesQuery(request.effectiveMethod) {
            form.addFields(try RequestPlanner.formFields(of: request, settings, options))
        }
        for (index, part) in parts.enumerated() {
            switch part.content {
            case .bytes(let bytes):
                // A plain field gets no digest, since it is not a file.
                let isFile = part.fileName != nil
                try form.addBytes(
                    part.name, bytes, fileName: part.fileName, contentType: part.contentType,
                    headers: isFile ? headers(part, .bytes(bytes)) : part.headers.fields)
            case .file(let path):
                try form.addFile(
                    part.name, path: path, fileName: part.fileName, contentType: part.contentType,
                    headers: headers(part, .file(path: path)))
            case .stream(let length):
                guard let stream else {
                    throw WherryError(
                        .internal, "A part that is written during the transfer has no stream")
                }
                try form.addStream(
                    part.name, stream, length: length, fileName: part.fileName,
                    contentType: part.contentType, headers: part.headers.fields)
            case .image:
                // A missing image was skipped as requested.
                guard let image = images[index] else { continue }
                try form.addBytes(
                    image.fieldName, image.bytes, fileName: image.fileName,
                    contentType: part.contentType ?? image.contentType,
                    headers: headers(part, .bytes(image.bytes)))
            }
        }
        let body = try RequestPlanner.segmented(form.finished(), workers: workers)
        return PreparedBody(
            .source(body), contentType: form.contentType, isReplayable: stream == nil)
    }

    /// Encodes the images on the workers, several concurrently, then creates the form.
    ///
    /// An unreadable image fails the upload before any byte is sent. The outcome of every image
    /// is reported, including those of the successfully encoded ones.
    package static func encode(
        _ request: Request, for transfer: RequestTransfer,
        _ done: @escaping @Sendable ([ImageOutcome], Result<PreparedBody, WherryError>) -> Void
    ) {
        guard case .multipart(let parts) = request.body else {
            return done([], .failure(WherryError(.internal, "There are no images to encode")))
        }
        let jobs = ImageJob.jobs(
            of: request, parts, settings: transfer.settings, options: transfer.options)
        let gathered = Lock<[Int: (outcome: ImageOutcome, ready: ImageJob.Ready?)]>([:])
        for job in jobs {
            transfer.client.workers.submit {
                let (outcome, ready) = job.run(isCancelled: transfer.isCancelled)
                transfer.emit(.image(outcome))
                let all = gathered.withLock { gathered in
                    gathered[job.partIndex] = (outcome, ready)
                    return gathered.count == jobs.count ? gathered : nil
                }
                guard let all else { return }
                let outcomes = all.values.map(\.outcome).sorted { $0.index < $1.index }
                done(
                    outcomes,
                    finish(request, parts, outcomes, all.compactMapValues(\.ready), transfer))
            }
        }
    }

    private static func finish(
        _ request: Request, _ parts: [Request.Part], _ outcomes: [ImageOutcome],
        _ images: [Int: ImageJob.Ready], _ transfer: RequestTransfer
    ) -> Result<PreparedBody, WherryError> {
        let failed = outcomes.filter { $0.error != nil }
        if let error = failure(failed, of: outcomes.count, transfer.options) {
            return .failure(error)
        }
        do {
            return .success(
                try form(
                    request, parts, images: images, settings: transfer.settings,
                    options: transfer.options, workers: transfer.client.workers,
                    stream: transfer.stream, computesDigests: true))
        } catch {
            return .failure(error)
        }
    }
}
