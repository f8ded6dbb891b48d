// Wherry: wherry.h, section 6: request.
// SPDX-License-Identifier: Apache-2.0

import CWherry
import WherryCore
import WherryHTTP
import WherryRequests
import WherrySystem

/// A request of the C interface, and its borrowed texts: the last one of each getter.
struct RequestValue: BoxedValue {
    static var kind: HandleKind { .request }

    var request: Request
    var method: LentText?
    var url: LentText?
    var identifier: LentText?
    /// Few requests use the getters.
    var parts: LentParts?

    init(_ request: Request) { self.request = request }
}

/// Returns a copy of the current request of a handle.
func snapshot(_ request: OpaquePointer?) throws(WherryError) -> Request {
    try Handles.change(request, RequestValue.self) { (value) in value.request }
}

/// Returns a copy with another URL; `nil` keeps the request's URL.
func snapshot(
    _ request: OpaquePointer?, url: UnsafePointer<CChar>?
) throws(WherryError) -> Request {
    var copy = try snapshot(request)
    if let url = try optionalText(url, "url") { copy.url = url }
    return copy
}

/// Changes the request of a handle.
func edit(
    _ request: OpaquePointer?, _ body: (inout Request) throws(WherryError) -> Void
) -> wherry_status {
    status { () throws(WherryError) in
        try Handles.change(request, RequestValue.self) { value throws(WherryError) in
            try body(&value.request)
        }
    }
}

/// Changes the request of a handle with a value that takes long to prepare, such as a copy of a
/// body. The value is prepared before taking the request's lock, which other objects share.
private func edit<Value>(
    _ request: OpaquePointer?, _ prepare: () throws(WherryError) -> Value,
    _ body: (inout Request, Value) -> Void
) -> wherry_status {
    status { () throws(WherryError) in
        let box = try Handles.get(request, Box<RequestValue>.self)
        let value = try prepare()
        box.with { body(&$0.request, value) }
    }
}

@_cdecl("wherry_request_new") @implementation
public func wherry_request_new(
    _ method: UnsafePointer<CChar>?, _ url: UnsafePointer<CChar>?,
    _ out_request: UnsafeMutablePointer<OpaquePointer?>?
) -> wherry_status {
    status { () throws(WherryError) in
        let out = try required(out_request)
        let request = try Request(text(url, "url"), method: optionalText(method, "method"))
        if let method = request.method, let violation = FieldRules.violation(method: method) {
            throw WherryError(.badMethod, violation.message)
        }
        try Handles.give(Box(RequestValue(request)), to: out)
    }
}

@_cdecl("wherry_request_copy") @implementation
public func wherry_request_copy(
    _ request: OpaquePointer?, _ out_copy: UnsafeMutablePointer<OpaquePointer?>?
) -> wherry_status {
    status { () throws(WherryError) in
        let out = try required(out_copy)
        try Handles.give(Box(RequestValue(snapshot(request))), to: out)
    }
}

@_cdecl("wherry_request_free") @implementation
public func wherry_request_free(_ request: OpaquePointer?) -> wherry_status {
    status { () throws(WherryError) in try Handles.freeOwned(request, RequestValue.self) }
}

@_cdecl("wherry_request_set_option") @implementation
public func wherry_request_set_option(
    _ request: OpaquePointer?, _ option: wherry_option, _ value: Int64
) -> wherry_status {
    edit(request) { request throws(WherryError) in
        let option = try WherryABI.option(option)
        try option.check(value, in: .request)
        request.set(option, value)
    }
}

@_cdecl("wherry_request_set_text") @implementation
public func wherry_request_set_text(
    _ request: OpaquePointer?, _ option: wherry_text_option, _ value: UnsafePointer<CChar>?
) -> wherry_status {
    edit(request) { request throws(WherryError) in
        let option = try WherryABI.option(option)
        let value = try optionalText(value, "value")
        try option.check(value, in: .request)
        switch option {
        case .bearerToken: request.bearerToken = value
        case .tag: request.tag = value
        case .imageNames: request.imageNames = value
        case .jpegType: request.jpegType = value
        default:
            throw WherryError(.badOption, "The option \(option) cannot be set on a request")
        }
    }
}

@_cdecl("wherry_request_set_credentials") @implementation
public func wherry_request_set_credentials(
    _ request: OpaquePointer?, _ auth: wherry_auth, _ user: UnsafePointer<CChar>?,
    _ password: UnsafePointer<CChar>?
) -> wherry_status {
    edit(request) { request throws(WherryError) in
        request.credentials = try credentials(auth, user, password)
    }
}

@_cdecl("wherry_request_set_method") @implementation
public func wherry_request_set_method(
    _ request: OpaquePointer?, _ method: UnsafePointer<CChar>?
) -> wherry_status {
    edit(request) { request throws(WherryError) in
        let method = try optionalText(method, "method")
        if let method, let violation = FieldRules.violation(method: method) {
            throw WherryError(.badMethod, violation.message)
        }
        request.method = method
    }
}

@_cdecl("wherry_request_set_url") @implementation
public func wherry_request_set_url(
    _ request: OpaquePointer?, _ url: UnsafePointer<CChar>?
) -> wherry_status {
    edit(request) { request throws(WherryError) in request.url = try text(url, "url") }
}

@_cdecl("wherry_request_set_base") @implementation
public func wherry_request_set_base(
    _ request: OpaquePointer?, _ names: UnsafePointer<CChar>?
) -> wherry_status {
    edit(request) { request throws(WherryError) in
        let names = try optionalText(names, "names")
        let bases = names.map { $0.split(separator: ",", omittingEmptySubsequences: false) } ?? []
        guard !bases.contains(where: \.isEmpty) else {
            throw WherryError(.badArgument, "A name in the list of base URLs is empty")
        }
        request.bases = bases.map(String.init)
    }
}

@_cdecl("wherry_request_set_header") @implementation
public func wherry_request_set_header(
    _ request: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ value: UnsafePointer<CChar>?
) -> wherry_status {
    edit(request) { request throws(WherryError) in
        let name = try text(name, "name")
        let value = try optionalText(value, "value")
        try Headers.check(name, value)
        request.headers.set(name, value)
    }
}

@_cdecl("wherry_request_add_header") @implementation
public func wherry_request_add_header(
    _ request: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ value: UnsafePointer<CChar>?
) -> wherry_status {
    edit(request) { request throws(WherryError) in
        let name = try text(name, "name")
        let value = try text(value, "value")
        try Headers.check(name, value)
        request.headers.add(name, value)
    }
}

@_cdecl("wherry_request_set_parameter") @implementation
public func wherry_request_set_parameter(
    _ request: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ value: UnsafePointer<CChar>?
) -> wherry_status {
    edit(request) { request throws(WherryError) in
        let name = try text(name, "name")
        request.parameters[name] = try optionalText(value, "value").map { JSON($0) }
    }
}

@_cdecl("wherry_request_set_parameters_json") @implementation
public func wherry_request_set_parameters_json(
    _ request: OpaquePointer?, _ text: UnsafeRawPointer?, _ count: Int
) -> wherry_status {
    edit(request) { () throws(WherryError) in
        guard case .object(let object) = try json(text, count, else: .badParameters) else {
            throw WherryError(
                .badParameters, "The parameters are not a JSON object. Pass an object.")
        }
        return object
    } _: { request, object in
        for member in object { request.parameters[member.name] = member.value }
    }
}

@_cdecl("wherry_request_add_query") @implementation
public func wherry_request_add_query(
    _ request: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ value: UnsafePointer<CChar>?
) -> wherry_status {
    edit(request) { request throws(WherryError) in
        request.query.append(try .init(text(name, "name"), text(value, "value")))
    }
}

@_cdecl("wherry_request_add_query_text") @implementation
public func wherry_request_add_query_text(
    _ request: OpaquePointer?, _ query: UnsafePointer<CChar>?
) -> wherry_status {
    edit(request) { request throws(WherryError) in request.addQuery(try text(query, "text")) }
}

@_cdecl("wherry_request_add_field") @implementation
public func wherry_request_add_field(
    _ request: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ value: UnsafePointer<CChar>?
) -> wherry_status {
    edit(request) { request throws(WherryError) in
        request.addField(try text(name, "name"), try text(value, "value"))
    }
}

@_cdecl("wherry_request_set_json") @implementation
public func wherry_request_set_json(
    _ request: OpaquePointer?, _ text: UnsafeRawPointer?, _ count: Int
) -> wherry_status {
    edit(request) { () throws(WherryError) in
        _ = try json(text, count, else: .badJSON)
        let bytes = try bytes(text, count)
        // A parser may skip a byte order mark, but a sender must not add one (RFC 8259 section 8.1).
        guard !bytes.starts(with: [0xEF, 0xBB, 0xBF]) else {
            throw WherryError(.badJSON, "The JSON text starts with a byte order mark. Remove it.")
        }
        return bytes
    } _: { request, bytes in
        request.body = .json(bytes)
    }
}

@_cdecl("wherry_request_set_json_value") @implementation
public func wherry_request_set_json_value(
    _ request: OpaquePointer?, _ value: OpaquePointer?
) -> wherry_status {
    status { () throws(WherryError) in
        let printed = try RequestPlanner.json(
            Handles.change(value, JSONValue.self, name: "value") { $0.json })
        try Handles.change(request, RequestValue.self) { $0.request.body = .json(printed) }
    }
}

@_cdecl("wherry_request_set_body") @implementation
public func wherry_request_set_body(
    _ request: OpaquePointer?, _ bytes: UnsafeRawPointer?, _ count: Int,
    _ content_type: UnsafePointer<CChar>?
) -> wherry_status {
    edit(request) { () throws(WherryError) in
        let bytes = try WherryABI.bytes(bytes, count)
        return Request.Body.bytes(bytes, contentType: try contentType(content_type))
    } _: { request, body in
        request.body = body
    }
}

@_cdecl("wherry_request_set_body_file") @implementation
public func wherry_request_set_body_file(
    _ request: OpaquePointer?, _ path: UnsafePointer<CChar>?,
    _ content_type: UnsafePointer<CChar>?
) -> wherry_status {
    edit(request) { request throws(WherryError) in
        let path = try WherryABI.path(path, "path")
        request.body = .file(path: path, contentType: try contentType(content_type))
    }
}

@_cdecl("wherry_request_set_body_stream") @implementation
public func wherry_request_set_body_stream(
    _ request: OpaquePointer?, _ count: Int64, _ content_type: UnsafePointer<CChar>?
) -> wherry_status {
    edit(request) { request throws(WherryError) in
        guard count >= -1 else {
            throw WherryError(
                .badValue,
                "A body cannot have \(count) bytes. Pass -1 if the size is unknown.")
        }
        request.body = .stream(
            length: count < 0 ? nil : count, contentType: try contentType(content_type))
    }
}

@_cdecl("wherry_request_add_part") @implementation
public func wherry_request_add_part(
    _ request: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ bytes: UnsafeRawPointer?,
    _ count: Int, _ file_name: UnsafePointer<CChar>?, _ content_type: UnsafePointer<CChar>?
) -> wherry_status {
    edit(request) { () throws(WherryError) in
        let bytes = try WherryABI.bytes(bytes, count)
        return Request.Part.bytes(
            try text(name, "name"), bytes, fileName: optionalPath(file_name),
            contentType: try contentType(content_type))
    } _: { request, part in
        request.addPart(part)
    }
}

@_cdecl("wherry_request_add_part_file") @implementation
public func wherry_request_add_part_file(
    _ request: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ path: UnsafePointer<CChar>?,
    _ file_name: UnsafePointer<CChar>?, _ content_type: UnsafePointer<CChar>?
) -> wherry_status {
    edit(request) { request throws(WherryError) in
        request.addPart(
            .file(
                try text(name, "name"), path: try WherryABI.path(path, "path"),
                fileName: optionalPath(file_name),
                contentType: try contentType(content_type)))
    }
}

@_cdecl("wherry_request_add_part_stream") @implementation
public func wherry_request_add_part_stream(
    _ request: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ count: Int64,
    _ file_name: UnsafePointer<CChar>?, _ content_type: UnsafePointer<CChar>?
) -> wherry_status {
    edit(request) { request throws(WherryError) in
        guard count >= 0 else {
            throw WherryError(
                .badValue,
                "A part cannot have \(count) bytes. Pass its exact size, which must be known in advance."
            )
        }
        request.addPart(
            .stream(
                try text(name, "name"), length: count,
                fileName: optionalPath(file_name),
                contentType: try contentType(content_type)))
    }
}

@_cdecl("wherry_request_set_part_header") @implementation
public func wherry_request_set_part_header(
    _ request: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ value: UnsafePointer<CChar>?
) -> wherry_status {
    edit(request) { request throws(WherryError) in
        let name = try text(name, "name")
        try request.setPartHeader(name, optionalText(value, "value"))
    }
}

@_cdecl("wherry_request_add_image") @implementation
public func wherry_request_add_image(
    _ request: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ image: OpaquePointer?,
    _ compression: OpaquePointer?
) -> wherry_status {
    status { () throws(WherryError) in
        let part = try part(text(name, "name"), image, compression)
        try Handles.change(request, RequestValue.self) { $0.request.addPart(part) }
    }
}

@_cdecl("wherry_request_set_streamed") @implementation
public func wherry_request_set_streamed(
    _ request: OpaquePointer?, _ streamed: Bool
) -> wherry_status {
    edit(request) { request throws(WherryError) in request.isStreamed = streamed }
}

@_cdecl("wherry_request_set_json_shape") @implementation
public func wherry_request_set_json_shape(
    _ request: OpaquePointer?, _ shape: UnsafePointer<CChar>?
) -> wherry_status {
    edit(request) { request throws(WherryError) in
        request.jsonShape = try optionalText(shape, "shape").map { text throws(WherryError) in
            try JSONShape(parsing: text)
        }
    }
}

@_cdecl("wherry_request_accept_status") @implementation
public func wherry_request_accept_status(
    _ request: OpaquePointer?, _ http_code: Int32
) -> wherry_status {
    edit(request) { request throws(WherryError) in
        guard (100...999).contains(http_code) else {
            throw WherryError(.badValue, "\(http_code) is not an HTTP status. Use 100 to 999.")
        }
        if !request.acceptedStatus.contains(Int(http_code)) {
            request.acceptedStatus.append(Int(http_code))
        }
    }
}

@_cdecl("wherry_request_set_hooks") @implementation
public func wherry_request_set_hooks(
    _ request: OpaquePointer?, _ hooks: UInt32
) -> wherry_status {
    edit(request) { request throws(WherryError) in
        request.hooks = try WherryABI.hooks(hooks)
    }
}

@_cdecl("wherry_request_set_digest") @implementation
public func wherry_request_set_digest(
    _ request: OpaquePointer?, _ digest: wherry_digest, _ value: UnsafePointer<CChar>?
) -> wherry_status {
    edit(request) { request throws(WherryError) in
        let algorithm = try DigestAlgorithm(digest)
        guard let value = try optionalText(value, "digest") else {
            request.expectedDigest = nil
            request.computedDigest = algorithm
            return
        }
        guard let algorithm else {
            throw WherryError(
                .badDigest, "The digest has no algorithm. Pass one such as WHERRY_DIGEST_SHA256.")
        }
        request.expectedDigest = try ExpectedDigest(algorithm, text: value)
        request.computedDigest = nil
    }
}

@_cdecl("wherry_request_add_mirror") @implementation
public func wherry_request_add_mirror(
    _ request: OpaquePointer?, _ url: UnsafePointer<CChar>?
) -> wherry_status {
    edit(request) { request throws(WherryError) in
        guard let url = try optionalText(url, "mirror") else { return request.mirrors = [] }
        request.mirrors.append(url)
    }
}

@_cdecl("wherry_request_set_user_key") @implementation
public func wherry_request_set_user_key(_ request: OpaquePointer?, _ key: UInt64) -> wherry_status {
    edit(request) { request throws(WherryError) in request.userInfo = key == 0 ? nil : key }
}

extension DigestAlgorithm {
    /// `nil` for NONE.
    init?(_ digest: wherry_digest) throws(WherryError) {
        switch digest {
        case WHERRY_DIGEST_NONE: return nil
        case WHERRY_DIGEST_MD5: self = .md5
        case WHERRY_DIGEST_SHA1: self = .sha1
        case WHERRY_DIGEST_SHA256: self = .sha256
        case WHERRY_DIGEST_SHA512: self = .sha512
        default:
            throw WherryError(
                .badValue,
                "Unknown digest \(digest.rawValue). Pass a constant of wherry_digest.")
        }
    }
}

/// Validates a media type that becomes a header.
private func contentType(_ pointer: UnsafePointer<CChar>?) throws(WherryError) -> String? {
    guard let type = try optionalText(pointer, "content type") else { return nil }
    try Headers.check("Content-Type", type)
    return type
}
