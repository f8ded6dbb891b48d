// Wherry: downloads to files.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// A running download.
public typealias Download = TransferHandle<DownloadedFile>

/// A completed and verified download.
public struct DownloadedFile: Sendable {
    /// The file's absolute path.
    public let path: String
    /// The last response, without its body.
    public let response: Response?
    /// The computed digests of the file in lower-case hexadecimal: the expected one, one announced
    /// by the server, and ``/WherryRequests/Request/reportedDigest``. For a file that already
    /// existed, only the digest that identified it.
    public let digests: [DigestKind: String]
}

extension TransferHandle<DownloadedFile> {
    /// Sets the bandwidth limit in bytes per second for all connections of the download; 0 for no
    /// limit.
    public func setMaxBytesPerSecond(_ limit: Int64) {
        (transfer as? DownloadTransfer)?.setMaxReceiveSpeed(limit)
    }

    /// The position in the client's queue of waiting downloads
    /// (`Client.Configuration.maxDownloads`); 0 is next. Paused downloads keep their position.
    /// `nil` while running and after the end.
    public var place: Int? { (transfer as? DownloadTransfer)?.place }

    /// The priority in the queue, highest first; `nil` after the end.
    public var priority: Int? { (transfer as? DownloadTransfer)?.priority }

    /// Moves the download to another position in the queue: 0 is next, and a position beyond the
    /// end is last. Adjusts the download's priority if the new position requires it. A running
    /// download is not affected.
    public func move(to place: Int) { (transfer as? DownloadTransfer)?.move(to: place) }
}

extension Client {
    /// Starts a download to a file.
    ///
    /// The file appears when it is complete; until then, a partial file exists next to it. To
    /// resume a cancelled or failed download, start the same download again.
    ///
    /// - Parameter path: The output file; relative to the working directory.
    /// - Throws: Errors detected before anything is sent: `exists`, `bad_directory`,
    ///   `already_running`, and other errors of the output file.
    public func download(
        _ request: Request, to path: String, hooks: Hooks? = nil
    ) throws(WherryError) -> Download {
        var request = request
        request.set(.wantProgress, 1)
        let events = TransferEvents(self.hooks(hooks, for: &request))
        let transfer = try download(request, to: path, observer: events)
        return TransferHandle(transfer, events) { outcome throws(WherryError) in
            if let error = outcome.error { throw error }
            guard let path = outcome.path else {
                throw WherryError(.internal, "The download ended without a file")
            }
            let digests = outcome.digests.compactMap { algorithm, value in
                DigestKind(algorithm).map { ($0, Hex.encode(value)) }
            }
            return DownloadedFile(
                path: path, response: outcome.response,
                digests: Dictionary(uniqueKeysWithValues: digests))
        }
    }

    /// Starts a download of a URL to a file.
    public func download(_ url: String, to path: String) throws(WherryError) -> Download {
        try download(Request(url), to: path)
    }
}
