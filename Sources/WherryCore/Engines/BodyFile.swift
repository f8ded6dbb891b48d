// Wherry: the file that the body of an answer is saved to.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem
import WherryTransport

/// Where the body of an answer may be saved to, and how (R21): by the rules of downloads, as far as
/// they are no matter of resuming.
package struct BodyPlace: Sendable {
    private let url: HTTPURL
    private let name: String
    private let options: OptionTable
    private let request: Request
    let facts: DownloadFacts

    /// - Parameters:
    ///   - response: the head of the answer; a body that it has already is what will be saved.
    ///   - hasBody: one may follow.
    ///   - now: in seconds since 1970.
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
        // Of a coded body nobody knows how long it will be.
        let isPlain = head["content-encoding"] == nil && head["transfer-encoding"] == nil
        if hasBody, isPlain { facts.total = head.contentLength }
        if options[.keepServerTime] == 1, let time = head["last-modified"] {
            facts.modified = HTTPDate.parse(time, now: now)
        }
        self.facts = facts
    }

    /// Looks at the place of the file to be. May block.
    ///
    /// - Throws: `exists`, `is_directory`, `read_only`, `bad_directory`, `no_permission`, `bad_path`,
    ///   `no_file` for a missing directory.
    package func target(_ path: String) throws(WherryError) -> DownloadTarget {
        try Client.target(path, suggestedName: name, options: options, hasDigest: false)
    }

    var identity: PartFile.Identity {
        let policy = DownloadPolicy(request, options)
        return PartFile.Identity(
            url: url.text, shownURL: RedirectRules.redacted(url.text),
            durability: policy.durability, creationMask: policy.creationMask)
    }
}

/// A body on its way to a file: into a part beside it, which gets the name when it is whole.
final class BodyFile: @unchecked Sendable {  // what changes belongs to the jobs of `disk`
    private let workers: WorkerPool
    private let disk: SerialQueue
    private let place: BodyPlace
    private let target: DownloadTarget
    private var part: PartFile?
    private var failure: DownloadError?
    /// The exchange has failed: what is queued behind that is passed over.
    private var isAbandoned = false

    init(_ place: BodyPlace, _ target: DownloadTarget, on workers: WorkerPool) {
        self.place = place
        self.target = target
        self.workers = workers
        disk = SerialQueue(on: workers)
    }

    /// Makes the part.
    ///
    /// - Parameter failed: called if that or a later write fails; the rest is passed over then.
    func open(_ failed: @escaping @Sendable () -> Void) {
        disk.submit { [self] in
            attempt(failed) { () throws(DownloadError) in
                let part = try PartFile.open(target, place.identity).part
                self.part = part
                // Of another run's part nothing is kept: this body begins at its first byte.
                try part.begin(place.facts, isJournaled: false)
            }
        }
    }

    /// Writes a piece behind those before it.
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

    /// Writes a body that is here.
    func write(whole body: Bytes) {
        disk.submit { [self] in
            attempt({}) { () throws(DownloadError) in try write(body, at: 0) }
        }
    }

    /// Gives the part its name, once everything is written.
    ///
    /// - Parameter done: with the path, or with what went wrong; no part is left then.
    func publish(
        length: Int64, _ done: @escaping @Sendable (Result<String, DownloadError>) -> Void
    ) {
        disk.submit { [self] in
            attempt({}) { () throws(DownloadError) in
                guard let part else {
                    throw DownloadError(.internal, "There is no part to publish")
                }
                let path = try part.publish(length: length)
                // Its lock is on the finished file now.
                self.part = nil
                done(.success(path))
            }
            guard let failure else { return }
            discard()
            done(.failure(failure))
        }
    }

    /// Removes the part, for a body that will not be whole.
    ///
    /// - Parameter done: with what had gone wrong here, if something had.
    func abandon(_ done: @escaping @Sendable (DownloadError?) -> Void) {
        disk.submit { [self] in
            let failure = failure
            isAbandoned = true
            // What could not be removed is taken over by the next who saves there.
            discard()
            done(failure)
        }
    }

    private func write(_ bytes: Bytes, at offset: Int64) throws(DownloadError) {
        guard let part else { return }
        try part.write(bytes, Placement(skip: 0, count: bytes.count, offset: offset))
        part.beginWriteBack(on: workers)
    }

    /// Does it unless something has gone wrong before.
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
