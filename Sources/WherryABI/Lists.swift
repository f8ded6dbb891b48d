// Wherry: wherry.h, section 11: lists.
// SPDX-License-Identifier: Apache-2.0

import CWherry
import WherryCore
import WherryHTTP

@_cdecl("wherry_list_free") @implementation
public func wherry_list_free(_ list: OpaquePointer?) -> wherry_status {
    status { () throws(WherryError) in try Handles.free(list, ListBox.self) }
}

@_cdecl("wherry_list_count") @implementation
public func wherry_list_count(_ list: OpaquePointer?) -> Int {
    value(0) { () throws(WherryError) in try Handles.get(list, ListBox.self).count }
}

@_cdecl("wherry_list_transfer") @implementation
public func wherry_list_transfer(
    _ list: OpaquePointer?, _ index: Int, _ out_row: UnsafeMutablePointer<wherry_transfer_row>?
) -> wherry_status {
    status { () throws(WherryError) in
        guard case .transfers(let rows) = try Handles.get(list, ListBox.self).rows else {
            throw .otherList
        }
        try copy(rows, index, out_row)
    }
}

@_cdecl("wherry_list_image") @implementation
public func wherry_list_image(
    _ list: OpaquePointer?, _ index: Int, _ out_row: UnsafeMutablePointer<wherry_image_row>?
) -> wherry_status {
    status { () throws(WherryError) in
        guard case .images(let rows) = try Handles.get(list, ListBox.self).rows else {
            throw .otherList
        }
        try copy(rows, index, out_row)
    }
}

@_cdecl("wherry_list_response") @implementation
public func wherry_list_response(_ list: OpaquePointer?, _ index: Int) -> OpaquePointer? {
    value(nil) { () throws(WherryError) in try Handles.get(list, ListBox.self).response(index) }
}

@_cdecl("wherry_list_partial") @implementation
public func wherry_list_partial(
    _ list: OpaquePointer?, _ index: Int, _ out_row: UnsafeMutablePointer<wherry_partial_row>?
) -> wherry_status {
    status { () throws(WherryError) in
        guard case .partials(let rows) = try Handles.get(list, ListBox.self).rows else {
            throw .otherList
        }
        try copy(rows, index, out_row)
    }
}

@_cdecl("wherry_list_entry") @implementation
public func wherry_list_entry(
    _ list: OpaquePointer?, _ index: Int, _ out_row: UnsafeMutablePointer<wherry_entry_row>?
) -> wherry_status {
    status { () throws(WherryError) in
        guard case .entries(let rows) = try Handles.get(list, ListBox.self).rows else {
            throw .otherList
        }
        try copy(rows, index, out_row)
    }
}

@_cdecl("wherry_list_job") @implementation
public func wherry_list_job(
    _ list: OpaquePointer?, _ index: Int, _ out_row: UnsafeMutablePointer<wherry_job_row>?
) -> wherry_status {
    status { () throws(WherryError) in
        guard case .jobs(let rows) = try Handles.get(list, ListBox.self).rows else {
            throw .otherList
        }
        try copy(rows, index, out_row)
    }
}

@_cdecl("wherry_list_cookie") @implementation
public func wherry_list_cookie(
    _ list: OpaquePointer?, _ index: Int, _ out_row: UnsafeMutablePointer<wherry_cookie_row>?
) -> wherry_status {
    status { () throws(WherryError) in
        guard case .cookies(let rows) = try Handles.get(list, ListBox.self).rows else {
            throw .otherList
        }
        try copy(rows, index, out_row)
    }
}

@_cdecl("wherry_list_change") @implementation
public func wherry_list_change(
    _ list: OpaquePointer?, _ index: Int, _ out_row: UnsafeMutablePointer<wherry_change_row>?
) -> wherry_status {
    status { () throws(WherryError) in
        guard case .changes(let rows) = try Handles.get(list, ListBox.self).rows else {
            throw .otherList
        }
        try copy(rows, index, out_row)
    }
}

extension WherryError {
    fileprivate static let otherList = WherryError(
        .badArgument, "The list does not have rows of this kind")
}

private func copy<Row: PlainStruct>(
    _ rows: [Row], _ index: Int, _ out: UnsafeMutablePointer<Row>?
) throws(WherryError) {
    try fill(out) { () throws(WherryError) in
        guard rows.indices.contains(index) else {
            throw WherryError(
                .badArgument,
                "The index \(index) is out of range: the list has \(rows.count) rows")
        }
        return rows[index]
    }
}
