// Wherry: the options of image compression.
// SPDX-License-Identifier: Apache-2.0
// Written by scripts/make-options from options.toml.

/// A number of `wherry_image_option`.
enum ImageOption: UInt32 {
    case maxWidth = 1
    case maxHeight = 2
    case maxBytes = 3
    case format = 4
    case backgroundRGB = 5
    case metadata = 6
    case keepOrientation = 7
    case neverLarger = 8
    case optimize = 9
    case progressive = 10
    case subsampling = 11
    case bestFilter = 12
    case maxPixels = 13
    case maxMemoryBytes = 14
    case deadline = 15
    case animated = 16
    case resizeMode = 17
    case smallest = 18
    case targetSSIM = 19
    case sharpen = 20
    case locationDecimals = 21

    /// The name in errors, as in the other languages.
    var name: String {
        switch self {
        case .maxWidth: "max_width"
        case .maxHeight: "max_height"
        case .maxBytes: "max_bytes"
        case .format: "format"
        case .backgroundRGB: "background_rgb"
        case .metadata: "metadata"
        case .keepOrientation: "keep_orientation"
        case .neverLarger: "never_larger"
        case .optimize: "optimize"
        case .progressive: "progressive"
        case .subsampling: "subsampling"
        case .bestFilter: "best_filter"
        case .maxPixels: "max_pixels"
        case .maxMemoryBytes: "max_memory_bytes"
        case .deadline: "deadline_ms"
        case .animated: "animated"
        case .resizeMode: "resize_mode"
        case .smallest: "smallest"
        case .targetSSIM: "target_ssim"
        case .sharpen: "sharpen"
        case .locationDecimals: "location_decimals"
        }
    }

    /// The valid values.
    var range: ClosedRange<Int64> {
        switch self {
        case .maxWidth: 0...Int64.max
        case .maxHeight: 0...Int64.max
        case .maxBytes: 0...Int64.max
        case .format: 0...2
        case .backgroundRGB: 0...16_777_215
        case .metadata: 1...4
        case .keepOrientation: 0...1
        case .neverLarger: 0...1
        case .optimize: -1...1
        case .progressive: 0...1
        case .subsampling: 0...444
        case .bestFilter: 0...1
        case .maxPixels: 1...Int64.max
        case .maxMemoryBytes: 1...Int64.max
        case .deadline: 0...Int64.max
        case .animated: 0...1
        case .resizeMode: 0...2
        case .smallest: 0...1
        case .targetSSIM: 0...9999
        case .sharpen: 0...500
        case .locationDecimals: -1...6
        }
    }
}
