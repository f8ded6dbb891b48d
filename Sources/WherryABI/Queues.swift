// Wherry: wherry.h, section 8: queue.
// SPDX-License-Identifier: Apache-2.0

import CWherry
import WherryCore
import WherryHTTP

@_cdecl("wherry_queue_new") @implementation
public func wherry_queue_new(
    _ out_queue: UnsafeMutablePointer<OpaquePointer?>?
) -> wherry_status {
    status { () throws(WherryError) in try Handles.give(EventQueue(), to: required(out_queue)) }
}

@_cdecl("wherry_queue_free") @implementation
public func wherry_queue_free(_ queue: OpaquePointer?) -> wherry_status {
    status { () throws(WherryError) in try Handles.free(queue, EventQueue.self)?.close() }
}

@_cdecl("wherry_queue_fd") @implementation
public func wherry_queue_fd(_ queue: OpaquePointer?) -> Int32 {
    value(-1) { () throws(WherryError) in try Handles.get(queue, EventQueue.self).descriptor() }
}

@_cdecl("wherry_queue_count") @implementation
public func wherry_queue_count(_ queue: OpaquePointer?) -> Int {
    value(0) { () throws(WherryError) in try Handles.get(queue, EventQueue.self).count }
}

@_cdecl("wherry_queue_next") @implementation
public func wherry_queue_next(
    _ queue: OpaquePointer?, _ timeout_ms: Int64,
    _ out_event: UnsafeMutablePointer<OpaquePointer?>?
) -> wherry_status {
    status { () throws(WherryError) in
        let out = try required(out_event)
        let queue = try Handles.get(queue, EventQueue.self)
        let place = try EventPlaces()
        guard let event = try queue.next(timeout: nanoseconds(timeout_ms)) else { throw .timedOut }
        place.take(for: CollectionOfOne(event)) { out.pointee = $1 }
    }
}

@_cdecl("wherry_queue_read") @implementation
public func wherry_queue_read(
    _ queue: OpaquePointer?, _ records: UnsafeMutablePointer<wherry_record>?, _ capacity: Int,
    _ timeout_ms: Int64, _ out_count: UnsafeMutablePointer<Int>?
) -> wherry_status {
    status { () throws(WherryError) in
        let count = try required(out_count)
        let record = try Record(records)
        guard capacity > 0 else {
            throw WherryError(.badArgument, "The capacity must be at least 1")
        }
        let queue = try Handles.get(queue, EventQueue.self)
        let limit = min(capacity, Record.batchLimit)
        let places = try EventPlaces(limit)
        let events = try queue.read(limit, timeout: nanoseconds(timeout_ms))
        guard !events.isEmpty else { throw .timedOut }
        places.take(for: events) { index, handle in
            record.write(events[index], handle, at: index)
        }
        count.pointee = events.count
    }
}

@_cdecl("wherry_queue_release") @implementation
public func wherry_queue_release(
    _ queue: OpaquePointer?, _ records: UnsafePointer<wherry_record>?, _ count: Int
) -> wherry_status {
    status { () throws(WherryError) in
        guard count > 0 else {
            guard count == 0 else {
                throw WherryError(.badArgument, "The count is not a valid size")
            }
            _ = try Handles.get(queue, EventQueue.self)
            return
        }
        let record = try Record(UnsafeMutablePointer(mutating: records))
        var events: [QueueEvent] = []
        events.reserveCapacity(min(count, Record.batchLimit))
        let areGood = Handles.table.remove(count, into: &events) { record.event(at: $0) }
        for event in events { event.endLendings() }
        guard areGood else {
            throw WherryError(
                .badHandle,
                "The argument records is invalid: an event in it was freed. Release each event once"
            )
        }
        // Last, since events taken from a freed queue must still be freed.
        _ = try Handles.get(queue, EventQueue.self)
    }
}

@_cdecl("wherry_queue_cancel") @implementation
public func wherry_queue_cancel(
    _ queue: OpaquePointer?, _ user_data: UnsafeMutableRawPointer?,
    _ out_count: UnsafeMutablePointer<Int>?
) -> wherry_status {
    status { () throws(WherryError) in
        let queue = try Handles.get(queue, EventQueue.self)
        let count = try queue.cancel(userData: UInt(bitPattern: user_data))
        out_count?.pointee = count
    }
}

@_cdecl("wherry_queue_wake") @implementation
public func wherry_queue_wake(
    _ queue: OpaquePointer?, _ user_data: UnsafeMutableRawPointer?
) -> wherry_status {
    status { () throws(WherryError) in
        try Handles.get(queue, EventQueue.self).wake(userData: UInt(bitPattern: user_data))
    }
}
