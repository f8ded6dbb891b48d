// Wherry: the encoding of an image in steps.
// SPDX-License-Identifier: Apache-2.0

internal import CImageCodecs
internal import WherrySystem

/// The encoding of the rows of a source, a few rows at a time, so that several encodings can share it.
final class EncodingSteps {
    private let pipeline: Pipeline
    /// The rows before turning, if the image must be held before it can be encoded.
    private var kept: KeptRows?
    private var encoder: RowEncoder?
    private var size = (width: 0, height: 0)
    /// The filter, which may need many rows of the source for one of its own.
    private let filter: ResampledRows?
    /// The number of rows of the source of the filter that are read in a step.
    private let sourceRowsPerStep: Int
    /// The number of rows that are encoded in a step.
    private let rowsPerStep: Int

    /// - Parameter boxSide: The number of rows that are read for one row of the source. A step reads
    ///   about 16 rows.
    init(
        _ pipeline: Pipeline, _ source: any RowSource, boxSide: Int = 1
    ) throws(ImagingError) {
        self.pipeline = pipeline
        let rows = try pipeline.sizedRows(source)
        filter = rows as? ResampledRows
        sourceRowsPerStep = max(1, 16 / boxSide)
        rowsPerStep = min(16, max(1, 16 * rows.height / (source.height * boxSide)))
        if pipeline.orientation > 2 || pipeline.searches {
            kept = try KeptRows(reserving: rows, maxMemory: pipeline.limits.maxMemory)
        } else {
            try begin(Turning.upright(rows, orientation: pipeline.orientation, maxMemory: .max))
        }
    }

    /// Starts the encoder with upright rows.
    private func begin(_ upright: any RowSource) throws(ImagingError) {
        let rows = try pipeline.finished(upright)
        size = (rows.width, rows.height)
        encoder = try pipeline.encoder(rows, quality: pipeline.compression.jpegQuality)
    }

    /// Reads some rows; returns `false` after the last one.
    func step() throws(ImagingError) -> Bool {
        if let filter, try !filter.advance(sourceRowsPerStep) { return true }
        if let kept { return try kept.read(rowsPerStep) }
        return try encoder?.step(rowsPerStep) ?? false
    }

    /// Encodes what is left, and returns the image.
    func finish() throws(ImagingError) -> Pipeline.Result {
        if let kept {
            while try kept.read(16) {}
            let orientation = pipeline.orientation
            if pipeline.searches {
                return try pipeline.search { Turning.upright(kept, orientation: orientation) }
            }
            try begin(Turning.upright(kept, orientation: orientation))
        }
        guard let encoder else { preconditionFailure("the encoder was not started") }
        while try encoder.step(16) {}
        return pipeline.result(try encoder.finish(), size)
    }
}
