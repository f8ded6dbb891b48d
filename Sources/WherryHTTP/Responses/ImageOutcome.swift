// Wherry: the outcome of one image of an upload.
// SPDX-License-Identifier: Apache-2.0

/// The outcome of one image of an upload.
public struct ImageOutcome: Sendable {
    /// The index of the image in the order of adding.
    public var index: Int
    /// The name or path that the program gave, or otherwise the name in the form. The same on
    /// success and failure.
    public var fileName: String
    /// The size of the original in bytes; -1 if unknown.
    public var originalBytes: Int64
    /// The number of bytes to send for the image; -1 if the image was not encoded.
    public var encodedBytes: Int64
    /// The width in pixels as sent; 0 if the image was not encoded.
    public var width = 0
    /// The height in pixels as sent; 0 if the image was not encoded.
    public var height = 0
    /// The libjpeg quality used for encoding, 1 to 100; `nil` for PNG, and if the original bytes
    /// are sent.
    public var quality: Int?
    /// The number of body bytes sent in the image's separate request; -1 without such a request
    /// (`Request.separateImages`).
    public var sentBytes: Int64 = -1
    /// The response to the image's separate request; `nil` if there is none.
    public var response: Response?
    /// Why the image was not sent; `nil` on success.
    public var error: WherryError?

    package init(
        index: Int, fileName: String, originalBytes: Int64 = -1, encodedBytes: Int64 = -1,
        error: WherryError? = nil
    ) {
        self.index = index
        self.fileName = fileName
        self.originalBytes = originalBytes
        self.encodedBytes = encodedBytes
        self.error = error
    }
}
