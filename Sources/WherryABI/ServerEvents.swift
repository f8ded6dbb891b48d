// Wherry: wherry.h, section 22: server-sent events.
// SPDX-License-Identifier: Apache-2.0

import CWherry
import WherryCore
import WherryHTTP

/// A parser of the C interface, and the events it has found.
struct ServerEventValue: BoxedValue {
    static var kind: HandleKind { .sse }

    var parser: ServerEventParser
    var hasFailed = false
    /// The pending events, in reverse order.
    var waiting: [ServerEvent] = []
    var current: ServerEvent?
    let texts = TextStore()
}

private func lend(
    _ sse: OpaquePointer?, _ text: (ServerEvent) -> String
) -> (text: UnsafePointer<CChar>, count: Int)? {
    value(nil) { () throws(WherryError) in
        let (current, texts) = try Handles.change(sse, ServerEventValue.self) {
            ($0.current, $0.texts)
        }
        guard let current, let lent = texts.lend(text(current)) else { return nil }
        return (lent, text(current).utf8.count)
    }
}

@_cdecl("wherry_sse_new") @implementation
public func wherry_sse_new(
    _ max_event_bytes: Int, _ out_sse: UnsafeMutablePointer<OpaquePointer?>?
) -> wherry_status {
    status { () throws(WherryError) in
        let out = try required(out_sse)
        guard max_event_bytes >= 0 else {
            throw WherryError(.badArgument, "The maximum size of an event is not a valid size")
        }
        let limit = max_event_bytes == 0 ? 1 << 20 : max_event_bytes
        try Handles.give(
            Box(ServerEventValue(parser: ServerEventParser(limit: limit))), to: out)
    }
}

@_cdecl("wherry_sse_free") @implementation
public func wherry_sse_free(_ sse: OpaquePointer?) -> wherry_status {
    status { () throws(WherryError) in try Handles.free(sse, Box<ServerEventValue>.self) }
}

@_cdecl("wherry_sse_feed") @implementation
public func wherry_sse_feed(
    _ sse: OpaquePointer?, _ bytes: UnsafeRawPointer?, _ count: Int
) -> wherry_status {
    status { () throws(WherryError) in
        let box = try Handles.get(sse, Box<ServerEventValue>.self)
        let piece = try buffer(bytes, count)
        try box.with { value throws(WherryError) in
            guard !value.hasFailed else {
                throw WherryError(
                    .wrongState,
                    "An event of the stream was too long. Create a parser with a larger limit.")
            }
            var events: [ServerEvent] = []
            do throws(WherryError) {
                try value.parser.feed(piece, &events)
            } catch {
                value.hasFailed = true
                value.waiting.insert(contentsOf: events.reversed(), at: 0)
                throw error
            }
            value.waiting.insert(contentsOf: events.reversed(), at: 0)
        }
    }
}

@_cdecl("wherry_sse_next") @implementation
public func wherry_sse_next(_ sse: OpaquePointer?) -> Bool {
    value(false) { () throws(WherryError) in
        let (texts, found) = try Handles.change(sse, ServerEventValue.self) { value in
            value.current = value.waiting.popLast()
            return (value.texts, value.current != nil)
        }
        texts.removeAll()
        return found
    }
}

@_cdecl("wherry_sse_name") @implementation
public func wherry_sse_name(_ sse: OpaquePointer?) -> UnsafePointer<CChar>? {
    lend(sse) { $0.name }?.text
}

@_cdecl("wherry_sse_data") @implementation
public func wherry_sse_data(
    _ sse: OpaquePointer?, _ out_count: UnsafeMutablePointer<Int>?
) -> UnsafePointer<CChar>? {
    let found = lend(sse) { $0.data }
    out_count?.pointee = found?.count ?? 0
    return found?.text
}

@_cdecl("wherry_sse_id") @implementation
public func wherry_sse_id(_ sse: OpaquePointer?) -> UnsafePointer<CChar>? {
    lend(sse) { $0.id }?.text
}

@_cdecl("wherry_sse_retry_ms") @implementation
public func wherry_sse_retry_ms(_ sse: OpaquePointer?) -> Int64 {
    value(-1) { () throws(WherryError) in
        try Handles.change(sse, ServerEventValue.self) { $0.parser.retry ?? -1 }
    }
}
