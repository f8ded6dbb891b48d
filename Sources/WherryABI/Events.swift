// Wherry: wherry.h, section 8: events.
// SPDX-License-Identifier: Apache-2.0

import CWherry
import Glibc
import WherryCore
import WherryHTTP
import WherryRequests
import WherrySystem

/// The objects borrowed from an event.
final class EventLendings: @unchecked Sendable {  // `request` is guarded by its stripe
    let texts = TextStore()
    let response = LentHandle()
    let error = LentHandle()
    private let requestHandle = LentHandle()
    private var request: Box<RequestValue>?

    /// Returns a handle to a copy of the request that a question is about.
    func request(_ request: Request) -> OpaquePointer? {
        requestHandle.pointer {
            let box = Box(RequestValue(request), isLent: true)
            locked { self.request = box }
            return box
        }
    }

    /// That copy, if it was requested.
    var edited: Box<RequestValue>? { locked { request } }

    private func locked<Result>(_ body: () -> Result) -> Result {
        let lock = Stripes.shared.lock(of: self)
        pthread_mutex_lock(lock)
        defer { pthread_mutex_unlock(lock) }
        return body()
    }
}

extension QueueEvent {
    /// Created on first use.
    var lendings: EventLendings {
        let lock = Stripes.shared.lock(of: self)
        pthread_mutex_lock(lock)
        defer { pthread_mutex_unlock(lock) }
        if let known = attachment as? EventLendings { return known }
        let lendings = EventLendings()
        attachment = lendings
        return lendings
    }

    /// Invalidates the borrowed objects now, instead of when the thread that queued the event also
    /// releases it.
    func endLendings() {
        let lock = Stripes.shared.lock(of: self)
        pthread_mutex_lock(lock)
        let lent = attachment
        attachment = nil
        pthread_mutex_unlock(lock)
        withExtendedLifetime(lent) {}
    }
}

func getEvent(_ event: OpaquePointer?) throws(WherryError) -> QueueEvent {
    try Handles.get(event, QueueEvent.self)
}

@_cdecl("wherry_event_free") @implementation
public func wherry_event_free(_ event: OpaquePointer?) -> wherry_status {
    status { () throws(WherryError) in
        try Handles.free(event, QueueEvent.self)?.endLendings()
    }
}

@_cdecl("wherry_event_get_kind") @implementation
public func wherry_event_get_kind(_ event: OpaquePointer?) -> wherry_event_kind {
    value(WHERRY_EVENT_NONE) { () throws(WherryError) in
        wherry_event_kind(UInt32(bitPattern: try getEvent(event).kind))
    }
}

@_cdecl("wherry_event_user_data") @implementation
public func wherry_event_user_data(_ event: OpaquePointer?) -> UnsafeMutableRawPointer? {
    value(nil) { () throws(WherryError) in
        UnsafeMutableRawPointer(bitPattern: try getEvent(event).userData)
    }
}

@_cdecl("wherry_event_user_key") @implementation
public func wherry_event_user_key(_ event: OpaquePointer?) -> UInt64 {
    value(0) { () throws(WherryError) in try getEvent(event).transfer?.userKey ?? 0 }
}

@_cdecl("wherry_event_transfer_id") @implementation
public func wherry_event_transfer_id(_ event: OpaquePointer?) -> UInt64 {
    value(0) { () throws(WherryError) in
        let event = try getEvent(event)
        return event.transfer?.id ?? event.log?.record.transferID ?? 0
    }
}

@_cdecl("wherry_event_open_transfer") @implementation
public func wherry_event_open_transfer(
    _ event: OpaquePointer?, _ out_transfer: UnsafeMutablePointer<OpaquePointer?>?
) -> wherry_status {
    status { () throws(WherryError) in
        let out = try required(out_transfer)
        guard let transfer = try getEvent(event).transfer else {
            throw WherryError(.wrongState, "The event does not belong to a transfer")
        }
        try Handles.give(Box(TransferValue(transfer: transfer)), to: out)
    }
}

@_cdecl("wherry_event_detail") @implementation
public func wherry_event_detail(_ event: OpaquePointer?) -> Int64 {
    value(0) { () throws(WherryError) in wherry_record(try getEvent(event)).detail }
}

@_cdecl("wherry_event_status") @implementation
public func wherry_event_status(_ event: OpaquePointer?) -> wherry_status {
    if ForkGate.isForked { return WHERRY_E_FORKED }
    return value(WHERRY_E_ARGUMENT) { () throws(WherryError) in
        try getEvent(event).error.map { wherry_status($0.code.rawValue) } ?? WHERRY_OK
    }
}

@_cdecl("wherry_event_error") @implementation
public func wherry_event_error(_ event: OpaquePointer?) -> OpaquePointer? {
    value(nil) { () throws(WherryError) in
        let event = try getEvent(event)
        guard let error = event.error else { return nil }
        return event.lendings.error.pointer { ErrorBox(error) }
    }
}

@_cdecl("wherry_event_response") @implementation
public func wherry_event_response(_ event: OpaquePointer?) -> OpaquePointer? {
    value(nil) { () throws(WherryError) in
        let event = try getEvent(event)
        guard let response = event.event?.response else { return nil }
        return event.lendings.response.pointer { ResponseBox(response, isLent: true) }
    }
}

@_cdecl("wherry_event_body") @implementation
public func wherry_event_body(
    _ event: OpaquePointer?, _ out_count: UnsafeMutablePointer<Int>?
) -> UnsafePointer<UInt8>? {
    out_count?.pointee = 0
    return value(nil) { () throws(WherryError) in
        let record = wherry_record(try getEvent(event))
        out_count?.pointee = record.body_count
        return record.body
    }
}

@_cdecl("wherry_event_text") @implementation
public func wherry_event_text(_ event: OpaquePointer?) -> UnsafePointer<CChar>? {
    value(nil) { () throws(WherryError) in
        let event = try getEvent(event)
        if let path = event.event?.path { return event.lendings.texts.lend(path: path) }
        let told = event.news?.target ?? event.event?.text ?? event.log?.record.text
        guard let text = told else { return nil }
        return event.lendings.texts.lend(text)
    }
}

@_cdecl("wherry_event_job_id") @implementation
public func wherry_event_job_id(_ event: OpaquePointer?) -> UnsafePointer<CChar>? {
    value(nil) { () throws(WherryError) in
        let event = try getEvent(event)
        guard let job = event.job else { return nil }
        return event.lendings.texts.lend(job)
    }
}

@_cdecl("wherry_event_digest") @implementation
public func wherry_event_digest(
    _ event: OpaquePointer?, _ digest: wherry_digest
) -> UnsafePointer<CChar>? {
    value(nil) { () throws(WherryError) in
        let event = try getEvent(event)
        guard let algorithm = try DigestAlgorithm(digest), case .done(let outcome) = event.event,
            let bytes = outcome.digests[algorithm]
        else { return nil }
        return event.lendings.texts.lend(Hex.encode(bytes))
    }
}

@_cdecl("wherry_event_progress") @implementation
public func wherry_event_progress(
    _ event: OpaquePointer?, _ out_progress: UnsafeMutablePointer<wherry_progress>?
) -> wherry_status {
    status { () throws(WherryError) in
        guard case .progress(let progress) = try getEvent(event).event else {
            throw WherryError(.wrongState, "The event is not a WHERRY_EVENT_PROGRESS")
        }
        try fill(out_progress) { wherry_progress(progress, count: progress.count) }
    }
}
