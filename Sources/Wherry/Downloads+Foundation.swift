// Wherry: downloads with Foundation's URL.
// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

extension DownloadedFile {
    /// The file's URL.
    public var url: URL { URL(fileURLWithPath: path) }
}

extension Client {
    /// Starts a download of a URL to a file.
    public func download(_ url: URL, to file: URL) throws(WherryError) -> Download {
        try download(Request(url), to: localPath(file))
    }
}

extension BackgroundSession {
    /// Starts a background download of a URL.
    @discardableResult
    public func download(_ url: URL, to file: URL) async throws(WherryError) -> String {
        try await download(Request(url), to: localPath(file))
    }
}

private func localPath(_ file: URL) throws(WherryError) -> String {
    guard file.isFileURL else {
        throw WherryError(
            .badPath,
            "The download target must be a file URL, but its scheme is \(file.scheme ?? "none")")
    }
    return file.path
}
