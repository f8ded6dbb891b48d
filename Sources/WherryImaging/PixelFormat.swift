// Wherry: pixel formats.
// SPDX-License-Identifier: Apache-2.0

internal import CImageCodecs

/// The byte layout of a pixel. Alpha is not premultiplied.
package enum PixelFormat: UInt8, CaseIterable, Hashable, Sendable {
    case gray8 = 1
    case rgb8 = 2
    case rgba8 = 3
    case bgra8 = 4

    package var bytesPerPixel: Int {
        switch self {
        case .gray8: 1
        case .rgb8: 3
        case .rgba8, .bgra8: 4
        }
    }

    package var hasAlpha: Bool { self == .rgba8 || self == .bgra8 }

    var codec: cimage_pixels { cimage_pixels(UInt32(rawValue)) }
}
