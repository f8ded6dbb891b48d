// Wherry: pictures and parts made into a body.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem
import WherryTransport

/// Makes the body of an upload: checks it, encodes its pictures on the workers, and puts the
/// parts together.
package enum UploadEngine {
    /// What can be told before any work (U2).
    package static func check(_ request: Request) throws(WherryError) {
        guard case .multipart(let parts) = request.body, parts.isEmpty else { return }
        throw WherryError(.noImages, "The upload has no pictures and no other parts")
    }

    /// The body of a request without pictures.
    package static func body(
        of request: Request, method: String, settings: ClientSettings, options: OptionTable,
        workers: WorkerPool
    ) throws(WherryError) -> PreparedBody {
        guard case .multipart(let parts) = request.body else {
            return try RequestPlanner.body(
                of: request, method: method, settings: settings, options: options, workers: workers)
        }
        try check(request)
        return try form(
            request, parts, pictures: [:], settings: settings, options: options, workers: workers)
    }

    /// The form of all parts in their order, the pictures among them encoded.
    private static func form(
        _ request: Request, _ parts: [Request.Part], pictures: [Int: PictureJob.Ready],
        settings: ClientSettings, options: OptionTable, workers: WorkerPool
    ) throws(WherryError) -> PreparedBody {
        var form = try Multipart()
        if !RequestPlanner.takesQuery(request.effectiveMethod) {
            form.addFields(try fields(of: request, settings, options))
        }
        for (index, part) in parts.enumerated() {
            switch part.content {
            case .bytes(let bytes):
                try form.addBytes(
                    part.name, bytes, fileName: part.fileName, contentType: part.contentType)
            case .file(let path):
                try form.addFile(
                    part.name, path: path, fileName: part.fileName, contentType: part.contentType)
            case .image:
                // Those that are missing were skipped, as asked.
                guard let picture = pictures[index] else { continue }
                try form.addBytes(
                    picture.fieldName, picture.bytes, fileName: picture.fileName,
                    contentType: part.contentType ?? picture.contentType)
            }
        }
        let body = try RequestPlanner.segmented(form.finished(), workers: workers)
        return PreparedBody(.source(body), contentType: form.contentType)
    }

    /// The client's and the request's parameters as fields of a form (U9).
    package static func fields(
        of request: Request, _ settings: ClientSettings, _ options: OptionTable
    ) throws(WherryError) -> [(name: String, value: String?)] {
        do {
            let parameters = RequestPlanner.merged(request, settings, options)
            return try RequestPlanner.encoding(options).fields(parameters)
        } catch {
            throw WherryError(.badParameters, error.message)
        }
    }

    /// Encodes the pictures on the workers, several at a time, and makes the form of them.
    ///
    /// One broken picture fails the upload before a byte is sent; every picture is told of, and
    /// the others' outcomes stand.
    package static func encode(
        _ request: Request, for transfer: Transfer,
        _ done: @escaping @Sendable ([ImageOutcome], Result<PreparedBody, WherryError>) -> Void
    ) {
        guard case .multipart(let parts) = request.body else {
            return done([], .failure(WherryError(.internal, "There are no pictures to encode")))
        }
        let jobs = PictureJob.jobs(of: request, parts, settings: transfer.settings)
        let gathered = Lock<[Int: (outcome: ImageOutcome, ready: PictureJob.Ready?)]>([:])
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
                done(outcomes, finish(request, parts, outcomes, all.compactMapValues(\.ready), transfer))
            }
        }
    }

    private static func finish(
        _ request: Request, _ parts: [Request.Part], _ outcomes: [ImageOutcome],
        _ pictures: [Int: PictureJob.Ready], _ transfer: Transfer
    ) -> Result<PreparedBody, WherryError> {
        let failed = outcomes.filter { $0.error != nil }
        let skips = transfer.options[.skipBrokenImages] == 1 && !pictures.isEmpty
        if !skips, let first = failed.first, let error = first.error {
            let what = failed.count == 1 ? "" : "\(failed.count) of \(outcomes.count) pictures cannot be sent; "
            return .failure(
                error.with {
                    $0.message = what + error.message
                    $0.failedImages = failed
                })
        }
        do {
            return .success(
                try form(
                    request, parts, pictures: pictures, settings: transfer.settings,
                    options: transfer.options, workers: transfer.client.workers))
        } catch {
            return .failure(error)
        }
    }
}
