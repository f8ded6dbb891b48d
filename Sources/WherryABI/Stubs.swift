// Wherry: wherry.h, section 16: stub transport.
// SPDX-License-Identifier: Apache-2.0

import CWherry
import WherryCore
import WherryHTTP
import WherrySystem
import WherryTransport

extension StubTransport: HandleObject {
    static var kind: HandleKind { .stub }
}

private func get(_ stub: OpaquePointer?) throws(WherryError) -> StubTransport {
    try Handles.get(stub, StubTransport.self)
}

@_cdecl("wherry_stub_new") @implementation
public func wherry_stub_new(_ out_stub: UnsafeMutablePointer<OpaquePointer?>?) -> wherry_status {
    status { () throws(WherryError) in
        try Handles.give(StubTransport(), to: required(out_stub))
    }
}

@_cdecl("wherry_stub_free") @implementation
public func wherry_stub_free(_ stub: OpaquePointer?) -> wherry_status {
    status { () throws(WherryError) in try Handles.free(stub, StubTransport.self) }
}

@_cdecl("wherry_stub_add_response") @implementation
public func wherry_stub_add_response(
    _ stub: OpaquePointer?, _ method: UnsafePointer<CChar>?, _ url: UnsafePointer<CChar>?,
    _ times: Int32, _ http_code: Int32, _ head: UnsafePointer<CChar>?,
    _ body: UnsafeRawPointer?, _ count: Int
) -> wherry_status {
    status { () throws(WherryError) in
        let stub = try get(stub)
        stub.addResponse(
            method: try optionalText(method, "method"), url: try text(url, "url"),
            times: try checked(times), status: try finalStatus(http_code),
            head: try headerLines(head), body: try bytes(body, count))
    }
}

@_cdecl("wherry_stub_add_failure") @implementation
public func wherry_stub_add_failure(
    _ stub: OpaquePointer?, _ method: UnsafePointer<CChar>?, _ url: UnsafePointer<CChar>?,
    _ times: Int32, _ reason: UnsafePointer<CChar>?, _ after_bytes: Int64
) -> wherry_status {
    status { () throws(WherryError) in
        let stub = try get(stub)
        let kind = try failureKind(reason)
        guard 0...67_108_864 ~= after_bytes else {
            throw WherryError(
                .badValue,
                "A body cannot fail after \(after_bytes) bytes. Pass 0 to 67108864 (64 MiB).")
        }
        stub.addFailure(
            method: try optionalText(method, "method"), url: try text(url, "url"),
            times: try checked(times), kind: kind, afterBytes: after_bytes)
    }
}

@_cdecl("wherry_stub_add_hook") @implementation
public func wherry_stub_add_hook(
    _ stub: OpaquePointer?, _ method: UnsafePointer<CChar>?, _ url: UnsafePointer<CChar>?,
    _ times: Int32
) -> wherry_status {
    status { () throws(WherryError) in
        try get(stub).addHook(
            method: try optionalText(method, "method"), url: try text(url, "url"),
            times: try checked(times))
    }
}

@_cdecl("wherry_stub_add_network") @implementation
public func wherry_stub_add_network(
    _ stub: OpaquePointer?, _ method: UnsafePointer<CChar>?, _ url: UnsafePointer<CChar>?,
    _ times: Int32
) -> wherry_status {
    status { () throws(WherryError) in
        try get(stub).addNetwork(
            method: try optionalText(method, "method"), url: try text(url, "url"),
            times: try checked(times))
    }
}

/// Validates the header lines of a response; "" for NULL. A bad line would be a mistake in a test.
func headerLines(_ head: UnsafePointer<CChar>?) throws(WherryError) -> String {
    let head = try optionalText(head, "head") ?? ""
    for line in head.utf8.split(whereSeparator: { $0 == 0x0A || $0 == 0x0D }) {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")),
            FieldRules.violation(name: line[..<colon]) == nil,
            FieldRules.violation(value: line[line.index(after: colon)...], of: "a header") == nil
        else {
            throw WherryError(
                .badHeader,
                "\"\(String(line) ?? "")\" is not a header line. Write each as \"Name: value\" and a line break."
            )
        }
    }
    return head
}

/// Validates the status of a final response.
func finalStatus(_ http_code: Int32) throws(WherryError) -> Int {
    guard (200...999).contains(http_code) else {
        throw WherryError(
            .badValue, "\(http_code) is not the HTTP status of a final response. Use 200 to 999.")
    }
    return Int(http_code)
}

/// Validates an error reason that a network can cause.
func failureKind(
    _ reason: UnsafePointer<CChar>?
) throws(WherryError) -> TransportError.Kind {
    let word = try text(reason, "reason")
    guard ErrorReason(rawValue: word) != nil, let kind = TransportError.Kind(rawValue: word) else {
        throw WherryError(
            .badValue,
            "A stub cannot fail with the reason \"\(word)\". Use a reason such as \"connect\".")
    }
    return kind
}

private func checked(_ times: Int32) throws(WherryError) -> Int {
    guard times == -1 || times > 0 else {
        throw WherryError(
            .badValue, "A rule cannot apply \(times) times. Pass 1 or more, or -1 for always.")
    }
    return Int(times)
}

private func checked(_ milliseconds: Int64) throws(WherryError) -> Int64 {
    guard milliseconds >= 0 else {
        throw WherryError(
            .badValue, "\(milliseconds) milliseconds is not a duration. Pass 0 or more.")
    }
    return milliseconds
}

@_cdecl("wherry_stub_set_delay_ms") @implementation
public func wherry_stub_set_delay_ms(
    _ stub: OpaquePointer?, _ milliseconds: Int64
) -> wherry_status {
    status { () throws(WherryError) in
        guard try get(stub).setDelay(milliseconds: checked(milliseconds)) else {
            throw WherryError(
                .wrongState, "The delay has no rule to apply to. Add a rule to the stub first.")
        }
    }
}

@_cdecl("wherry_stub_advance_ms") @implementation
public func wherry_stub_advance_ms(
    _ stub: OpaquePointer?, _ milliseconds: Int64
) -> wherry_status {
    status { () throws(WherryError) in
        try get(stub).advance(milliseconds: checked(milliseconds))
    }
}

@_cdecl("wherry_stub_request_count") @implementation
public func wherry_stub_request_count(_ stub: OpaquePointer?) -> Int {
    value(0) { () throws(WherryError) in try get(stub).requestCount }
}

@_cdecl("wherry_stub_copy_request") @implementation
public func wherry_stub_copy_request(
    _ stub: OpaquePointer?, _ index: Int, _ out_echo: UnsafeMutablePointer<OpaquePointer?>?
) -> wherry_status {
    status { () throws(WherryError) in
        let out = try required(out_echo)
        guard let request = try get(stub).request(at: index) else {
            throw WherryError(.badArgument, "The stub has no request with the index \(index)")
        }
        try Handles.give(ResponseBox(request.echo), to: out)
    }
}

extension StubRequest {
    /// The request in the form of a response: URL, body, and headers, of which ":method" is the first.
    var echo: Response {
        let fields = [(name: ":method", value: method)] + fields
        let block = fields.map { "\($0.name): \($0.value)\n" }.joined()
        return Response(
            head: ResponseHead(status: 0, block: Bytes(block)), body: body, url: url)
    }
}
