// Wherry: wherry.h, section 21: endpoints and pages.
// SPDX-License-Identifier: Apache-2.0

import CWherry
import WherryCore
import WherryHTTP
import WherryModels
import WherrySystem

/// An endpoint of the C interface, and the queue for its events.
final class EndpointBox: HandleObject {
    static var kind: HandleKind { .endpoint }

    let endpoint: Endpoint
    let queue: EventQueue
    let userData: UInt

    init(_ endpoint: Endpoint, _ queue: EventQueue, _ userData: UInt) {
        self.endpoint = endpoint
        self.queue = queue
        self.userData = userData
    }
}

extension Pager: HandleObject {
    static var kind: HandleKind { .pager }
}

// MARK: Endpoints

private func get(_ endpoint: OpaquePointer?) throws(WherryError) -> EndpointBox {
    try Handles.get(endpoint, EndpointBox.self)
}

@_cdecl("wherry_endpoint_new") @implementation
public func wherry_endpoint_new(
    _ client: OpaquePointer?, _ request: OpaquePointer?, _ queue: OpaquePointer?,
    _ user_data: UnsafeMutableRawPointer?, _ out_endpoint: UnsafeMutablePointer<OpaquePointer?>?
) -> wherry_status {
    status { () throws(WherryError) in
        let out = try required(out_endpoint)
        let client = try Handles.get(client, Client.self)
        let endpoint = Endpoint(client, try snapshot(request))
        let queue = try Handles.get(queue, EventQueue.self)
        try Handles.give(EndpointBox(endpoint, queue, UInt(bitPattern: user_data)), to: out)
    }
}

@_cdecl("wherry_endpoint_free") @implementation
public func wherry_endpoint_free(_ endpoint: OpaquePointer?) -> wherry_status {
    status { () throws(WherryError) in
        _ = try Handles.free(endpoint, EndpointBox.self)?.endpoint.cancel()
    }
}

@_cdecl("wherry_endpoint_access") @implementation
public func wherry_endpoint_access(
    _ endpoint: OpaquePointer?, _ parameters: OpaquePointer?,
    _ out_transfer: UnsafeMutablePointer<OpaquePointer?>?
) -> wherry_status {
    status { () throws(WherryError) in
        let box = try get(endpoint)
        var object: JSONObject?
        if parameters != nil {
            let json = try Handles.change(parameters, JSONValue.self, name: "parameters") {
                $0.json
            }
            guard case .object(let found) = json else {
                throw WherryError(
                    .badParameters, "The parameters are not a JSON object. Pass an object.")
            }
            object = found
        }
        try start(out_transfer) { begun throws(WherryError) in
            _ = try box.endpoint.start(
                object, observer: box.queue, userData: box.userData, willBegin: begun)
        }
    }
}

@_cdecl("wherry_endpoint_load") @implementation
public func wherry_endpoint_load(
    _ endpoint: OpaquePointer?, _ out_transfer: UnsafeMutablePointer<OpaquePointer?>?
) -> wherry_status {
    status { () throws(WherryError) in
        let box = try get(endpoint)
        try startUnlessThere(out_transfer) { begun throws(WherryError) in
            try box.endpoint.start(
                onlyIfIdle: true, observer: box.queue, userData: box.userData, willBegin: begun)
        }
    }
}

/// Starts something that may need no transfer; the output pointer then receives NULL.
private func startUnlessThere(
    _ out: UnsafeMutablePointer<OpaquePointer?>?,
    _ body: (@escaping (Transfer) -> Void) throws(WherryError) -> Transfer?
) throws(WherryError) {
    guard let out else {
        _ = try body { _ in }
        return
    }
    let box = Box(TransferValue())
    let handle = try Handles.add(box)
    do {
        let transfer = try body { transfer in
            box.with { $0.transfer = transfer }
            out.pointee = handle
        }
        guard transfer == nil else { return }
    } catch {
        Handles.end(handle, .transfer)
        throw error
    }
    Handles.end(handle, .transfer)
    out.pointee = nil
}

@_cdecl("wherry_endpoint_cancel") @implementation
public func wherry_endpoint_cancel(_ endpoint: OpaquePointer?) -> wherry_status {
    status { () throws(WherryError) in try get(endpoint).endpoint.cancel() }
}

@_cdecl("wherry_endpoint_state") @implementation
public func wherry_endpoint_state(_ endpoint: OpaquePointer?) -> wherry_state {
    value(WHERRY_STATE_NONE) { () throws(WherryError) in
        switch try get(endpoint).endpoint.phase {
        case .created: WHERRY_STATE_NONE
        case .loading: WHERRY_STATE_RUNNING
        case .succeeded: WHERRY_STATE_DONE
        case .failed: WHERRY_STATE_FAILED
        case .cancelled: WHERRY_STATE_CANCELLED
        }
    }
}

@_cdecl("wherry_endpoint_json") @implementation
public func wherry_endpoint_json(
    _ endpoint: OpaquePointer?, _ out_json: UnsafeMutablePointer<OpaquePointer?>?
) -> wherry_status {
    status { () throws(WherryError) in
        let out = try required(out_json)
        try Handles.give(Box(JSONValue(try get(endpoint).endpoint.json())), to: out)
    }
}

@_cdecl("wherry_endpoint_timing") @implementation
public func wherry_endpoint_timing(
    _ endpoint: OpaquePointer?, _ out_timing: UnsafeMutablePointer<wherry_timing>?
) -> wherry_status {
    status { () throws(WherryError) in
        guard let timing = try get(endpoint).endpoint.timing else {
            throw WherryError(.wrongState, "No request of this endpoint has finished yet")
        }
        try fill(out_timing) { wherry_timing(timing) }
    }
}

extension wherry_timing {
    init(_ timing: Endpoint.Timing) {
        self.init()
        started_us = timing.started.wholeMicroseconds
        queued_us = timing.network.queued.wholeMicroseconds
        lookup_us = timing.network.lookup.wholeMicroseconds
        connect_us = timing.network.connect.wholeMicroseconds
        tls_us = timing.network.tls.wholeMicroseconds
        first_byte_us = timing.network.firstByte.wholeMicroseconds
        network_us = timing.network.total.wholeMicroseconds
        total_us = timing.total.wholeMicroseconds
        parse_us = timing.parse.wholeMicroseconds
    }
}

// MARK: Pages

private func pager(_ pager: OpaquePointer?) throws(WherryError) -> Pager {
    try Handles.get(pager, Pager.self)
}

private func configure(
    _ handle: OpaquePointer?, _ change: (inout Paging) throws(WherryError) -> Void
) -> wherry_status {
    status { () throws(WherryError) in try pager(handle).configure(change) }
}

private func load(
    _ handle: OpaquePointer?, _ verb: Pager.Verb, _ out: UnsafeMutablePointer<OpaquePointer?>?
) -> wherry_status {
    status { () throws(WherryError) in
        let pager = try pager(handle)
        try startUnlessThere(out) { begun throws(WherryError) in
            try pager.start(verb, willBegin: begun)
        }
    }
}

@_cdecl("wherry_pager_new") @implementation
public func wherry_pager_new(
    _ client: OpaquePointer?, _ request: OpaquePointer?, _ items_path: UnsafePointer<CChar>?,
    _ queue: OpaquePointer?, _ user_data: UnsafeMutableRawPointer?,
    _ out_pager: UnsafeMutablePointer<OpaquePointer?>?
) -> wherry_status {
    status { () throws(WherryError) in
        let out = try required(out_pager)
        let client = try Handles.get(client, Client.self)
        let request = try snapshot(request)
        let paging = Paging(items: try optionalText(items_path, "items_path") ?? "")
        let queue = try Handles.get(queue, EventQueue.self)
        let pager = Pager(
            client, request, paging, observer: queue, userData: UInt(bitPattern: user_data)
        ) { event, pager in
            queue.tell(event, userData: pager.userData)
        }
        try Handles.give(pager, to: out)
    }
}

@_cdecl("wherry_pager_free") @implementation
public func wherry_pager_free(_ pager: OpaquePointer?) -> wherry_status {
    status { () throws(WherryError) in _ = try Handles.free(pager, Pager.self)?.cancel() }
}

@_cdecl("wherry_pager_set_parameter") @implementation
public func wherry_pager_set_parameter(
    _ pager: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ first_page: Int64
) -> wherry_status {
    configure(pager) { paging throws(WherryError) in
        paging.parameter = try text(name, "name")
        paging.firstPage = first_page
    }
}

@_cdecl("wherry_pager_set_size") @implementation
public func wherry_pager_set_size(
    _ pager: OpaquePointer?, _ size: Int64, _ parameter: UnsafePointer<CChar>?, _ by_items: Bool
) -> wherry_status {
    configure(pager) { paging throws(WherryError) in
        paging.sizeParameter = try optionalText(parameter, "parameter")
        paging.size = size
        paging.unit = by_items ? .items : .pages
    }
}

@_cdecl("wherry_pager_set_end") @implementation
public func wherry_pager_set_end(
    _ pager: OpaquePointer?, _ end: wherry_pager_end, _ path: UnsafePointer<CChar>?
) -> wherry_status {
    configure(pager) { paging throws(WherryError) in
        switch end {
        case WHERRY_PAGER_END_SHORT_PAGE: paging.end = .shortPage
        case WHERRY_PAGER_END_LAST_PAGE: paging.end = .lastPage(try text(path, "path"))
        case WHERRY_PAGER_END_HAS_NEXT: paging.end = .hasNext(try text(path, "path"))
        case WHERRY_PAGER_END_TOTAL: paging.end = .total(try text(path, "path"))
        case WHERRY_PAGER_END_CURSOR: paging.end = .cursor(try text(path, "path"))
        case WHERRY_PAGER_END_LINK:
            paging.end = try optionalText(path, "path").map { .nextURL($0) } ?? .link
        default:
            throw WherryError(
                .badArgument,
                "Unknown end \(end.rawValue). Pass a constant of wherry_pager_end.")
        }
    }
}

@_cdecl("wherry_pager_set_key") @implementation
public func wherry_pager_set_key(
    _ pager: OpaquePointer?, _ key_path: UnsafePointer<CChar>?, _ newest_wins: Bool
) -> wherry_status {
    configure(pager) { paging throws(WherryError) in
        paging.key = try optionalText(key_path, "key_path")
        paging.newestWins = newest_wins
    }
}

@_cdecl("wherry_pager_set_kept_pages") @implementation
public func wherry_pager_set_kept_pages(_ pager: OpaquePointer?, _ count: Int32) -> wherry_status {
    configure(pager) { $0.keptPages = Int(count) }
}

@_cdecl("wherry_pager_set_events") @implementation
public func wherry_pager_set_events(_ pager: OpaquePointer?, _ told: Bool) -> wherry_status {
    status { () throws(WherryError) in try WherryABI.pager(pager).setTellsEvents(told) }
}

@_cdecl("wherry_event_page") @implementation
public func wherry_event_page(_ event: OpaquePointer?) -> Int64 {
    value(-1) { () throws(WherryError) in try getEvent(event).page?.page ?? -1 }
}

@_cdecl("wherry_pager_load_next") @implementation
public func wherry_pager_load_next(
    _ pager: OpaquePointer?, _ out_transfer: UnsafeMutablePointer<OpaquePointer?>?
) -> wherry_status {
    load(pager, .next, out_transfer)
}

@_cdecl("wherry_pager_load_previous") @implementation
public func wherry_pager_load_previous(
    _ pager: OpaquePointer?, _ out_transfer: UnsafeMutablePointer<OpaquePointer?>?
) -> wherry_status {
    load(pager, .previous, out_transfer)
}

@_cdecl("wherry_pager_refresh") @implementation
public func wherry_pager_refresh(
    _ pager: OpaquePointer?, _ out_transfer: UnsafeMutablePointer<OpaquePointer?>?
) -> wherry_status {
    load(pager, .refresh, out_transfer)
}

@_cdecl("wherry_pager_load_page") @implementation
public func wherry_pager_load_page(
    _ pager: OpaquePointer?, _ page: Int64, _ out_transfer: UnsafeMutablePointer<OpaquePointer?>?
) -> wherry_status {
    load(pager, .page(page), out_transfer)
}

@_cdecl("wherry_pager_cancel") @implementation
public func wherry_pager_cancel(_ pager: OpaquePointer?) -> wherry_status {
    status { () throws(WherryError) in try WherryABI.pager(pager).cancel() }
}

@_cdecl("wherry_pager_take_back") @implementation
public func wherry_pager_take_back(_ pager: OpaquePointer?) -> wherry_status {
    status { () throws(WherryError) in try WherryABI.pager(pager).takeBack() }
}

@_cdecl("wherry_pager_is_loading") @implementation
public func wherry_pager_is_loading(_ pager: OpaquePointer?) -> Bool {
    value(false) { () throws(WherryError) in
        try WherryABI.pager(pager).look { $0?.isLoading ?? false }
    }
}

@_cdecl("wherry_pager_has_next") @implementation
public func wherry_pager_has_next(_ pager: OpaquePointer?) -> Bool {
    value(false) { () throws(WherryError) in
        try WherryABI.pager(pager).look { $0?.hasNext ?? true }
    }
}

@_cdecl("wherry_pager_has_previous") @implementation
public func wherry_pager_has_previous(_ pager: OpaquePointer?) -> Bool {
    value(false) { () throws(WherryError) in
        try WherryABI.pager(pager).look { $0?.hasPrevious ?? false }
    }
}

@_cdecl("wherry_pager_page") @implementation
public func wherry_pager_page(_ pager: OpaquePointer?, _ otherwise: Int64) -> Int64 {
    value(otherwise) { () throws(WherryError) in
        try WherryABI.pager(pager).look { $0?.page ?? otherwise }
    }
}

@_cdecl("wherry_pager_count") @implementation
public func wherry_pager_count(_ pager: OpaquePointer?) -> Int {
    value(0) { () throws(WherryError) in
        try WherryABI.pager(pager).look { $0?.items.count ?? 0 }
    }
}

@_cdecl("wherry_pager_copy_items") @implementation
public func wherry_pager_copy_items(
    _ pager: OpaquePointer?, _ first: Int, _ count: Int,
    _ out_items: UnsafeMutablePointer<OpaquePointer?>?
) -> wherry_status {
    status { () throws(WherryError) in
        let out = try required(out_items)
        let items = try WherryABI.pager(pager).look { $0?.items ?? [] }
        guard first >= 0, count >= 0 else {
            throw WherryError(
                .badArgument, "The index of the first item, or the count, is not a valid size")
        }
        let chosen = items.dropFirst(first).prefix(count)
        try Handles.give(Box(JSONValue(.array(Array(chosen)))), to: out)
    }
}
