// Wherry: wherry.h, section 6: request getters.
// SPDX-License-Identifier: Apache-2.0

import CWherry
import WherryCore
import WherryHTTP
import WherryRequests
import WherrySystem

/// The borrowed parts of a request; each is valid until the next call of its getter.
struct LentParts {
    var header: LentPair?
    var query: LentPair?
    var parameters: LentText?
    var body: Bytes?
}

/// A name and a value as C text.
final class LentPair: Sendable {
    let name: LentText
    /// `nil` for a suppressed header.
    let value: LentText?

    /// Returns `nil` if out of memory.
    init?(_ name: String, _ value: String?) {
        guard let name = LentText(name) else { return nil }
        self.name = name
        self.value = value.flatMap { LentText($0) }
        if value != nil, self.value == nil { return nil }
    }
}

@_cdecl("wherry_request_method") @implementation
public func wherry_request_method(_ request: OpaquePointer?) -> UnsafePointer<CChar>? {
    lend(request, \.method) { $0.effectiveMethod }
}

@_cdecl("wherry_request_url") @implementation
public func wherry_request_url(_ request: OpaquePointer?) -> UnsafePointer<CChar>? {
    lend(request, \.url) { $0.url }
}

@_cdecl("wherry_request_identifier") @implementation
public func wherry_request_identifier(
    _ request: OpaquePointer?, _ client: OpaquePointer?
) -> UnsafePointer<CChar>? {
    lend(request, \.identifier) { request throws(WherryError) in
        guard client != nil else { return try request.identifier(base: nil) }
        return try Handles.get(client, Client.self).identifier(of: request)
    }
}

/// Returns borrowed text of a request, valid until the next call of the getter.
private func lend(
    _ request: OpaquePointer?, _ place: WritableKeyPath<RequestValue, LentText?>,
    _ make: (Request) throws(WherryError) -> String
) -> UnsafePointer<CChar>? {
    value(nil) { () throws(WherryError) in
        let box = try Handles.get(request, Box<RequestValue>.self)
        guard let text = LentText(try make(box.with { $0.request })) else { return nil }
        // Release the previous text after unlocking.
        let before = box.with { value in
            let before = value[keyPath: place]
            value[keyPath: place] = text
            return before
        }
        return withExtendedLifetime(before) { text.pointer }
    }
}

/// Stores a part and releases the previous one after unlocking.
private func keep<Part>(
    _ part: Part, in place: WritableKeyPath<LentParts, Part?>, of box: Box<RequestValue>
) {
    let before = box.with { value -> Part? in
        var parts = value.parts ?? LentParts()
        let before = parts[keyPath: place]
        parts[keyPath: place] = part
        value.parts = parts
        return before
    }
    withExtendedLifetime(before) {}
}

/// Writes one of several pairs as borrowed text; returns `false` beyond the last one, and if out of
/// memory.
private func lend(
    _ request: OpaquePointer?, _ place: WritableKeyPath<LentParts, LentPair?>,
    _ out_name: UnsafeMutablePointer<UnsafePointer<CChar>?>?,
    _ out_value: UnsafeMutablePointer<UnsafePointer<CChar>?>?,
    _ find: (Request) -> (name: String, value: String?)?
) -> Bool {
    value(false) { () throws(WherryError) in
        let box = try Handles.get(request, Box<RequestValue>.self)
        guard let found = find(box.with { $0.request }),
            let pair = LentPair(found.name, found.value)
        else { return false }
        keep(pair, in: place, of: box)
        out_name?.pointee = pair.name.pointer
        out_value?.pointee = pair.value?.pointer
        return true
    }
}

@_cdecl("wherry_request_header_at") @implementation
public func wherry_request_header_at(
    _ request: OpaquePointer?, _ index: Int,
    _ out_name: UnsafeMutablePointer<UnsafePointer<CChar>?>?,
    _ out_value: UnsafeMutablePointer<UnsafePointer<CChar>?>?
) -> Bool {
    lend(request, \.header, out_name, out_value) { request in
        let fields = request.headers.fields
        return fields.indices.contains(index) ? (fields[index].name, fields[index].value) : nil
    }
}

@_cdecl("wherry_request_query_at") @implementation
public func wherry_request_query_at(
    _ request: OpaquePointer?, _ index: Int,
    _ out_name: UnsafeMutablePointer<UnsafePointer<CChar>?>?,
    _ out_value: UnsafeMutablePointer<UnsafePointer<CChar>?>?
) -> Bool {
    lend(request, \.query, out_name, out_value) { request in
        let query = request.query
        return query.indices.contains(index) ? (query[index].name, query[index].value) : nil
    }
}

@_cdecl("wherry_request_parameters") @implementation
public func wherry_request_parameters(
    _ request: OpaquePointer?, _ out_count: UnsafeMutablePointer<Int>?
) -> UnsafePointer<CChar>? {
    out_count?.pointee = 0
    return value(nil) { () throws(WherryError) in
        let box = try Handles.get(request, Box<RequestValue>.self)
        let printed = try RequestPlanner.json(.object(box.with { $0.request.parameters }))
        guard let text = LentText(printed.text) else { return nil }
        keep(text, in: \.parameters, of: box)
        out_count?.pointee = text.count
        return text.pointer
    }
}

@_cdecl("wherry_request_body") @implementation
public func wherry_request_body(
    _ request: OpaquePointer?, _ out_count: UnsafeMutablePointer<Int>?
) -> UnsafePointer<UInt8>? {
    out_count?.pointee = 0
    return value(nil) { () throws(WherryError) in
        let box = try Handles.get(request, Box<RequestValue>.self)
        guard let body = box.with({ $0.request }).bodyBytes else { return nil }
        keep(body, in: \.body, of: box)
        out_count?.pointee = body.count
        return body.lent.map { UnsafePointer($0.assumingMemoryBound(to: UInt8.self)) }
    }
}
