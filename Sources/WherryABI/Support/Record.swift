// Wherry: events as plain structs.
// SPDX-License-Identifier: Apache-2.0

import CWherry
import WherryCore
import WherryHTTP
import WherryLogging
import WherryModels
import WherrySystem

/// The caller's array of records, with the record size of the caller's header.
struct Record {
    /// The maximum number of events taken at once.
    static let batchLimit = 4096

    private let base: UnsafeMutableRawPointer
    private let stride: Int

    init(_ records: UnsafeMutablePointer<wherry_record>?) throws(WherryError) {
        let records = try required(records)
        // Requires room for the event, which otherwise could never be freed.
        let least = 2 * MemoryLayout<Int>.size
        stride = try checkedSize(records.pointee.size, atLeast: least)
        base = UnsafeMutableRawPointer(records)
    }

    /// Fills the first record with an event, which the caller then owns.
    func write(_ event: QueueEvent, as place: consuming EventPlaces) {
        place.take(for: CollectionOfOne(event)) { write(event, $1, at: $0) }
    }

    func write(_ event: QueueEvent, _ handle: OpaquePointer?, at index: Int) {
        var record = wherry_record(event)
        record.event = handle
        WherryABI.write(record, to: base + index * stride, size: stride)
    }

    func event(at index: Int) -> OpaquePointer? {
        (base + index * stride).loadUnaligned(
            fromByteOffset: MemoryLayout<Int>.size, as: OpaquePointer?.self)
    }
}

/// Handles reserved for events: events taken from a queue cannot be put back, and nothing may fail
/// after the end of a request.
struct EventPlaces: ~Copyable {
    private let count: Int

    init(_ count: Int = 1) throws(WherryError) {
        guard Handles.table.reserve(count) else { throw .noHandles }
        self.count = count
    }

    deinit {
        // In a forked child the table's lock may be held forever.
        if !ForkGate.isForked { Handles.table.unreserve(count) }
    }

    /// Returns the handle of each event, which the caller then owns; releases the rest.
    consuming func take(
        for events: some Sequence<QueueEvent>, _ body: (Int, OpaquePointer?) -> Void
    ) {
        let count = count
        discard self
        Handles.table.add(events, reserved: count, body)
    }
}

extension wherry_record {
    /// The data of an event. Pointers are valid as long as the event.
    init(_ event: QueueEvent) {
        self.init()
        user_data = UnsafeMutableRawPointer(bitPattern: event.userData)
        if let transfer = event.transfer {
            transfer_id = transfer.id
            user_key = transfer.userKey
        }
        kind = event.kind
        expected_bytes = -1
        if let log = event.log {
            set(log.record, log.text)
            return
        }
        if let news = event.news {
            detail = Int64(news.status.rawValue)
            expected_bytes = Int64(news.old.rawValue)
            reason = ReachWords.pointer(news.interface)
        }
        if let activity = event.activity { detail = Int64(activity.isShown ? activity.count : 0) }
        guard let content = event.event else {
            if let page = event.page { set(page) }
            return
        }
        if case .done(let outcome) = content {
            set(outcome)
            if let transfer = event.transfer, transfer.kind == .group { set(group: transfer) }
            return
        }
        detail = content.detail
        http_code = content.httpCode
        if let error = content.error {
            status = error.code.rawValue
            reason = ReasonText.of(error.reasonWord)
        }
        switch content {
        case .progress(let progress):
            done_bytes = progress.completed
            expected_bytes = progress.total ?? -1
        case .headers(let response): set(head: response)
        case .cached(let response):
            set(head: response)
            set(body: response.body)
        case .body(let piece):
            set(body: piece.bytes)
            done_bytes = piece.offset
        case .wantBody(let offset, _): done_bytes = offset
        case .image(let image):
            done_bytes = image.encodedBytes
            expected_bytes = image.originalBytes
        case .state, .preview, .hook, .done: break
        }
    }

    private mutating func set(_ record: LogRecord, _ text: Bytes) {
        transfer_id = record.transferID
        detail = Int64(record.level.rawValue)
        http_code = Int32(truncatingIfNeeded: record.status)
        reason = ReasonText.of(record.error?.reasonWord)
        set(body: text)
    }

    private mutating func set(_ page: PageEvent) {
        detail = Int64(page.detail.rawValue)
        done_bytes = page.page
        if let error = page.error {
            status = error.code.rawValue
            reason = ReasonText.of(error.reasonWord)
            http_code = Int32(truncatingIfNeeded: error.httpStatus)
        }
    }

    /// Fills the data of the most frequent event in one step.
    private mutating func set(_ outcome: TransferOutcome) {
        if let error = outcome.error {
            http_code = Int32(truncatingIfNeeded: error.httpStatus)
            status = error.code.rawValue
            reason = ReasonText.of(error.reasonWord)
        }
        if let response = outcome.response {
            http_code = Int32(truncatingIfNeeded: response.status)
            set(head: response)
            set(body: response.body)
        }
    }

    private mutating func set(group transfer: Transfer) {
        guard let group = transfer as? CompoundTransfer else { return }
        detail = Int64(group.firstFailed ?? -1)
        if group.isFromCache { flags |= WHERRY_RECORD_FROM_CACHE.rawValue }
    }

    private mutating func set(head response: Response) {
        head = response.head.block.lent.map {
            UnsafePointer($0.assumingMemoryBound(to: CChar.self))
        }
        head_count = response.head.block.count
        if !response.redirects.isEmpty { flags |= WHERRY_RECORD_REDIRECTED.rawValue }
        if !response.head.interim.isEmpty { flags |= WHERRY_RECORD_INFORMATIONAL.rawValue }
        if response.isFromCache { flags |= WHERRY_RECORD_FROM_CACHE.rawValue }
        if response.isUnchanged { flags |= WHERRY_RECORD_UNCHANGED.rawValue }
        if response.isStale { flags |= WHERRY_RECORD_STALE.rawValue }
        if response.isRevalidated { flags |= WHERRY_RECORD_REVALIDATED.rawValue }
        if response.isLengthUnverified { flags |= WHERRY_RECORD_LENGTH_UNVERIFIED.rawValue }
        switch response.head.httpVersion {
        case 10: flags |= WHERRY_RECORD_HTTP_1_0.rawValue
        case 20: flags |= WHERRY_RECORD_HTTP_2.rawValue
        default: break
        }
    }

    private mutating func set(body bytes: Bytes) {
        body = bytes.lent.map { UnsafePointer($0.assumingMemoryBound(to: UInt8.self)) }
        body_count = bytes.count
    }
}

extension Transfer {
    /// The number that the C interface stores as `userInfo` of the request or the group.
    var userKey: UInt64 { userInfo.flatMap { $0 as? UInt64 } ?? 0 }
}

extension QueueEvent {
    /// wherry_event_kind.
    var kind: Int32 {
        if log != nil { return 11 }
        if activity != nil { return 13 }
        guard let event else { return news != nil ? 10 : page != nil ? 12 : 0 }
        return switch event {
        case .progress: 1
        case .headers: 2
        case .body: 3
        case .wantBody: 4
        case .state: 5
        case .image: 6
        case .cached: 7
        case .hook: 8
        case .done: 9
        case .preview: 14
        }
    }
}

extension PageEvent {
    var detail: wherry_page_event {
        switch self {
        case .willLoad: WHERRY_PAGE_WILL_LOAD
        case .refreshed: WHERRY_PAGE_REFRESHED
        case .loaded: WHERRY_PAGE_LOADED
        case .failed: WHERRY_PAGE_FAILED
        case .finished: WHERRY_PAGE_FINISHED
        case .firstPage: WHERRY_PAGE_FIRST
        case .lastPage: WHERRY_PAGE_LAST
        }
    }

    /// The page number; -1 if the event has none.
    var page: Int64 {
        switch self {
        case .willLoad(let page), .refreshed(let page), .loaded(let page), .failed(let page, _):
            page
        case .finished, .firstPage, .lastPage: -1
        }
    }

    var error: WherryError? {
        if case .failed(_, let error) = self { error } else { nil }
    }
}

extension QueueEvent {
    /// The error or reason of the event.
    var error: WherryError? { event?.error ?? page?.error }
}

extension TransferEvent {
    var detail: Int64 {
        switch self {
        case .wantBody(_, let room): Int64(room)
        case .state(let state, _): Int64(state.rawValue)
        case .image(let image): Int64(image.index)
        case .preview(let preview): Int64(preview.pass)
        case .hook(let call): Int64(call.kind.set.rawValue)
        case .progress, .headers, .cached, .body, .done: 0
        }
    }

    var httpCode: Int32 {
        let code =
            switch self {
            case .done(let outcome): outcome.response?.status ?? outcome.error?.httpStatus ?? 0
            default: response?.status ?? 0
            }
        return Int32(truncatingIfNeeded: code)
    }

    var response: Response? {
        switch self {
        case .headers(let response), .cached(let response): response
        case .done(let outcome): outcome.response
        case .hook(let call):
            switch call.kind {
            case .redirect(let response, _), .store(let response), .token(let response),
                .credentials(let response, _, _, _), .headers(let response, _):
                response
            case .retry(let error, _): error.response
            case .next(let previous): previous?.response
            case .respond(let call): call.request.echo
            case .adapt: nil
            }
        default: nil
        }
    }

    /// The error or reason of the event.
    var error: WherryError? {
        switch self {
        case .done(let outcome): outcome.error
        case .image(let image): image.error
        case .hook(let call):
            if case .retry(let error, _) = call.kind { error } else { nil }
        case .state(let state, let reason?):
            WherryError(reason, "The transfer changed to \(state): \(reason.rawValue)")
        default: nil
        }
    }

    /// The path or name of a file.
    var path: String? {
        switch self {
        case .image(let image): image.fileName
        case .done(let outcome): outcome.path
        default: nil
        }
    }

    var text: String? {
        switch self {
        case .hook(let call):
            switch call.kind {
            case .redirect(_, let next): next.url
            case .credentials(_, let realm, _, _): realm
            case .adapt, .retry, .store, .headers, .token, .next, .respond: nil
            }
        default: nil
        }
    }
}
