// Wherry: the case tables of models and pages, shared with C and Python
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Wherry

/// A case table with values of any kind.
private func table(_ name: String) throws -> JSON {
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("Scenarios")
    return try JSON(parsing: Array(Data(contentsOf: folder.appendingPathComponent(name))))
}

private func cases(_ name: String) throws -> [JSON] {
    let cases = try table(name).array(at: "cases") ?? []
    try #require(!cases.isEmpty)
    return cases
}

private func type(_ json: JSON?) throws -> ItemMapping.FieldType {
    switch json {
    case "value": return .value
    case "text": return .text
    case "integer": return .integer
    case "number": return .number
    case "bool": return .bool
    case .object(let object):
        if let element = object["array"] { return .array(of: try type(element)) }
        return .item(try mapping(object["item"]))
    default: throw CocoaError(.featureUnsupported)
    }
}

private func mapping(_ json: JSON?) throws -> ItemMapping {
    let fields = try #require(json?.array())
    return ItemMapping(
        try fields.map { field in
            ItemMapping.Field(
                try #require(field.text(at: "0")), at: field.text(at: "1"),
                try type(field.value(at: "2")))
        })
}

@Suite struct ModelScenarioTests {
    @Test("O8 conversions match the table")
    func conversions() throws {
        for one in try cases("conversions.json") {
            let mapping = ItemMapping([.init("a", try type(one.value(at: "type")))])
            let json: JSON = ["a": try #require(one.value(at: "value"))]
            let record = mapping.record(of: json)
            let problems = mapping.problems(in: json)
            if let gives = one.value(at: "gives") {
                #expect(record["a"] == gives, "\(one)")
                #expect(problems.isEmpty, "\(one)")
                #expect(try mapping.strictRecord(of: json) == record)
            } else {
                #expect(record["a"] == nil, "\(one)")
                #expect(problems.first?.kind.rawValue == one.text(at: "problem"), "\(one)")
            }
        }
    }

    @Test("O7 field mappings match the table")
    func mappings() throws {
        for one in try cases("item-mapping.json") {
            let mapping = try mapping(one.value(at: "fields"))
            let json = try #require(one.value(at: "json"))
            let before = one.object(at: "before") ?? [:]
            let problems = mapping.problems(in: json)
            #expect(
                mapping.record(of: json, updating: before) == one.object(at: "record"), "\(one)")
            let told = problems.map { JSON.array([.string($0.path), .string($0.kind.rawValue)]) }
            #expect(told == one.array(at: "problems"), "\(one)")
            if problems.isEmpty {
                #expect(try mapping.strictRecord(of: json) == one.object(at: "record"))
            } else {
                let error = #expect(throws: WherryError.self) { try mapping.strictRecord(of: json) }
                #expect(error?.reason == "bad_json_body")
                #expect(error?.message.contains(problems[0].description) == true)
            }
        }
    }

    @Test("O9 paths match the table")
    func paths() throws {
        let table = try table("json-paths.json")
        let json = try #require(table.value(at: "json"))
        for one in try cases("json-paths.json") {
            let path = try #require(one.text(at: "path"))
            #expect(json.bool(at: path) == one.bool(at: "bool"), "\(path)")
            #expect(json.integer(at: path) == one.integer(at: "integer"), "\(path)")
            #expect(
                json.unsigned(at: path)
                    == one.unsigned(at: "unsigned")
                    ?? one.integer(at: "integer").flatMap { UInt64(exactly: $0) }, "\(path)")
            #expect(json.number(at: path) == one.number(at: "number"), "\(path)")
            #expect(json.text(at: path) == one.text(at: "text"), "\(path)")
            #expect(json.array(at: path)?.count == one.integer(at: "array").map { Int($0) })
            #expect(json.object(at: path)?.count == one.integer(at: "object").map { Int($0) })
        }
    }

    @Test("O1 server URLs match the table")
    func servers() throws {
        for one in try cases("server-urls.json") {
            let server = try #require(one.text(at: "server"))
            let path = try #require(one.text(at: "path"))
            do throws(WherryError) {
                let url = try ServerAddress.join(server, path)
                #expect(url == one.text(at: "url"), "\(server)")
            } catch {
                #expect(error.reason == one.text(at: "error"), "\(server)")
            }
        }
    }

    @Test("O18 Link headers match the table")
    func links() async throws {
        for one in try cases("link-fields.json") {
            let stub = StubServer()
            var headers = Headers()
            for field in one.array(at: "fields") ?? [] {
                headers.append("Link", field.text() ?? "")
            }
            stub.respond("http://h/list?page=1", headers: headers, body: Bytes("[1]"))
            stub.respond("http://h/list?page=2", body: Bytes("[2]"))
            var paging = Paging()
            paging.end = .link
            let list = try PagedList(
                Client { $0.stubServer = stub }, Request("http://h/list?page=1"), paging: paging,
                of: Int.self)
            try await list.loadNext()
            do throws(WherryError) {
                let found = try await list.loadNext()
                #expect(found == (one.text(at: "next") != nil), "\(one)")
                #expect(one.text(at: "error") == nil, "\(one)")
                #expect(stub.requests.last?.url == one.text(at: "next") ?? "http://h/list?page=1")
            } catch {
                #expect(error.reason == one.text(at: "error"), "\(one)")
                #expect(stub.requests.count == 1)
            }
        }
    }

    @Test("O10 O14 O18 every way to end a list matches the table")
    func ends() async throws {
        for one in try cases("page-ends.json") {
            let about = one.text(at: "about") ?? ""
            let stub = StubServer()
            for answer in one.array(at: "answers") ?? [] {
                var headers: Headers = ["Content-Type": "application/json"]
                if let link = answer.text(at: "link") { headers.append("Link", link) }
                stub.respond(
                    "http://h/list*", times: 1, headers: headers,
                    body: Bytes(try #require(answer.value(at: "body")).text(style: .compact)))
            }
            let client = try Client { $0.stubServer = stub }
            let list = try PagedList(
                client, Request("http://h/list"), paging: try paging(one)
            ) { $0 }
            while try await list.loadNext() {}
            #expect(!list.hasNext, "\(about)")
            #expect(list.items == one.array(at: "finds"), "\(about)")
            let asked = stub.requests.map {
                JSON($0.url.split(separator: "?").dropFirst().joined())
            }
            #expect(asked == one.array(at: "asks"), "\(about)")
            #expect(stub.requests.allSatisfy { $0.method == "GET" })
        }
    }

    @Test("O18 a marker of the wrong type is an error, and does not end the list")
    func wrongMarkers() async throws {
        let ends: [(Paging.End, String)] = [
            (.hasNext("next"), #""http://h/list?page=2""#), (.nextURL("next"), "2"),
        ]
        for (end, next) in ends {
            let stub = StubServer()
            stub.respond("*", body: Bytes(#"{"list": [1], "next": \#(next)}"#))
            var paging = Paging(items: "list")
            paging.end = end
            let list = try PagedList(
                Client { $0.stubServer = stub }, Request("http://h/list"), paging: paging,
                of: Int.self)
            let error = await failure { () throws(WherryError) in try await list.loadNext() }
            #expect(error?.reason == "bad_json_body" && list.items.isEmpty)
        }
    }

    private func paging(_ one: JSON) throws -> Paging {
        var paging = Paging(items: try #require(one.text(at: "items")))
        let path = one.text(at: "path") ?? ""
        switch one.text(at: "end") {
        case "last_page": paging.end = .lastPage(path)
        case "has_next": paging.end = .hasNext(path)
        case "total": paging.end = .total(path)
        case "cursor": paging.end = .cursor(path)
        case "link": paging.end = one.text(at: "path").map { .nextURL($0) } ?? .link
        default: paging.end = .shortPage
        }
        if let name = one.text(at: "parameter") { paging.parameter = name }
        if let first = one.integer(at: "first") { paging.firstPage = first }
        if one.text(at: "unit") == "items" { paging.unit = .items }
        paging.size = one.integer(at: "size")
        paging.sizeParameter = one.text(at: "size_parameter")
        paging.key = one.text(at: "key")
        paging.newestWins = one.bool(at: "newest_wins") ?? false
        return paging
    }

    @Test("O15 sectioned lists match the table")
    func sections() throws {
        for one in try cases("sections.json") {
            var list = SectionedList(try #require(one.array(at: "start")).map(section))
            for step in try #require(one.array(at: "steps")) {
                let changes = try apply(try #require(step.value(at: "do")), to: &list)
                #expect(JSON.array(changes.map(told)) == step.value(at: "changes"), "\(step)")
            }
            let sections = list.sections.map { section -> JSON in
                [.string(section.header), .string(section.footer), .array(section.items)]
            }
            #expect(JSON.array(sections) == one.value(at: "sections"), "\(one)")
        }
    }
}

/// [header, footer, items] from an index.
private func section(_ json: JSON, from index: Int) throws -> SectionedList<JSON>.Section {
    SectionedList.Section(
        header: try #require(json.text(at: "\(index)")),
        footer: try #require(json.text(at: "\(index + 1)")),
        items: try #require(json.array(at: "\(index + 2)")))
}

private func section(_ json: JSON) throws -> SectionedList<JSON>.Section {
    try section(json, from: 0)
}

private func apply(_ step: JSON, to list: inout SectionedList<JSON>) throws -> [ListChange] {
    let at = Int(step.integer(at: "1") ?? 0)
    let row = Int(step.integer(at: "2") ?? 0)
    switch step.text(at: "0") {
    case "append": return list.append(contentsOf: try #require(step.array(at: "2")), section: at)
    case "insert":
        return list.insert(contentsOf: try #require(step.array(at: "3")), section: at, row: row)
    case "remove":
        // A range begins where rows are allowed: otherwise it is not a range of them.
        guard row >= 0 else { return [] }
        return list.remove(section: at, rows: row..<row + Int(try #require(step.integer(at: "3"))))
    case "replace":
        return list.replace(section: at, row: row, with: try #require(step.value(at: "3")))
    case "insert_section": return list.insert(try section(step, from: 2), at: at)
    case "replace_section": return list.replaceSection(at, with: try section(step, from: 2))
    case "remove_section": return list.removeSection(at)
    case "remove_all": return list.removeAll()
    default: throw CocoaError(.featureUnsupported)
    }
}

/// A change in the table's notation.
private func told(_ change: ListChange) -> JSON {
    func told(_ kind: String, _ numbers: Int...) -> JSON {
        .array([.string(kind)] + numbers.map { .integer(Int64($0)) })
    }
    return switch change {
    case .insertRows(let section, let rows):
        told("insert_rows", section, rows.lowerBound, rows.count)
    case .removeRows(let section, let rows):
        told("remove_rows", section, rows.lowerBound, rows.count)
    case .reloadRows(let section, let rows):
        told("reload_rows", section, rows.lowerBound, rows.count)
    case .insertSections(let range): told("insert_sections", range.lowerBound, range.count)
    case .removeSections(let range): told("remove_sections", range.lowerBound, range.count)
    case .reloadSections(let range): told("reload_sections", range.lowerBound, range.count)
    case .reloadAll: told("reload_all")
    }
}
