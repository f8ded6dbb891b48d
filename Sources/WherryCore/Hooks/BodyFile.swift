// Wherry: the file that a response body is saved to.
// SPDX-License-Identifier: Apache-2.0

import WherryDownloads
import WherryHTTP
import WherryRequests
import WherrySystem
import WherryTransport

/// The information needed to save a response body to a file (R21). The rules of downloads apply,
/// except those about resuming.
package struct BodyPlace: Sendable {
    private let url: HTTPURL
    private let name: String
    private let options: OptionTable
    private let request: Request
    let facts: DownloadFacts

    /// - Parameters:
    ///   - response: The response headers; a body already present is the one to save.
    ///   - hasBody: Whether a body may follow.
    ///   - now: The current time in seconds since 1970.
    init(
        _ response: Response, hasBody: Bool, url: HTTPURL, request: Request, options: OptionTable,
        now: Int64
    ) {
        self.url = url
        self.request = request
        self.options = options
        name = response.suggestedFileName
        var facts = DownloadFacts()
        facts.name = name
        let head = response.head
        // The decoded length of a coded body is unknown.
        let isPlain = head["content-encoding"] == nil && head["transfer-encoding"] == nil
        if hasBody, isPlain { facts.total = head.contentLength }
        if options[.keepServerTime] == 1, let time = head["last-modified"] {
            facts.modified = HTTPDate.parse(time, now: now)
        }
        self.facts = facts
    }

    /// Resolves a path to the file to write. May block.
    ///
    /// - Throws: `exists`, `is_directory`, `read_only`, `bad_directory`, `no_permission`,
    ///   `bad_path`, `no_file` for a missing directory.
    package func target(_ path: String) throws(WherryError) -> DownloadTarget {
        try Client.target(path, suggestedName: name, options: options, hasDigest: false)
    }

    var identity: PartFile.Identity {
        let policy = DownloadPolicy(request, options)
        return PartFile.Identity(
            url: url.text, shownURL: HTTPURL.redacted(url.text),
            durability: policy.durability, creationMask: policy.creationMask)
    }
}

/// Saves a body to a partial file next to its destination, and renames the file once it is
/// complete.
final class BodyFile: @unchecked Sendable {  // changed only by the jobs of `disk`
    private let workers: WorkerPool
    private let disk: SerialQueue
    private let place: BodyPlace
    private let target: DownloadTarget
    private var part: PartFile?
    private var failure: DownloadError?
    /// Whether the exchange has failed: the remaining jobs of `disk` do nothing.
    private var isAbandoned = false

    init(_ place: BodyPlace, _ target: DownloadTarget, on workers: WorkerPool) {
        self.place = place
        self.target = target
        self.workers = workers
        disk = SerialQueue(on: workers)
    }

    /// Creates the partial file.
    ///
    /// - Parameter failed: Called if this or a later write fails; the following writes do nothing
    ///   then.
    func open(_ failed: @escaping @Sendable () -> Void) {
        disk.submit { [self] in
            attempt(failed) { () throws(DownloadError) in
                let part = try PartFile.open(target, place.identity).part
                self.part = part
                // Nothing is kept of an earlier partial file: this body starts at its first byte.
                try part.begin(place.facts, isJournaled: false)
            }
        }
    }

    /// Appends a piece of the body.
    func write(
        _ piece: Bytes, at offset: Int64, of exchange: Exchange,
        _ failed: @escaping @Sendable () -> Void
    ) {
        disk.submit { [self] in
            attempt(failed) { () throws(DownloadError) in try write(piece, at: offset) }
            exchange.consumed()
        } orRunHereIf: {
            part?.isQuick == true
        }
    }

    /// Writes a body that is complete in memory.
    func write(whole body: Bytes) {
        disk.submit { [self] in
            attempt({}) { () throws(DownloadError) in try write(body, at: 0) }
        }
    }

    /// Renames the partial file to its final name, after all writes.
    ///
    /// - Parameter done: Called with the path, or with the error. After an error the partial file
    ///   is removed.
    func publish(
        length: Int64, _ done: @escaping @Sendable (Result<String, DownloadError>) -> Void
    ) {
        disk.submit { [self] in
            attempt({}) { () throws(DownloadError) in
                guard let part else {
                    throw DownloadError(.internal, "There is no partial file to publish")
                }
                let path = try part.publish(length: length)
                // The finished file holds the lock now.
                self.part = nil
                done(.success(path))
            }
            guard let failure else { return }
            discard()
            done(.failure(failure))
        }
    }

    /// Removes the partial file of a body that will not be complete.
    ///
    /// - Parameter done: Called with the error of an earlier step, if any.
    func abandon(_ done: @escaping @Sendable (DownloadError?) -> Void) {
        disk.submit { [self] in
            let failure = failure
            isAbandoned = true
            // A partial file that cannot be removed is reused when a later request saves there.
            discard()
            done(failure)
        }
    }

    private func write(_ bytes: Bytes, at offset: Int64) throws(DownloadError) {
        guard let part else { return }
        try part.write(bytes, at: offset)
        part.beginWriteBack(on: workers)
    }

    /// Runs `body` unless an earlier step failed.
    private func attempt(_ failed: () -> Void, _ body: () throws(DownloadError) -> Void) {
        guard failure == nil, !isAbandoned else { return }
        do throws(DownloadError) {
            try body()
        } catch {
            failure = error
            failed()
        }
    }

    private func discard() {
        guard let part else { return }
        self.part = nil
        do throws(DownloadError) {
            _ = try part.close(keeping: false)
        } catch {
            if failure == nil { failure = error }
        }
    }
}
