// Wherry: the options that make a request's body.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Wherry

struct BodyOptions: ParsableArguments, Sendable {
    @Option(
        help: ArgumentHelp(
            "A JSON body: the text itself, @FILE, or @- for standard input.", valueName: "text"))
    var json: String?

    @Option(
        help: ArgumentHelp(
            "A body of bytes: the text itself, @FILE (streamed), or @- for standard input.",
            discussion: "The type is text/plain, and application/octet-stream for files, "
                + "unless --header says another.",
            valueName: "text"))
    var data: String?

    @Option(
        help: ArgumentHelp(
            "A field of a URL-encoded form; may be given again. name@FILE and name@- read the value.",
            valueName: "name=value"))
    var field: [PairArgument] = []

    mutating func validate() throws {
        let kinds = [json != nil, data != nil, !field.isEmpty]
        if kinds.count(where: { $0 }) > 1 {
            throw ValidationError("A body is one of --json, --data and --field.")
        }
    }

    /// The body that the options describe.
    func body(named headers: Headers) throws -> Request.Body {
        if let json {
            let text = try FileBytes.argument(json)
            do {
                _ = try JSON.parse(text.array)
            } catch {
                throw ValidationError("--json is given what is no JSON: \(error.message)")
            }
            return .json(text)
        }
        if let data {
            let type = headers.contains("Content-Type") ? nil : "text/plain; charset=utf-8"
            let fileType = type == nil ? nil : "application/octet-stream"
            if data.first != "@" { return .bytes(Bytes(data), contentType: type) }
            if data == "@-" { return .bytes(try FileBytes.argument(data), contentType: fileType) }
            return .file(path: String(data.dropFirst()), contentType: fileType)
        }
        return field.isEmpty ? .none : .form(try field.map { try $0.pair() })
    }
}
