// Wherry: lists of plain structs.
// SPDX-License-Identifier: Apache-2.0

import CWherry
import WherryBackground
import WherryCore
import WherryDownloads
import WherryHTTP
import WherryModels

/// A list of the C interface. Immutable; its texts are valid as long as it exists.
final class ListBox: HandleObject, @unchecked Sendable {  // never changes after init
    static var kind: HandleKind { .list }

    enum Rows {
        case transfers([wherry_transfer_row])
        case images([wherry_image_row])
        case partials([wherry_partial_row])
        case entries([wherry_entry_row])
        case cookies([wherry_cookie_row])
        case jobs([wherry_job_row])
        case changes([wherry_change_row])
    }

    let rows: Rows
    private let texts = TextStore()
    /// The responses to separate image requests, by row.
    private let responses: [(response: Response?, handle: LentHandle)]

    init(images: [ImageOutcome]) {
        let texts = texts
        rows = .images(images.map { wherry_image_row($0, texts) })
        responses = images.map { ($0.response, LentHandle()) }
    }

    /// Returns a handle to the response of a row, valid as long as the list; `nil` if there is
    /// none.
    func response(_ index: Int) -> OpaquePointer? {
        guard responses.indices.contains(index), let response = responses[index].response
        else { return nil }
        return responses[index].handle.pointer { ResponseBox(response, isLent: true) }
    }

    init(transfers: [Transfer]) {
        let texts = texts
        rows = .transfers(transfers.map { wherry_transfer_row($0, texts) })
        responses = []
    }

    init(partials: [PartialDownload]) {
        let texts = texts
        rows = .partials(partials.map { wherry_partial_row($0, texts) })
        responses = []
    }

    init(cookies: [Cookie]) {
        let texts = texts
        rows = .cookies(cookies.map { wherry_cookie_row($0, texts) })
        responses = []
    }

    init(entries: [ResponseCache.Entry]) {
        let texts = texts
        rows = .entries(entries.map { wherry_entry_row($0, texts) })
        responses = []
    }

    init(jobs: [BackgroundJob]) {
        let texts = texts
        rows = .jobs(jobs.map { wherry_job_row($0, texts) })
        responses = []
    }

    init(changes: [ListChange]) {
        rows = .changes(changes.map { wherry_change_row($0) })
        responses = []
    }

    var count: Int {
        switch rows {
        case .transfers(let rows): rows.count
        case .images(let rows): rows.count
        case .partials(let rows): rows.count
        case .entries(let rows): rows.count
        case .cookies(let rows): rows.count
        case .jobs(let rows): rows.count
        case .changes(let rows): rows.count
        }
    }
}

extension wherry_change_row {
    init(_ change: ListChange) {
        self.init()
        switch change {
        case .insertRows(let section, let rows): set(WHERRY_CHANGE_INSERT_ROWS, rows, section)
        case .removeRows(let section, let rows): set(WHERRY_CHANGE_REMOVE_ROWS, rows, section)
        case .reloadRows(let section, let rows): set(WHERRY_CHANGE_RELOAD_ROWS, rows, section)
        case .insertSections(let sections): set(WHERRY_CHANGE_INSERT_SECTIONS, sections)
        case .removeSections(let sections): set(WHERRY_CHANGE_REMOVE_SECTIONS, sections)
        case .reloadSections(let sections): set(WHERRY_CHANGE_RELOAD_SECTIONS, sections)
        case .reloadAll: set(WHERRY_CHANGE_RELOAD_ALL, 0..<0)
        }
    }

    private mutating func set(_ kind: wherry_change, _ range: Range<Int>, _ section: Int = 0) {
        self.kind = Int32(bitPattern: kind.rawValue)
        self.section = section
        first = range.lowerBound
        count = range.count
    }
}

extension wherry_image_row {
    init(_ image: ImageOutcome, _ texts: TextStore) {
        self.init()
        file_name = texts.lend(path: image.fileName)
        original_bytes = image.originalBytes
        encoded_bytes = image.encodedBytes
        index = Int32(clamping: image.index)
        width = Int32(clamping: image.width)
        height = Int32(clamping: image.height)
        quality = Int32(clamping: image.quality ?? 0)
        http_code = Int32(clamping: image.response?.status ?? 0)
        sent_bytes = image.sentBytes
        if let error = image.error {
            reason = ReasonText.of(error.reasonWord)
            message = texts.lend(error.message)
            status = error.code.rawValue
        }
    }
}

extension wherry_partial_row {
    init(_ partial: PartialDownload, _ texts: TextStore) {
        self.init()
        path = texts.lend(path: partial.path)
        partial_path = texts.lend(path: partial.partialPath)
        url = texts.lend(partial.url)
        done_bytes = partial.bytes
        expected_bytes = partial.total ?? -1
        ratio = partial.ratio
    }
}

extension wherry_entry_row {
    init(_ entry: ResponseCache.Entry, _ texts: TextStore) {
        self.init()
        entry_id = texts.lend(entry.id)
        identifier = texts.lend(entry.identifier)
        method = texts.lend(entry.method)
        url = texts.lend(entry.url)
        stored_at_ms = Int64(entry.storedAt * 1000)
        fresh_for_ms = entry.remaining.cutMilliseconds
        body_bytes = entry.bodyBytes
        http_code = Int32(truncatingIfNeeded: entry.status)
        store = Int32(bitPattern: entry.store.rawValue)
    }
}

extension wherry_job_row {
    init(_ job: BackgroundJob, _ texts: TextStore) {
        self.init()
        job_id = texts.lend(job.id)
        url = texts.lend(job.url)
        path = texts.lend(path: job.path)
        tag = texts.lend(job.tag)
        done_bytes = job.progress.completed
        expected_bytes = job.progress.total ?? -1
        started_at_ms = Int64(job.startedAt * 1000)
        retry_at_ms = job.retryAt.map { Int64($0 * 1000) } ?? -1
        kind = job.kind.rawValue
        state = job.state.rawValue
        reason = job.reason.flatMap { ErrorReason(rawValue: $0) }.flatMap { ReasonText.of($0) }
        http_code = Int32(clamping: job.response?.status ?? job.error?.httpStatus ?? 0)
        if let error = job.error {
            status = error.code.rawValue
            message = texts.lend(error.message)
        }
    }
}

extension wherry_cookie_row {
    init(_ cookie: Cookie, _ texts: TextStore) {
        self.init()
        name = texts.lend(cookie.name)
        value = texts.lend(cookie.value)
        domain = texts.lend(cookie.domain)
        path = texts.lend(cookie.path)
        expires_s = cookie.expires ?? -1
        host_only = cookie.isHostOnly ? 1 : 0
        secure = cookie.isSecure ? 1 : 0
        http_only = cookie.isHTTPOnly ? 1 : 0
    }
}

extension wherry_transfer_row {
    init(_ transfer: Transfer, _ texts: TextStore) {
        self.init()
        let progress = transfer.progress
        transfer_id = transfer.id
        method = texts.lend(transfer.method)
        url = texts.lend(transfer.address)
        tag = texts.lend(transfer.tag)
        path = texts.lend(path: transfer.path)
        user_data = UnsafeMutableRawPointer(bitPattern: transfer.userData)
        done_bytes = progress.completed
        expected_bytes = progress.total ?? -1
        kind = transfer.kind.rawValue
        state = transfer.state.rawValue
        user_key = transfer.userKey
    }
}
