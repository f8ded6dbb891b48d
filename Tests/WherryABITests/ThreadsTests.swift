// Wherry: the C API used from many threads at once.
// SPDX-License-Identifier: Apache-2.0

import CWherry
import Foundation
import Testing
import WherrySystem

@testable import WherryABI

/// Handles shared by many threads, as in C programs.
private struct Shared: @unchecked Sendable {  // numbers; their objects protect themselves
    var stub: OpaquePointer?
    var client: OpaquePointer?
    var queue: OpaquePointer?
    var request: OpaquePointer?
}

@Suite("The C API with many threads")
struct ThreadsTests {
    private func shared() -> Shared {
        var shared = Shared()
        var config: OpaquePointer?
        #expect(wherry_stub_new(&shared.stub) == WHERRY_OK)
        #expect(
            wherry_stub_add_response(
                shared.stub, nil, "*", -1, 200, "Content-Type: text/plain\n", "hello", 5)
                == WHERRY_OK)
        #expect(wherry_config_new(&config) == WHERRY_OK)
        #expect(wherry_config_set_stub(config, shared.stub) == WHERRY_OK)
        #expect(wherry_client_new(config, &shared.client) == WHERRY_OK)
        #expect(wherry_config_free(config) == WHERRY_OK)
        #expect(wherry_queue_new(&shared.queue) == WHERRY_OK)
        #expect(
            wherry_request_new("GET", "http://h.invalid/shared", &shared.request)
                == WHERRY_OK)
        return shared
    }

    @Test("M1 requests of eight threads through one queue end exactly once each")
    func requests() {
        let shared = shared()
        let rounds = 200
        let ends = Lock<[UInt: Int]>([:])
        DispatchQueue.concurrentPerform(iterations: 8) { worker in
            for round in 0..<rounds {
                let number = UInt(worker * rounds + round + 1)
                let sent = wherry_client_send(
                    shared.client, shared.request, shared.queue,
                    UnsafeMutableRawPointer(bitPattern: number), nil)
                if sent != WHERRY_OK { Issue.record("send: \(sent)") }
                switch round % 4 {
                case 0:
                    _ = wherry_request_set_option(
                        shared.request, WHERRY_OPTION_IDLE_TIMEOUT_MS, Int64(round + 1000))
                case 1:
                    _ = wherry_client_set_header(shared.client, "X-Round", "\(round)")
                case 2: _ = wherry_request_url(shared.request)
                default: _ = wherry_client_count(shared.client, WHERRY_MATCH_ALL, nil)
                }
                var records = [wherry_record](repeating: wherry_record(), count: 16)
                records[0].size = MemoryLayout<wherry_record>.size
                var count = 0
                let read = wherry_queue_read(shared.queue, &records, 16, 600_000, &count)
                guard read == WHERRY_OK else {
                    // Another thread may have read the event that this one waits for, but only at
                    // the end.
                    continue
                }
                ends.withLock { ends in
                    for record in records[..<count] where record.kind == 9 {
                        ends[UInt(bitPattern: record.user_data), default: 0] += 1
                    }
                }
                if wherry_queue_release(shared.queue, records, count) != WHERRY_OK {
                    Issue.record("release")
                }
                if ends.withLock({ $0.count }) == 8 * rounds { break }
                _ = wherry_queue_wake(shared.queue, nil)
            }
        }
        drain(shared, ends)
        #expect(ends.withLock { $0.count } == 8 * rounds)
        #expect(ends.withLock { $0.values.allSatisfy { $0 == 1 } })
        #expect(wherry_client_free(shared.client) == WHERRY_OK)
        #expect(wherry_queue_free(shared.queue) == WHERRY_OK)
        #expect(wherry_stub_free(shared.stub) == WHERRY_OK)
        #expect(wherry_request_free(shared.request) == WHERRY_OK)
    }

    /// Reads until every transfer has ended with its event.
    private func drain(_ shared: Shared, _ ends: borrowing Lock<[UInt: Int]>) {
        #expect(
            wherry_client_wait(shared.client, WHERRY_MATCH_ALL, nil, 600_000) == WHERRY_OK)
        var event: OpaquePointer?
        while wherry_queue_next(shared.queue, 0, &event) == WHERRY_OK {
            if wherry_event_get_kind(event) == WHERRY_EVENT_DONE {
                let number = UInt(bitPattern: wherry_event_user_data(event))
                ends.withLock { $0[number, default: 0] += 1 }
            }
            #expect(wherry_event_free(event) == WHERRY_OK)
        }
    }

    @Test("S11 objects freed during use by other threads return errors, and nothing breaks")
    func racingFrees() {
        for _ in 0..<40 {
            let shared = shared()
            DispatchQueue.concurrentPerform(iterations: 6) { worker in
                for round in 0..<20 {
                    switch (worker, round) {
                    case (0, 10): _ = wherry_client_free(shared.client)
                    case (1, 12): _ = wherry_queue_free(shared.queue)
                    case (2, 14): _ = wherry_request_free(shared.request)
                    case (3, 16): _ = wherry_stub_free(shared.stub)
                    default:
                        var transfer: OpaquePointer?
                        let sent = wherry_client_send(
                            shared.client, shared.request, shared.queue, nil, &transfer)
                        if sent == WHERRY_OK {
                            _ = wherry_transfer_cancel(transfer)
                            _ = wherry_transfer_free(transfer)
                        } else if sent != WHERRY_E_ARGUMENT && sent != WHERRY_E_STATE {
                            Issue.record("send: \(sent)")
                        }
                        var event: OpaquePointer?
                        if wherry_queue_next(shared.queue, 0, &event) == WHERRY_OK {
                            _ = wherry_event_response(event)
                            _ = wherry_event_error(event)
                            _ = wherry_event_free(event)
                        }
                        _ = wherry_error_message(wherry_last_error())
                    }
                }
            }
            _ = wherry_client_free(shared.client)
            _ = wherry_queue_free(shared.queue)
        }
    }
}
