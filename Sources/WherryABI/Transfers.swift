// Wherry: wherry.h, section 7: transfers.
// SPDX-License-Identifier: Apache-2.0

import CWherry
import WherryCore
import WherryHTTP
import WherryRequests
import WherrySystem

/// A transfer of the C interface.
struct TransferValue: BoxedValue {
    static var kind: HandleKind { .transfer }

    /// Set before the handle is returned.
    var transfer: Transfer?
    /// For a transfer without a queue, whose caller waits.
    var waiter: PerformWaiter?
    var wasTaken = false
}

/// Returns the transfer of a handle.
func getTransfer(_ transfer: OpaquePointer?) throws(WherryError) -> Transfer { try get(transfer) }

private func get(_ transfer: OpaquePointer?) throws(WherryError) -> Transfer {
    let found = try Handles.change(transfer, TransferValue.self) { $0.transfer }
    guard let found else { throw .badHandle(transfer, .transfer) }
    return found
}

private func download(_ transfer: OpaquePointer?) throws(WherryError) -> DownloadTransfer {
    guard let download = try get(transfer) as? DownloadTransfer else {
        throw WherryError(.wrongState, "Only a download has a place in the queue")
    }
    return download
}

private func apply(_ transfer: OpaquePointer?, _ verb: (Transfer) -> Void) -> wherry_status {
    status { () throws(WherryError) in verb(try get(transfer)) }
}

/// Starts a transfer and returns its handle before the first event can arrive.
func start(
    _ out: UnsafeMutablePointer<OpaquePointer?>?,
    _ body: ((Transfer) -> Void) throws(WherryError) -> Void
) throws(WherryError) {
    guard let out else { return try body { _ in } }
    let box = Box(TransferValue())
    let handle = try Handles.add(box)
    do {
        try body { transfer in
            box.with { $0.transfer = transfer }
            out.pointee = handle
        }
    } catch {
        Handles.end(handle, .transfer)
        throw error
    }
}

@_cdecl("wherry_client_send") @implementation
public func wherry_client_send(
    _ client: OpaquePointer?, _ request: OpaquePointer?, _ queue: OpaquePointer?,
    _ user_data: UnsafeMutableRawPointer?, _ out_transfer: UnsafeMutablePointer<OpaquePointer?>?
) -> wherry_status {
    wherry_client_send_url(client, request, nil, queue, user_data, out_transfer)
}

@_cdecl("wherry_client_send_url") @implementation
public func wherry_client_send_url(
    _ client: OpaquePointer?, _ request: OpaquePointer?, _ url: UnsafePointer<CChar>?,
    _ queue: OpaquePointer?, _ user_data: UnsafeMutableRawPointer?,
    _ out_transfer: UnsafeMutablePointer<OpaquePointer?>?
) -> wherry_status {
    status { () throws(WherryError) in
        let client = try Handles.get(client, Client.self)
        let request = try snapshot(request, url: url)
        let queue = try Handles.get(queue, EventQueue.self)
        try start(out_transfer) { begun throws(WherryError) in
            _ = try client.send(
                request, observer: queue, userData: UInt(bitPattern: user_data), willBegin: begun)
        }
    }
}

@_cdecl("wherry_client_perform") @implementation
public func wherry_client_perform(
    _ client: OpaquePointer?, _ request: OpaquePointer?,
    _ out_response: UnsafeMutablePointer<OpaquePointer?>?
) -> wherry_status {
    out_response?.pointee = nil
    return status { () throws(WherryError) in
        let out = try required(out_response)
        let client = try Handles.get(client, Client.self)
        let (transfer, waiter) = try client.startPerform(snapshot(request))
        try give(waiter.outcome(of: transfer, on: client), to: out)
    }
}

extension PerformWaiter {
    /// Waits until the transfer has ended.
    func outcome(of transfer: Transfer, on client: Client) throws(WherryError) -> TransferOutcome {
        defer { withExtendedLifetime(transfer) {} }
        guard let outcome = wait(on: client, timeout: nil) else {
            throw WherryError(
                .internal, "The wait for a transfer returned before the transfer ended")
        }
        return outcome
    }
}

/// Returns the handle of the response, if it is complete, and throws the error of the transfer.
func give(
    _ outcome: TransferOutcome, to out: UnsafeMutablePointer<OpaquePointer?>
) throws(WherryError) {
    if let response = outcome.response, outcome.error.map({ $0.code == .http }) ?? true {
        try Handles.give(ResponseBox(response), to: out)
    }
    if let error = outcome.error { throw error }
}

@_cdecl("wherry_client_perform_for") @implementation
public func wherry_client_perform_for(
    _ client: OpaquePointer?, _ request: OpaquePointer?, _ url: UnsafePointer<CChar>?,
    _ timeout_ms: Int64, _ out_transfer: UnsafeMutablePointer<OpaquePointer?>?,
    _ out_record: UnsafeMutablePointer<wherry_record>?
) -> wherry_status {
    status { () throws(WherryError) in
        try perform(client, for: timeout_ms, out_transfer, out_record) {
            client throws(WherryError) in
            try client.startPerform(snapshot(request, url: url))
        }
    }
}

/// Starts a transfer and waits for its end, for a limited time.
func perform(
    _ client: OpaquePointer?, for timeout: Int64,
    _ out_transfer: UnsafeMutablePointer<OpaquePointer?>?,
    _ out_record: UnsafeMutablePointer<wherry_record>?,
    _ start: (Client) throws(WherryError) -> (Transfer, PerformWaiter)
) throws(WherryError) {
    let out = try required(out_transfer)
    let record = try Record(out_record)
    let client = try Handles.get(client, Client.self)
    // Reserved before the start, so that nothing can fail after it.
    let place = try EventPlaces()
    let box = Box(TransferValue())
    let handle = try Handles.add(box)
    var isKept = false
    defer { if !isKept { Handles.end(handle, .transfer) } }
    let (transfer, waiter) = try start(client)
    guard let outcome = waiter.wait(on: client, timeout: nanoseconds(timeout)) else {
        box.with {
            $0.transfer = transfer
            $0.waiter = waiter
        }
        isKept = true
        out.pointee = handle
        throw .timedOut
    }
    record.write(QueueEvent(.done(outcome), of: transfer), as: place)
    out.pointee = nil
}

@_cdecl("wherry_client_download") @implementation
public func wherry_client_download(
    _ client: OpaquePointer?, _ request: OpaquePointer?, _ path: UnsafePointer<CChar>?,
    _ queue: OpaquePointer?, _ user_data: UnsafeMutableRawPointer?,
    _ out_transfer: UnsafeMutablePointer<OpaquePointer?>?
) -> wherry_status {
    status { () throws(WherryError) in
        let client = try Handles.get(client, Client.self)
        let request = try snapshot(request)
        let path = try WherryABI.path(path, "path")
        let queue = try Handles.get(queue, EventQueue.self)
        try start(out_transfer) { begun throws(WherryError) in
            _ = try client.download(
                request, to: path, observer: queue, userData: UInt(bitPattern: user_data),
                willBegin: begun)
        }
    }
}

@_cdecl("wherry_client_upload_images") @implementation
public func wherry_client_upload_images(
    _ client: OpaquePointer?, _ request: OpaquePointer?, _ name: UnsafePointer<CChar>?,
    _ paths: UnsafePointer<UnsafePointer<CChar>?>?, _ count: Int, _ compression: OpaquePointer?,
    _ queue: OpaquePointer?, _ user_data: UnsafeMutableRawPointer?,
    _ out_transfer: UnsafeMutablePointer<OpaquePointer?>?
) -> wherry_status {
    status { () throws(WherryError) in
        let client = try Handles.get(client, Client.self)
        var request = try snapshot(request)
        let queue = try Handles.get(queue, EventQueue.self)
        let name = try text(name, "name")
        let compression = try compressionValue(compression)
        guard count > 0 else {
            throw WherryError(.noImages, "There are no images to upload. Pass at least one path.")
        }
        guard let paths else { throw WherryError(.badArgument, "The paths are NULL") }
        for index in 0..<count {
            let source = try image(path(paths[index], "path"))
            request.addPart(Request.Part(name: name, content: .image(source, compression)))
        }
        try start(out_transfer) { begun throws(WherryError) in
            _ = try client.send(
                request, observer: queue, userData: UInt(bitPattern: user_data), willBegin: begun)
        }
    }
}

@_cdecl("wherry_transfer_wait") @implementation
public func wherry_transfer_wait(
    _ transfer: OpaquePointer?, _ timeout_ms: Int64,
    _ out_record: UnsafeMutablePointer<wherry_record>?
) -> wherry_status {
    status { () throws(WherryError) in
        let record = try Record(out_record)
        let box = try Handles.get(transfer, Box<TransferValue>.self)
        guard case (let transfer?, let waiter?) = box.with({ ($0.transfer, $0.waiter) }) else {
            throw WherryError(
                .wrongState,
                "Could not wait for the transfer: its events go to a queue. Read the queue.")
        }
        let outcome = waiter.wait(on: transfer.client, timeout: nanoseconds(timeout_ms))
        guard let outcome else { throw .timedOut }
        // Reserved before the end counts as reported.
        let place = try EventPlaces()
        let isFirst = box.with { value in
            defer { value.wasTaken = true }
            return !value.wasTaken
        }
        guard isFirst else {
            throw WherryError(.wrongState, "The end of this transfer was already reported")
        }
        record.write(QueueEvent(.done(outcome), of: transfer), as: place)
    }
}

@_cdecl("wherry_transfer_free") @implementation
public func wherry_transfer_free(_ transfer: OpaquePointer?) -> wherry_status {
    status { () throws(WherryError) in try Handles.free(transfer, Box<TransferValue>.self) }
}

@_cdecl("wherry_transfer_id") @implementation
public func wherry_transfer_id(_ transfer: OpaquePointer?) -> UInt64 {
    value(0) { () throws(WherryError) in try get(transfer).id }
}

@_cdecl("wherry_transfer_state") @implementation
public func wherry_transfer_state(_ transfer: OpaquePointer?) -> wherry_state {
    value(WHERRY_STATE_NONE) { () throws(WherryError) in
        wherry_state(UInt32(bitPattern: try get(transfer).state.rawValue))
    }
}

@_cdecl("wherry_transfer_pause") @implementation
public func wherry_transfer_pause(_ transfer: OpaquePointer?) -> wherry_status {
    apply(transfer) { $0.pause() }
}

@_cdecl("wherry_transfer_resume") @implementation
public func wherry_transfer_resume(_ transfer: OpaquePointer?) -> wherry_status {
    apply(transfer) { $0.resume() }
}

@_cdecl("wherry_transfer_cancel") @implementation
public func wherry_transfer_cancel(_ transfer: OpaquePointer?) -> wherry_status {
    apply(transfer) { $0.cancel() }
}

@_cdecl("wherry_transfer_set_max_bytes_per_second") @implementation
public func wherry_transfer_set_max_bytes_per_second(
    _ transfer: OpaquePointer?, _ bytesPerSecond: Int64
) -> wherry_status {
    status { () throws(WherryError) in
        guard let download = try get(transfer) as? DownloadTransfer else {
            throw WherryError(
                .wrongState, "Only the speed limit of a download can be changed while it runs")
        }
        guard bytesPerSecond >= 0 else {
            throw WherryError(
                .badValue,
                "\(bytesPerSecond) bytes per second is not a limit. Pass 0 or more; 0 is no limit.")
        }
        download.setMaxReceiveSpeed(bytesPerSecond)
    }
}

@_cdecl("wherry_transfer_set_priority") @implementation
public func wherry_transfer_set_priority(_ transfer: OpaquePointer?, _ priority: Int32)
    -> wherry_status
{
    status { () throws(WherryError) in try get(transfer).setPriority(Int64(priority)) }
}

@_cdecl("wherry_transfer_move") @implementation
public func wherry_transfer_move(_ transfer: OpaquePointer?, _ place: Int) -> wherry_status {
    status { () throws(WherryError) in
        // A position beyond the range of Int means the last one.
        try download(transfer).move(to: place < 0 ? .max : place)
    }
}

@_cdecl("wherry_transfer_place") @implementation
public func wherry_transfer_place(_ transfer: OpaquePointer?) -> Int64 {
    value(-1) { () throws(WherryError) in
        try (get(transfer) as? DownloadTransfer)?.place.map { Int64($0) } ?? -1
    }
}

@_cdecl("wherry_transfer_discard") @implementation
public func wherry_transfer_discard(_ transfer: OpaquePointer?) -> wherry_status {
    apply(transfer) { $0.discard() }
}

@_cdecl("wherry_transfer_progress") @implementation
public func wherry_transfer_progress(
    _ transfer: OpaquePointer?, _ out_progress: UnsafeMutablePointer<wherry_progress>?
) -> wherry_status {
    status { () throws(WherryError) in
        let progress = try get(transfer).progress
        try fill(out_progress) { wherry_progress(progress, count: progress.count) }
    }
}

@_cdecl("wherry_transfer_list_images") @implementation
public func wherry_transfer_list_images(
    _ transfer: OpaquePointer?, _ out_list: UnsafeMutablePointer<OpaquePointer?>?
) -> wherry_status {
    status { () throws(WherryError) in
        let out = try required(out_list)
        try Handles.give(ListBox(images: try get(transfer).images), to: out)
    }
}

@_cdecl("wherry_transfer_write") @implementation
public func wherry_transfer_write(
    _ transfer: OpaquePointer?, _ bytes: UnsafeRawPointer?, _ count: Int,
    _ out_taken: UnsafeMutablePointer<Int>?
) -> wherry_status {
    status { () throws(WherryError) in
        let out = try required(out_taken)
        let transfer = try get(transfer)
        out.pointee = try transfer.write(buffer(bytes, count))
    }
}

@_cdecl("wherry_transfer_wants_rewind") @implementation
public func wherry_transfer_wants_rewind(_ transfer: OpaquePointer?) -> Bool {
    value(false) { () throws(WherryError) in try get(transfer).wantsRewind }
}

@_cdecl("wherry_transfer_rewind") @implementation
public func wherry_transfer_rewind(_ transfer: OpaquePointer?) -> wherry_status {
    status { () throws(WherryError) in try get(transfer).rewindWriting() }
}

@_cdecl("wherry_transfer_finish") @implementation
public func wherry_transfer_finish(_ transfer: OpaquePointer?) -> wherry_status {
    status { () throws(WherryError) in try get(transfer).finishWriting() }
}

extension wherry_progress {
    init(_ progress: Progress, count: Int) {
        self.init()
        done_bytes = progress.completed
        expected_bytes = progress.total ?? -1
        resumed_at_bytes = progress.resumedAt
        wire_bytes = progress.wire
        bytes_per_second = progress.bytesPerSecond ?? -1
        remaining_ms = progress.remaining.map { $0.wholeMilliseconds } ?? -1
        generation = Int32(clamping: progress.generation)
        self.count = Int32(clamping: count)
        decoded_bytes = progress.decoded
        ended = progress.endedCount
    }
}
