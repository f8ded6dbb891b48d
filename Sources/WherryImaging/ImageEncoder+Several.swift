// Wherry: several images from one decoding.
// SPDX-License-Identifier: Apache-2.0

internal import CImageCodecs

extension ImageEncoder {
    /// Returns an image for each compression, in this order, and decodes the source at most once.
    ///
    /// The rows are decoded at the smallest scale that suffices for all images, and each image is encoded
    /// while they are read. The images of a PNG or of pixels equal those of separate calls, and so do
    /// those that need no decoding. Those of a JPEG may differ slightly. The strictest limits apply to
    /// the decoding.
    ///
    /// - Throws: The first error of any of the images; there is no partial result.
    package static func encode(
        _ source: ImageSource, _ compressions: [Compression]
    ) throws(ImagingError) -> [EncodedImage] {
        try encodeAll(source, compressions).images
    }

    /// Returns the images, and the number of times that the source was decoded.
    static func encodeAll(
        _ source: ImageSource, _ compressions: [Compression]
    ) throws(ImagingError) -> (images: [EncodedImage], decodings: Int) {
        let count = compressions.count
        for (index, compression) in compressions.enumerated() {
            try naming(index, of: count) { () throws(ImagingError) in try compression.validate() }
        }
        switch source {
        case .file(let path):
            guard count > 0 else { return ([], 0) }
            return try SharedDecoding(ImageInput(path: path), compressions).run()
        case .bytes(let bytes):
            guard count > 0 else { return ([], 0) }
            return try SharedDecoding(ImageInput(bytes), compressions).run()
        case .pixels:
            var images: [EncodedImage] = []
            for (index, compression) in compressions.enumerated() {
                images.append(
                    try naming(index, of: count) { () throws(ImagingError) in
                        try encode(source, compression)
                    })
            }
            return (images, 0)
        }
    }

    /// Adds the number of the compression to the errors that it causes.
    fileprivate static func naming<Result>(
        _ index: Int, of count: Int, _ body: () throws(ImagingError) -> Result
    ) throws(ImagingError) -> Result {
        do throws(ImagingError) {
            return try body()
        } catch {
            guard count > 1, error.kind == .argument || error.reason == "does_not_fit" else {
                throw error
            }
            throw error.prefixed("Compression \(index + 1) of \(count): ")
        }
    }
}

/// The processing of one encoded image with several compressions.
private struct SharedDecoding {
    private struct Job {
        let index: Int
        let job: EncodedJob
        let plan: EncodedJob.Plan
    }

    private let count: Int
    private let limits: Limits
    private var images: [EncodedImage?]
    /// The jobs that need decoded rows.
    private var jobs: [Job] = []

    init(_ input: ImageInput, _ compressions: [Compression]) throws(ImagingError) {
        count = compressions.count
        images = Array(repeating: nil, count: count)
        let all = compressions.map { Limits($0) }
        limits = Limits(strictest: all)
        let image = try OpenImage(input, whole: false)
        for (index, compression) in compressions.enumerated() {
            let job = try EncodedJob(image, compression, all[index])
            switch try job.prepare() {
            case .done(let image): images[index] = image
            case .decoding(let plan): jobs.append(Job(index: index, job: job, plan: plan))
            }
        }
    }

    func run() throws(ImagingError) -> (images: [EncodedImage], decodings: Int) {
        var images = images
        guard let first = jobs.first else { return (images.compactMap { $0 }, 0) }
        let decoder = try Decoder(first.job.image, limits)
        let staysYCbCr = jobs.allSatisfy { $0.plan.staysYCbCr }
        let eighths = jobs.lazy.map(\.plan.eighths).max() ?? 8
        try decoder.start(staysYCbCr ? CIMAGE_YCBCR8 : nil, eighths: eighths)
        let shared = SharedRows(decoder, maxMemory: limits.maxMemory)
        var encodings: [(reader: SharedRows.Reader, steps: EncodingSteps)] = []
        for job in jobs {
            let reader = shared.reader()
            // What the decoder would have scaled for this image alone.
            let side = eighths / job.plan.eighths
            let rows: any RowSource = side == 1 ? reader : try BoxRows(reader, side: side)
            let steps = try EncodingSteps(job.plan.pipeline(decoder), rows, boxSide: side)
            encodings.append((reader, steps))
        }
        var active = Array(encodings.indices)
        // The slowest reader reads next, so that few rows are in memory.
        while let next = active.min(by: {
            encodings[$0].reader.position < encodings[$1].reader.position
        }) {
            if try !encodings[next].steps.step() {
                encodings[next].reader.finish()
                active.removeAll { $0 == next }
            }
        }
        for (job, encoding) in zip(jobs, encodings) {
            images[job.index] = try ImageEncoder.naming(job.index, of: count) {
                () throws(ImagingError) in
                try job.job.complete(encoding.steps.finish(), job.plan)
            }
        }
        return (images.compactMap { $0 }, 1)
    }
}
