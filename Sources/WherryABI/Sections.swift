// Wherry: wherry.h, section 21: sectioned lists.
// SPDX-License-Identifier: Apache-2.0

import CWherry
import WherryCore
import WherryHTTP
import WherryModels
import WherrySystem

/// A sectioned list of the C interface, and its borrowed titles.
struct SectionsValue: BoxedValue {
    static var kind: HandleKind { .sectionedList }

    var list = SectionedList<JSON>()
    var header: LentText?
    var footer: LentText?
}

private typealias Section = SectionedList<JSON>.Section

/// Reads the list of a handle.
private func look<Result>(
    _ sections: OpaquePointer?, _ otherwise: Result, _ body: (SectionedList<JSON>) -> Result
) -> Result {
    value(otherwise) { () throws(WherryError) in
        try Handles.change(sections, SectionsValue.self, name: "sections") { body($0.list) }
    }
}

/// Changes the list of a handle, and reports the changes if requested. Reads the arguments before
/// taking the list's lock, which other objects share.
private func change<Given>(
    _ sections: OpaquePointer?, _ out: UnsafeMutablePointer<OpaquePointer?>?,
    _ given: () throws(WherryError) -> Given,
    _ body: (inout SectionedList<JSON>, Given) -> [ListChange]
) -> wherry_status {
    status { () throws(WherryError) in
        let box = try Handles.get(sections, Box<SectionsValue>.self, name: "sections")
        let given = try given()
        let changes = box.with { body(&$0.list, given) }
        if let out { try Handles.give(ListBox(changes: changes), to: out) }
    }
}

/// Returns the elements of the caller's array; empty for NULL.
private func items(_ json: OpaquePointer?) throws(WherryError) -> [JSON] {
    guard json != nil else { return [] }
    let found = try Handles.change(json, JSONValue.self, name: "items") { $0.json }
    guard case .array(let items) = found else {
        throw WherryError(.badArgument, "The items of a section must be a JSON array")
    }
    return items
}

private func section(
    _ header: UnsafePointer<CChar>?, _ footer: UnsafePointer<CChar>?, _ json: OpaquePointer?
) throws(WherryError) -> Section {
    Section(
        header: try optionalText(header, "header") ?? "",
        footer: try optionalText(footer, "footer") ?? "", items: try items(json))
}

@_cdecl("wherry_sectioned_list_new") @implementation
public func wherry_sectioned_list_new(
    _ out_sections: UnsafeMutablePointer<OpaquePointer?>?
) -> wherry_status {
    status { () throws(WherryError) in
        try Handles.give(Box(SectionsValue()), to: required(out_sections))
    }
}

@_cdecl("wherry_sectioned_list_free") @implementation
public func wherry_sectioned_list_free(_ sections: OpaquePointer?) -> wherry_status {
    status { () throws(WherryError) in
        try Handles.free(sections, Box<SectionsValue>.self, name: "sections")
    }
}

@_cdecl("wherry_sectioned_list_count") @implementation
public func wherry_sectioned_list_count(_ sections: OpaquePointer?) -> Int {
    look(sections, 0) { $0.sectionCount }
}

@_cdecl("wherry_sectioned_list_row_count") @implementation
public func wherry_sectioned_list_row_count(_ sections: OpaquePointer?, _ section: Int) -> Int {
    look(sections, 0) { $0.rowCount(in: section) }
}

@_cdecl("wherry_sectioned_list_copy_item") @implementation
public func wherry_sectioned_list_copy_item(
    _ sections: OpaquePointer?, _ section: Int, _ row: Int,
    _ out_item: UnsafeMutablePointer<OpaquePointer?>?
) -> wherry_status {
    status { () throws(WherryError) in
        let out = try required(out_item)
        let item = try Handles.change(sections, SectionsValue.self, name: "sections") {
            $0.list.item(section: section, row: row)
        }
        guard let item else {
            out.pointee = nil
            return
        }
        try Handles.give(Box(JSONValue(item)), to: out)
    }
}

@_cdecl("wherry_sectioned_list_header") @implementation
public func wherry_sectioned_list_header(
    _ sections: OpaquePointer?, _ section: Int
) -> UnsafePointer<CChar>? {
    title(sections, \.header) { $0.header(of: section) }
}

@_cdecl("wherry_sectioned_list_footer") @implementation
public func wherry_sectioned_list_footer(
    _ sections: OpaquePointer?, _ section: Int
) -> UnsafePointer<CChar>? {
    title(sections, \.footer) { $0.footer(of: section) }
}

/// Returns a title, valid until the next one is requested.
private func title(
    _ sections: OpaquePointer?, _ place: WritableKeyPath<SectionsValue, LentText?>,
    _ find: (SectionedList<JSON>) -> String?
) -> UnsafePointer<CChar>? {
    value(nil) { () throws(WherryError) in
        let box = try Handles.get(sections, Box<SectionsValue>.self, name: "sections")
        let text = box.with { find($0.list) }.flatMap { LentText($0) }
        // Release the previous text after unlocking.
        let before = box.with { value in
            let before = value[keyPath: place]
            value[keyPath: place] = text
            return before
        }
        return withExtendedLifetime(before) { text?.pointer }
    }
}

@_cdecl("wherry_sectioned_list_append") @implementation
public func wherry_sectioned_list_append(
    _ sections: OpaquePointer?, _ section: Int, _ items: OpaquePointer?,
    _ out_changes: UnsafeMutablePointer<OpaquePointer?>?
) -> wherry_status {
    change(sections, out_changes) { () throws(WherryError) in
        try WherryABI.items(items)
    } _: { list, items in
        list.append(contentsOf: items, section: section)
    }
}

@_cdecl("wherry_sectioned_list_insert") @implementation
public func wherry_sectioned_list_insert(
    _ sections: OpaquePointer?, _ section: Int, _ row: Int, _ items: OpaquePointer?,
    _ out_changes: UnsafeMutablePointer<OpaquePointer?>?
) -> wherry_status {
    change(sections, out_changes) { () throws(WherryError) in
        try WherryABI.items(items)
    } _: { list, items in
        list.insert(contentsOf: items, section: section, row: row)
    }
}

@_cdecl("wherry_sectioned_list_remove") @implementation
public func wherry_sectioned_list_remove(
    _ sections: OpaquePointer?, _ section: Int, _ row: Int, _ count: Int,
    _ out_changes: UnsafeMutablePointer<OpaquePointer?>?
) -> wherry_status {
    change(sections, out_changes) {
    } _: { list, _ in
        // A negative row is out of range. A negative or too large count means all further rows.
        guard row >= 0 else { return [] }
        let (end, isTooMuch) = row.addingReportingOverflow(count)
        return list.remove(
            section: section, rows: row..<(count < 0 || isTooMuch ? Int.max : end))
    }
}

@_cdecl("wherry_sectioned_list_replace") @implementation
public func wherry_sectioned_list_replace(
    _ sections: OpaquePointer?, _ section: Int, _ row: Int, _ item: OpaquePointer?,
    _ out_changes: UnsafeMutablePointer<OpaquePointer?>?
) -> wherry_status {
    change(sections, out_changes) { () throws(WherryError) in
        try Handles.change(item, JSONValue.self, name: "item") { $0.json }
    } _: { list, item in
        list.replace(section: section, row: row, with: item)
    }
}

@_cdecl("wherry_sectioned_list_insert_section") @implementation
public func wherry_sectioned_list_insert_section(
    _ sections: OpaquePointer?, _ section: Int, _ header: UnsafePointer<CChar>?,
    _ footer: UnsafePointer<CChar>?, _ items: OpaquePointer?,
    _ out_changes: UnsafeMutablePointer<OpaquePointer?>?
) -> wherry_status {
    change(sections, out_changes) { () throws(WherryError) in
        try WherryABI.section(header, footer, items)
    } _: { list, new in
        list.insert(new, at: section)
    }
}

@_cdecl("wherry_sectioned_list_replace_section") @implementation
public func wherry_sectioned_list_replace_section(
    _ sections: OpaquePointer?, _ section: Int, _ header: UnsafePointer<CChar>?,
    _ footer: UnsafePointer<CChar>?, _ items: OpaquePointer?,
    _ out_changes: UnsafeMutablePointer<OpaquePointer?>?
) -> wherry_status {
    change(sections, out_changes) { () throws(WherryError) in
        try WherryABI.section(header, footer, items)
    } _: { list, new in
        list.replaceSection(section, with: new)
    }
}

@_cdecl("wherry_sectioned_list_remove_section") @implementation
public func wherry_sectioned_list_remove_section(
    _ sections: OpaquePointer?, _ section: Int,
    _ out_changes: UnsafeMutablePointer<OpaquePointer?>?
) -> wherry_status {
    change(sections, out_changes) {
    } _: { list, _ in
        list.removeSection(section)
    }
}

@_cdecl("wherry_sectioned_list_remove_all") @implementation
public func wherry_sectioned_list_remove_all(
    _ sections: OpaquePointer?, _ out_changes: UnsafeMutablePointer<OpaquePointer?>?
) -> wherry_status {
    change(sections, out_changes) {
    } _: { list, _ in
        list.removeAll()
    }
}
