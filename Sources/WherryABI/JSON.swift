// Wherry: wherry.h, section 15: JSON.
// SPDX-License-Identifier: Apache-2.0

import CWherry
import Glibc
import WherryCore
import WherryHTTP
import WherrySystem

/// A JSON value of the C interface, and its borrowed texts.
struct JSONValue: BoxedValue {
    static var kind: HandleKind { .json }

    var json: JSON
    let texts = TextStore()
    let printed = TextStore()

    init(_ json: JSON) { self.json = json }
}

/// Parses the caller's JSON text; fails with this reason.
func json(
    _ text: UnsafeRawPointer?, _ count: Int, else reason: ErrorReason
) throws(WherryError) -> JSON {
    let text = try buffer(text, count)
    do {
        return try JSON.parse(Span(_unsafeElements: text.bindMemory(to: UInt8.self)))
    } catch {
        throw WherryError(error.reason == "too_large" ? .tooLarge : reason, error.message)
    }
}

/// Returns the value at a path; `otherwise` if there is none of the required type.
private func read<Result>(
    _ json: OpaquePointer?, _ path: UnsafePointer<CChar>?, _ otherwise: Result,
    _ body: (JSON, String) -> Result?
) -> Result {
    value(otherwise) { () throws(WherryError) in
        let path = try optionalText(path, "path") ?? ""
        let json = try Handles.change(json, JSONValue.self) { $0.json }
        return body(json, path) ?? otherwise
    }
}

private func set(
    _ json: OpaquePointer?, _ path: UnsafePointer<CChar>?,
    _ make: () throws(WherryError) -> JSON
) -> wherry_status {
    status { () throws(WherryError) in
        let path = try optionalText(path, "path") ?? ""
        let new = try make()
        let (texts, printed) = try Handles.change(json, JSONValue.self) {
            value throws(WherryError) in
            try value.json.put(new, at: path)
            return (value.texts, value.printed)
        }
        texts.removeAll()
        printed.removeAll()
    }
}

@_cdecl("wherry_json_parse") @implementation
public func wherry_json_parse(
    _ text: UnsafeRawPointer?, _ count: Int, _ out_json: UnsafeMutablePointer<OpaquePointer?>?
) -> wherry_status {
    status { () throws(WherryError) in
        let out = try required(out_json)
        try Handles.give(Box(JSONValue(json(text, count, else: .badJSON))), to: out)
    }
}

@_cdecl("wherry_json_new") @implementation
public func wherry_json_new(_ out_json: UnsafeMutablePointer<OpaquePointer?>?) -> wherry_status {
    status { () throws(WherryError) in
        try Handles.give(Box(JSONValue(.null)), to: required(out_json))
    }
}

@_cdecl("wherry_json_free") @implementation
public func wherry_json_free(_ json: OpaquePointer?) -> wherry_status {
    status { () throws(WherryError) in try Handles.free(json, Box<JSONValue>.self) }
}

@_cdecl("wherry_json_get_type") @implementation
public func wherry_json_get_type(
    _ json: OpaquePointer?, _ path: UnsafePointer<CChar>?
) -> wherry_json_type {
    read(json, path, WHERRY_JSON_MISSING) { json, path in
        switch json.value(at: path)?.kind {
        case nil: WHERRY_JSON_MISSING
        case .null: WHERRY_JSON_NULL
        case .bool: WHERRY_JSON_BOOL
        case .number: WHERRY_JSON_NUMBER
        case .text: WHERRY_JSON_TEXT
        case .array: WHERRY_JSON_ARRAY
        case .object: WHERRY_JSON_OBJECT
        }
    }
}

@_cdecl("wherry_json_count") @implementation
public func wherry_json_count(_ json: OpaquePointer?, _ path: UnsafePointer<CChar>?) -> Int {
    read(json, path, 0) { $0.count(at: $1) }
}

@_cdecl("wherry_json_get_bool") @implementation
public func wherry_json_get_bool(
    _ json: OpaquePointer?, _ path: UnsafePointer<CChar>?, _ otherwise: Bool
) -> Bool {
    read(json, path, otherwise) { $0.bool(at: $1) }
}

@_cdecl("wherry_json_get_integer") @implementation
public func wherry_json_get_integer(
    _ json: OpaquePointer?, _ path: UnsafePointer<CChar>?, _ otherwise: Int64
) -> Int64 {
    read(json, path, otherwise) { $0.integer(at: $1) }
}

@_cdecl("wherry_json_get_unsigned") @implementation
public func wherry_json_get_unsigned(
    _ json: OpaquePointer?, _ path: UnsafePointer<CChar>?, _ otherwise: UInt64
) -> UInt64 {
    read(json, path, otherwise) { $0.unsigned(at: $1) }
}

@_cdecl("wherry_json_get_number") @implementation
public func wherry_json_get_number(
    _ json: OpaquePointer?, _ path: UnsafePointer<CChar>?, _ otherwise: Double
) -> Double {
    read(json, path, otherwise) { $0.number(at: $1) }
}

@_cdecl("wherry_json_get_text") @implementation
public func wherry_json_get_text(
    _ json: OpaquePointer?, _ path: UnsafePointer<CChar>?, _ otherwise: UnsafePointer<CChar>?,
    _ out_count: UnsafeMutablePointer<Int>?
) -> UnsafePointer<CChar>? {
    out_count?.pointee = otherwise.map { strlen($0) } ?? 0
    return value(otherwise) { () throws(WherryError) in
        let path = try optionalText(path, "path") ?? ""
        let (json, texts) = try Handles.change(json, JSONValue.self) { ($0.json, $0.texts) }
        guard let text = json.text(at: path), let lent = texts.lend(text) else { return otherwise }
        out_count?.pointee = text.utf8.count
        return lent
    }
}

@_cdecl("wherry_json_name_at") @implementation
public func wherry_json_name_at(
    _ json: OpaquePointer?, _ path: UnsafePointer<CChar>?, _ index: Int
) -> UnsafePointer<CChar>? {
    value(nil) { () throws(WherryError) in
        let path = try optionalText(path, "path") ?? ""
        let (json, texts) = try Handles.change(json, JSONValue.self) { ($0.json, $0.texts) }
        guard let object = json.object(at: path), object.indices.contains(index) else { return nil }
        return texts.lend(object[index].name)
    }
}

@_cdecl("wherry_json_set_bool") @implementation
public func wherry_json_set_bool(
    _ json: OpaquePointer?, _ path: UnsafePointer<CChar>?, _ value: Bool
) -> wherry_status {
    set(json, path) { .bool(value) }
}

@_cdecl("wherry_json_set_integer") @implementation
public func wherry_json_set_integer(
    _ json: OpaquePointer?, _ path: UnsafePointer<CChar>?, _ value: Int64
) -> wherry_status {
    set(json, path) { .integer(value) }
}

@_cdecl("wherry_json_set_number") @implementation
public func wherry_json_set_number(
    _ json: OpaquePointer?, _ path: UnsafePointer<CChar>?, _ value: Double
) -> wherry_status {
    set(json, path) { .double(value) }
}

@_cdecl("wherry_json_set_text") @implementation
public func wherry_json_set_text(
    _ json: OpaquePointer?, _ path: UnsafePointer<CChar>?, _ value: UnsafePointer<CChar>?
) -> wherry_status {
    set(json, path) { () throws(WherryError) in .string(try text(value, "value")) }
}

@_cdecl("wherry_json_set_value") @implementation
public func wherry_json_set_value(
    _ json: OpaquePointer?, _ path: UnsafePointer<CChar>?, _ value: OpaquePointer?
) -> wherry_status {
    set(json, path) { () throws(WherryError) in
        guard value != nil else { return .null }
        return try Handles.change(value, JSONValue.self, name: "value") { $0.json }
    }
}

@_cdecl("wherry_json_remove_nulls") @implementation
public func wherry_json_remove_nulls(_ json: OpaquePointer?) -> wherry_status {
    status { () throws(WherryError) in
        let (texts, printed) = try Handles.change(json, JSONValue.self) { value in
            value.json = value.json.removingNullMembers()
            return (value.texts, value.printed)
        }
        texts.removeAll()
        printed.removeAll()
    }
}

@_cdecl("wherry_json_copy") @implementation
public func wherry_json_copy(
    _ json: OpaquePointer?, _ path: UnsafePointer<CChar>?,
    _ out_copy: UnsafeMutablePointer<OpaquePointer?>?
) -> wherry_status {
    status { () throws(WherryError) in
        let out = try required(out_copy)
        let path = try optionalText(path, "path") ?? ""
        let whole = try Handles.change(json, JSONValue.self) { $0.json }
        guard let found = whole.value(at: path) else {
            throw WherryError(.notFound, "The JSON has no value at the path \"\(path)\"")
        }
        try Handles.give(Box(JSONValue(found)), to: out)
    }
}

@_cdecl("wherry_json_print") @implementation
public func wherry_json_print(
    _ json: OpaquePointer?, _ pretty: Bool, _ out_count: UnsafeMutablePointer<Int>?
) -> UnsafePointer<CChar>? {
    out_count?.pointee = 0
    return value(nil) { () throws(WherryError) in
        let (json, printed) = try Handles.change(json, JSONValue.self) { ($0.json, $0.printed) }
        let text = try json.text(style: pretty ? .pretty : .compact)
        printed.removeAll()
        guard let lent = printed.lend(text) else { return nil }
        out_count?.pointee = text.utf8.count
        return lent
    }
}
