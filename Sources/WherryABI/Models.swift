// Wherry: wherry.h, section 21: models.
// SPDX-License-Identifier: Apache-2.0

import CWherry
import WherryCore
import WherryHTTP
import WherryModels
import WherrySystem

/// A mapping of the C interface.
struct MappingValue: BoxedValue {
    static var kind: HandleKind { .mapping }

    var mapping = ItemMapping()
}

private func mapping(_ mapping: OpaquePointer?) throws(WherryError) -> ItemMapping {
    try Handles.change(mapping, MappingValue.self) { $0.mapping }
}

/// Returns the value at a path of the caller's JSON; null if there is none.
private func found(
    _ json: OpaquePointer?, _ path: UnsafePointer<CChar>?
) throws(WherryError) -> JSON {
    let path = try optionalText(path, "path") ?? ""
    let whole = try Handles.change(json, JSONValue.self) { $0.json }
    return whole.value(at: path) ?? .null
}

@_cdecl("wherry_mapping_new") @implementation
public func wherry_mapping_new(
    _ out_mapping: UnsafeMutablePointer<OpaquePointer?>?
) -> wherry_status {
    status { () throws(WherryError) in
        try Handles.give(Box(MappingValue()), to: required(out_mapping))
    }
}

@_cdecl("wherry_mapping_new_base_item") @implementation
public func wherry_mapping_new_base_item(
    _ out_mapping: UnsafeMutablePointer<OpaquePointer?>?
) -> wherry_status {
    status { () throws(WherryError) in
        try Handles.give(Box(MappingValue(mapping: BaseItem.mapping)), to: required(out_mapping))
    }
}

@_cdecl("wherry_mapping_free") @implementation
public func wherry_mapping_free(_ mapping: OpaquePointer?) -> wherry_status {
    status { () throws(WherryError) in try Handles.free(mapping, Box<MappingValue>.self) }
}

@_cdecl("wherry_mapping_add") @implementation
public func wherry_mapping_add(
    _ mapping: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ path: UnsafePointer<CChar>?,
    _ type: wherry_field_type, _ arrays: Int32, _ item: OpaquePointer?
) -> wherry_status {
    status { () throws(WherryError) in
        let box = try Handles.get(mapping, Box<MappingValue>.self)
        let name = try text(name, "name")
        let path = try optionalText(path, "path")
        guard (0...16).contains(arrays) else {
            throw WherryError(
                .badArgument, "A value can be in 0 to 16 nested arrays, not \(arrays)")
        }
        guard (type == WHERRY_FIELD_ITEM) == (item != nil) else {
            throw WherryError(
                .badArgument,
                "A field of the type WHERRY_FIELD_ITEM needs a mapping, and no other field has one")
        }
        var fieldType: ItemMapping.FieldType
        switch type {
        case WHERRY_FIELD_VALUE: fieldType = .value
        case WHERRY_FIELD_TEXT: fieldType = .text
        case WHERRY_FIELD_INTEGER: fieldType = .integer
        case WHERRY_FIELD_NUMBER: fieldType = .number
        case WHERRY_FIELD_BOOL: fieldType = .bool
        case WHERRY_FIELD_ITEM:
            let nested = try Handles.change(item, MappingValue.self, name: "item") { $0.mapping }
            // Adding a mapping to itself repeatedly would double the work each time.
            guard nested.depth < 16 else {
                throw WherryError(.badArgument, "Mappings can be nested at most 16 deep")
            }
            fieldType = .item(nested)
        default:
            throw WherryError(
                .badArgument,
                "Unknown field type \(type.rawValue). Pass a constant of wherry_field_type.")
        }
        for _ in 0..<arrays { fieldType = .array(of: fieldType) }
        let field = ItemMapping.Field(name, at: path, fieldType)
        box.with { $0.mapping.fields.append(field) }
    }
}

@_cdecl("wherry_mapping_apply") @implementation
public func wherry_mapping_apply(
    _ mapping: OpaquePointer?, _ json: OpaquePointer?, _ path: UnsafePointer<CChar>?,
    _ record: OpaquePointer?
) -> wherry_status {
    status { () throws(WherryError) in
        let mapping = try WherryABI.mapping(mapping)
        let value = try found(json, path)
        let (texts, printed) = try Handles.change(record, JSONValue.self, name: "record") {
            record throws(WherryError) in
            let before: JSONObject
            switch record.json {
            case .null: before = [:]
            case .object(let object): before = object
            default: throw WherryError(.badArgument, "The record is not a JSON object")
            }
            record.json = .object(mapping.record(of: value, updating: before))
            return (record.texts, record.printed)
        }
        texts.removeAll()
        printed.removeAll()
    }
}

@_cdecl("wherry_mapping_check") @implementation
public func wherry_mapping_check(
    _ mapping: OpaquePointer?, _ json: OpaquePointer?, _ path: UnsafePointer<CChar>?,
    _ out_problems: UnsafeMutablePointer<OpaquePointer?>?
) -> wherry_status {
    status { () throws(WherryError) in
        let out = try required(out_problems)
        let mapping = try WherryABI.mapping(mapping)
        let problems = mapping.problems(in: try found(json, path)).map { problem -> JSON in
            ["path": .string(problem.path), "kind": .string(problem.kind.rawValue)]
        }
        try Handles.give(Box(JSONValue(.array(problems))), to: out)
    }
}

@_cdecl("wherry_request_set_server") @implementation
public func wherry_request_set_server(
    _ request: OpaquePointer?, _ server: UnsafePointer<CChar>?, _ path: UnsafePointer<CChar>?
) -> wherry_status {
    status { () throws(WherryError) in
        let box = try Handles.get(request, Box<RequestValue>.self)
        let url = try ServerAddress.join(text(server, "server"), text(path, "path"))
        box.with { $0.request.url = url }
    }
}
