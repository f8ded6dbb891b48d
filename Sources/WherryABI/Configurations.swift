// Wherry: wherry.h, section 4: config.
// SPDX-License-Identifier: Apache-2.0

import CWherry
import WherryCore
import WherryHTTP
import WherryRequests
import WherryTransport

extension Client.Configuration: BoxedValue {
    static var kind: HandleKind { .config }
}

@_cdecl("wherry_config_new") @implementation
public func wherry_config_new(
    _ out_config: UnsafeMutablePointer<OpaquePointer?>?
) -> wherry_status {
    status { () throws(WherryError) in
        try Handles.give(Box(Client.Configuration()), to: required(out_config))
    }
}

@_cdecl("wherry_config_free") @implementation
public func wherry_config_free(_ config: OpaquePointer?) -> wherry_status {
    status { () throws(WherryError) in try Handles.free(config, Box<Client.Configuration>.self) }
}

@_cdecl("wherry_config_set_option") @implementation
public func wherry_config_set_option(
    _ config: OpaquePointer?, _ option: wherry_option, _ value: Int64
) -> wherry_status {
    status { () throws(WherryError) in
        try change(config) { values throws(WherryError) in
            let option = try WherryABI.option(option)
            try option.check(value, in: .build)
            values.options[option] = value
        }
    }
}

@_cdecl("wherry_config_set_text") @implementation
public func wherry_config_set_text(
    _ config: OpaquePointer?, _ option: wherry_text_option, _ value: UnsafePointer<CChar>?
) -> wherry_status {
    status { () throws(WherryError) in
        try change(config) { values throws(WherryError) in
            let option = try WherryABI.option(option)
            let value =
                option.isPath ? optionalPath(value) : try optionalText(value, "value")
            try option.check(value, in: .build)
            values.texts[option] = value
        }
    }
}

@_cdecl("wherry_config_set_header") @implementation
public func wherry_config_set_header(
    _ config: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ value: UnsafePointer<CChar>?
) -> wherry_status {
    status { () throws(WherryError) in
        try change(config) { values throws(WherryError) in
            if name == nil && value == nil {
                values.headers.removeAll()
                return
            }
            let name = try text(name, "name")
            let value = try optionalText(value, "value")
            try Headers.check(name, value)
            values.headers[name] = value
        }
    }
}

@_cdecl("wherry_config_add_header") @implementation
public func wherry_config_add_header(
    _ config: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ value: UnsafePointer<CChar>?
) -> wherry_status {
    status { () throws(WherryError) in
        try change(config) { values throws(WherryError) in
            let name = try text(name, "name")
            let value = try text(value, "value")
            try Headers.check(name, value)
            values.headers.add(name, value)
        }
    }
}

@_cdecl("wherry_config_set_parameter") @implementation
public func wherry_config_set_parameter(
    _ config: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ value: UnsafePointer<CChar>?
) -> wherry_status {
    status { () throws(WherryError) in
        try change(config) { values throws(WherryError) in
            let name = try text(name, "name")
            values.parameters[name] = try optionalText(value, "value").map { JSON($0) }
        }
    }
}

@_cdecl("wherry_config_load") @implementation
public func wherry_config_load(
    _ config: OpaquePointer?, _ path: UnsafePointer<CChar>?
) -> wherry_status {
    status { () throws(WherryError) in
        let path = optionalPath(path)
        try Handles.change(config, Client.Configuration.self) {
            (configuration) throws(WherryError) in
            if let path {
                try configuration.load(from: path)
            } else {
                try configuration.loadFromEnvironment()
            }
        }
    }
}

@_cdecl("wherry_config_set_base") @implementation
public func wherry_config_set_base(
    _ config: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ url: UnsafePointer<CChar>?
) -> wherry_status {
    status { () throws(WherryError) in
        try change(config) { values throws(WherryError) in
            let name = try baseName(name)
            let url = try optionalText(url, "url")
            if let url { _ = try HTTPURL.base(url) }
            values.bases[name] = url
        }
    }
}

/// Returns the name of a base URL. Names must not contain a comma, which separates names in lists.
func baseName(_ pointer: UnsafePointer<CChar>?) throws(WherryError) -> String {
    let name = try text(pointer, "name")
    guard !name.isEmpty, !name.utf8.contains(0x2C) else {
        throw WherryError(
            .badArgument,
            "\"\(name)\" is not a name for a base URL: it is empty or contains a comma")
    }
    return name
}

@_cdecl("wherry_config_set_stub") @implementation
public func wherry_config_set_stub(
    _ config: OpaquePointer?, _ stub: OpaquePointer?
) -> wherry_status {
    status { () throws(WherryError) in
        let stub = try Handles.get(stub, StubTransport.self)
        try Handles.change(config, Client.Configuration.self) { $0.stub = stub }
    }
}

private func change(
    _ config: OpaquePointer?, _ body: (inout ClientSettings.Values) throws(WherryError) -> Void
) throws(WherryError) {
    try Handles.change(config, Client.Configuration.self) { configuration throws(WherryError) in
        try body(&configuration.values)
    }
}
