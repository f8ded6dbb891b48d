// Wherry: downloading into files.
// SPDX-License-Identifier: Apache-2.0

public import Foundation
import WherrySystem

/// A download on its way.
public typealias Download = TransferHandle<DownloadedFile>

/// A download that is whole, verified and under its name.
public struct DownloadedFile: Sendable {
    /// The file's absolute path.
    public let path: String
    /// The answer that brought the last of it, without its body.
    public let response: Response?
    /// The digests of the whole file that were computed, in lowercase hexadecimal: the expected
    /// one, one that the server announced, and ``/WherryCore/Request/reportedDigest``. Of a file that
    /// was there already, only the one it was known by.
    public let digests: [DigestKind: String]

    /// The file's URL.
    public var url: URL { URL(fileURLWithPath: path) }
}

extension TransferHandle<DownloadedFile> {
    /// What the download receives at most in a second, over all its connections, from now on; 0 is
    /// no limit.
    public func setMaxBytesPerSecond(_ limit: Int64) {
        (transfer as? DownloadTransfer)?.setMaxReceiveSpeed(limit)
    }

    /// Its place among the client's downloads that have no turn (`Client.Configuration.maxDownloads`):
    /// 0 is the next. Paused ones keep theirs. `nil` while it runs, and after its end.
    public var place: Int? { (transfer as? DownloadTransfer)?.place }

    /// What its client's downloads get their turn by, the highest first; `nil` after its end.
    public var priority: Int? { (transfer as? DownloadTransfer)?.priority }

    /// Moves it to another place among the downloads that have no turn: 0 is the next, and what lies
    /// beyond the last is the last. It takes on a priority that the place may have, where its own is
    /// too high or too low for it. One that runs stays.
    public func move(to place: Int) { (transfer as? DownloadTransfer)?.move(to: place) }
}

extension Client {
    /// Starts a download into a file.
    ///
    /// The file appears under its name when it is whole; until then its partial lies beside it. A
    /// download that was cancelled or failed goes on from there when the same is started again.
    ///
    /// - Parameter path: of the file to be; relative to the working directory.
    /// - Throws: what is known at once, with nothing sent: `exists`, `bad_directory`,
    ///   `already_running`, and what else concerns the target.
    public func download(
        _ request: Request, to path: String, decisions: Decisions? = nil
    ) throws(WherryError) -> Download {
        var request = request
        request.set(.wantProgress, 1)
        let events = TransferEvents(self.decisions(decisions, for: &request))
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

    /// Starts a download of a URL into a file.
    public func download(_ url: String, to path: String) throws(WherryError) -> Download {
        try download(Request(url), to: path)
    }

    /// Starts a download of a URL into a file.
    public func download(_ url: URL, to file: URL) throws(WherryError) -> Download {
        guard file.isFileURL else {
            throw WherryError(
                .badPath, "A download needs a file's URL, not \(file.scheme ?? "none")")
        }
        return try download(Request(url), to: file.path)
    }
}
