// Wherry: the similarity of images.
// SPDX-License-Identifier: Apache-2.0

import WherryImaging

extension Image {
    /// The similarity of two images of the same size.
    public struct Comparison: Hashable, Sendable {
        let comparison: ImageComparison

        /// The mean structural similarity (SSIM) of the gray images, at most 1. Equal images have 1.
        public var ssim: Double { comparison.ssim }
        /// The peak signal-to-noise ratio (PSNR) of the RGB images in decibels. Equal images have
        /// infinity.
        public var psnr: Double { comparison.psnr }
    }

    /// Compares the image with another one of the same size, such as a compressed copy. Decodes both,
    /// and blocks while it runs.
    ///
    /// SSIM uses a Gaussian window of 11x11 pixels with a standard deviation of 1.5, as in the paper
    /// of Wang et al., at every position inside the image. Along a side of fewer than 11 pixels, the
    /// window is as long as the side. The images are turned upright, and alpha is blended with the
    /// background.
    ///
    /// - Parameters:
    ///   - other: The other image. The order of the two does not affect the result.
    ///   - settings: Only background, orientation and limits apply. The limits apply to each image.
    /// - Throws: An error with code `argument` and reason `bad_parameters` for different sizes;
    ///   `image` for anything but a valid image that can be read, and for too many pixels; `limit` if
    ///   one needs more memory or time than allowed; `file` if it cannot be read.
    public func compared(
        with other: Image, _ settings: Compression = Compression()
    ) throws(WherryError) -> Comparison {
        do {
            return Comparison(
                comparison: try ImageComparison(source, other.source, settings.settings))
        } catch {
            throw WherryError(error)
        }
    }
}
