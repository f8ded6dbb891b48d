// Wherry: images from Foundation's URL and Data.
// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

extension Image {
    /// Creates an image from a file, opened on demand.
    public static func file(_ url: URL, fileName: String? = nil) -> Image {
        file(url.path, fileName: fileName)
    }

    /// Creates an image from encoded bytes.
    public static func data(_ data: Data, fileName: String? = nil) -> Image {
        bytes(Bytes(data), fileName: fileName)
    }
}
