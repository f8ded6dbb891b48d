// Wherry: downloads of a client and their partial files.
// SPDX-License-Identifier: Apache-2.0

import WherryDownloads
import WherryHTTP
import WherryRequests
import WherrySystem
import WherryTransport

extension Client {
    /// Starts a download to a file. If this call throws, nothing was sent and no event follows.
    ///
    /// The file appears under its name once it is complete and verified. Until then, the partial
    /// file and its journal are in the same directory. The request's parameters go into the query;
    /// the client's default parameters are not used (D1).
    ///
    /// - Parameters:
    ///   - path: The path of the destination file, or of a directory if the request sets
    ///     `savesIntoDirectory`. Relative to the working directory.
    ///   - willBegin: Called before the first event, once the start can no longer fail.
    /// - Throws: `exists`, `is_directory`, `read_only`, `bad_directory`, `no_permission`, or
    ///   `bad_path` for the destination. `already_running` for the same URL and path. `busy` for
    ///   another URL with the same path.
    package func download(
        _ request: Request, to path: String, observer: any TransferObserver, userData: UInt = 0,
        willBegin: (Transfer) -> Void = { _ in }
    ) throws(WherryError) -> Transfer {
        do {
            return try beginDownload(
                request, to: path, observer: observer, userData: userData, willBegin: willBegin)
        } catch {
            noteRefused(error, request)
            throw error
        }
    }

    private func beginDownload(
        _ request: Request, to path: String, observer: any TransferObserver, userData: UInt,
        willBegin: (Transfer) -> Void
    ) throws(WherryError) -> Transfer {
        let settings = settings
        let (options, url, mirrors) = try RequestPlanner.download(request, settings: settings)
        let policy = DownloadPolicy(request, options)
        var target = try Self.target(
            path,
            suggestedName: SuggestedFileName.choose(
                contentDisposition: String?.none, url: url.text),
            options: options, hasDigest: policy.expected != nil)
        // The download opens the target again when it starts.
        target.close()
        let key = DownloadRegistry.Key(
            url: String(url.text.prefix { $0 != "#" }), target: target.identity)
        try downloads.enter(
            key, directory: target.directoryPath,
            sharesTarget: target.name == nil || target.existing == .number)
        if policy.isResumable { partialFolders.note(target.directoryPath, on: workers) }
        let transfer = DownloadTransfer(
            request, url: url, mirrors: mirrors, target: target, policy: policy, key: key,
            client: self,
            settings: settings, options: options, observer: observer, userData: userData)
        do {
            try start(transfer, willBegin: willBegin)
        } catch {
            downloads.leave(key)
            throw error
        }
        return transfer
    }

    /// Checks the destination of a download without using the network.
    package static func target(
        _ path: String, suggestedName: String, options: OptionTable, hasDigest: Bool
    ) throws(WherryError) -> DownloadTarget {
        let existing: DownloadTarget.Existing =
            switch options[.targetExists] {
            case 1: .replace
            case 2: .number
            default: .fail
            }
        do throws(DownloadError) {
            return try DownloadTarget.locate(
                path, isDirectory: options[.targetIsDirectory] == 1,
                suggestedName: suggestedName, existing: existing,
                makesDirectories: options[.makeDirectories] == 1, hasDigest: hasDigest)
        } catch {
            throw error.wherryError()
        }
    }

    // MARK: Partials

    /// Returns the unfinished downloads in a directory, sorted by path. Does not start them.
    public func partials(in directory: String) throws(WherryError) -> [PartialDownload] {
        do throws(DownloadError) {
            return try PartialDownload.list(in: directory)
        } catch {
            throw error.wherryError()
        }
    }

    /// Returns the unfinished download of a file. `nil` if there is none.
    public func partial(of path: String) throws(WherryError) -> PartialDownload? {
        do throws(DownloadError) {
            return try PartialDownload.of(path).first
        } catch {
            throw error.wherryError()
        }
    }

    /// Returns the fraction of a file that earlier downloads completed, from 0.00 to 1.00. Returns
    /// 0 without a partial file, or if the total size is unknown (D16).
    public func partialRatio(of path: String) -> Double {
        guard let found = try? PartialDownload.of(path).first else { return 0 }
        return max(0, found.ratio)
    }

    /// Deletes the partial files of a file. Returns the number of partial files.
    ///
    /// - Throws: `busy` while a download is running.
    @discardableResult
    public func discardPartial(_ path: String) throws(WherryError) -> Int {
        do throws(DownloadError) {
            return try PartialDownload.discard(path)
        } catch {
            throw error.wherryError()
        }
    }

    /// Deletes partial files that no transfer is using: by path, or by URL in the directories of
    /// this client's downloads.
    ///
    /// - Parameter counted: The canonical destinations of transfers that the caller counts.
    /// - Returns: The number of deleted partial files, without those of `counted`.
    func discardPartials(_ match: TransferMatch, apartFrom counted: Set<String>) -> Int {
        switch match {
        case .path(let path):
            let count = (try? PartialDownload.discard(path)) ?? 0
            return counted.contains(Directory.canonical(path)) ? 0 : count
        case .urls(let texts):
            return texts.reduce(0) { $0 + discardPartials(.url($1), apartFrom: counted) }
        case .url(let text):
            let settings = settings
            return discardPartials(text, base: settings.base, settings, apartFrom: counted)
        case .all, .tag, .identifier, .id: return 0
        }
    }

    /// Deletes partial files by a URL, resolved against a base URL.
    func discardPartials(
        _ text: String, base: HTTPURL?, _ settings: ClientSettings, apartFrom counted: Set<String>,
        in directories: [String]? = nil
    ) -> Int {
        guard let url = try? RequestPlanner.target(text, base: base, options: settings.options)
        else { return 0 }
        let identity = DownloadIdentity(url: url.text)
        var count = 0
        for directory in directories ?? downloads.directories {
            let found = (try? PartialDownload.list(in: directory)) ?? []
            for partial in found where partial.identity == identity && !partial.isRunning {
                let discarded = (try? PartialDownload.discard(partial.partialPath)) ?? 0
                if !counted.contains(Directory.canonical(partial.path)) { count += discarded }
            }
        }
        return count
    }
}

extension DownloadPolicy {
    /// Creates the policy from a request's options.
    package init(_ request: Request, _ options: OptionTable) {
        self.init()
        isResumable = options[.resume] == 1
        retries = options[.maxRetries] < 0 ? 5 : Int(options[.maxRetries])
        segments = Int(options[.segments])
        // Leave one connection of the host to other transfers.
        mostSegments = Int(max(1, min(mostSegments, Int(clamping: options[.maxPerHost]) - 1)))
        maximumRetryAfter = .milliseconds(options[.maxRetryAfter])
        mayQueryChange = options[.partialOf] == 1
        isNewURLForSameFile = options[.partialOf] == 2
        durability =
            switch options[.durability] {
            case 0: .none
            case 2: .full
            default: .checkpoint
            }
        keepsServerTime = options[.keepServerTime] == 1
        mirrors = request.mirrors.count
        expected = request.expectedDigest.flatMap(DownloadDigest.init)
        computed = request.computedDigest
        creationMask = request.creationMask
    }
}
