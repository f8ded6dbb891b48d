// Wherry: the options for the body of a request.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import WherryAsync

struct BodyOptions: ParsableArguments, Sendable {
    @Option(
        help: ArgumentHelp(
            "Send JSON: the text, @FILE, or @- for standard input.", valueName: "text"))
    var json: String?

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp(
            "Send bytes: the text, @FILE (streamed), or @- for standard input. '' sends no body.",
            discussion:
                "Repeated options are joined with &. As in curl, the type is application/x-www-form-urlencoded "
                + "unless --header sets another. Unlike curl, a file keeps its line breaks.",
            valueName: "text"))
    var data: [String] = []

    @Option(
        help: ArgumentHelp(
            "Add a field of a URL-encoded form; repeatable. name@FILE and name@- read the value from a file or standard input.",
            valueName: "name=value"))
    var field: [PairArgument] = []

    // options: begin (scripts/make-options)
    @Option(
        name: .customLong("body-digest"),
        help: ArgumentHelp(
            "Send the digest of the body: md5 as Content-MD5, sha256 and sha512 as Content-Digest.",
            valueName: "kind"))
    var bodyDigest: DigestKindArgument?

    @Option(
        name: .customLong("body-coding"),
        help: ArgumentHelp(
            "Compress the body. The server must support it.",
            valueName: "coding"))
    var bodyCoding: BodyCodingArgument?
    // options: end

    mutating func validate() throws {
        let kinds = [json != nil, !data.isEmpty, !field.isEmpty]
        if kinds.count(where: { $0 }) > 1 {
            throw ValidationError("Use only one of --json, --data, and --field.")
        }
    }

    /// Sets the body of the request.
    ///
    /// - Parameter console: If not `nil`, piped standard input is the body if no option sets one.
    func apply(to request: inout Request, _ console: Console?) throws {
        request.body = try body(named: request.headers)
        if let console, json == nil, data.isEmpty, field.isEmpty,
            let bytes = try FileBytes.pipedInput(console)
        {
            let type = request.headers.contains("Content-Type") ? nil : "application/octet-stream"
            request.body = .bytes(bytes, contentType: type)
        }
        applyFlags(to: &request)
    }

    /// The body that the options set.
    private func body(named headers: Headers) throws -> Request.Body {
        if let json {
            let text = try FileBytes.argument(json)
            do {
                _ = try JSON.parse(text.array)
            } catch {
                throw ValidationError("The value of --json is not JSON: \(error.message)")
            }
            return .json(text)
        }
        if !data.isEmpty {
            let type = headers.contains("Content-Type") ? nil : "application/x-www-form-urlencoded"
            if data.count == 1, let only = data.first, only.first == "@", only != "@-" {
                return .file(path: String(only.dropFirst()), contentType: type)
            }
            let texts = try data.map { try FileBytes.argument($0).array }
            return .bytes(
                Bytes(Array(texts.joined(separator: [UInt8(ascii: "&")]))), contentType: type)
        }
        return field.isEmpty ? .none : .form(try field.map { try $0.pair() })
    }
}

/// Content codings of a body.
enum BodyCodingArgument: String, ExpressibleByArgument, CaseIterable {
    case gzip, deflate

    var number: Int64 {
        switch self {
        case .gzip: ContentCoding.gzip.rawValue
        case .deflate: ContentCoding.deflate.rawValue
        }
    }
}

/// Algorithms of digests that are sent.
enum DigestKindArgument: String, ExpressibleByArgument, CaseIterable {
    case md5, sha256, sha512

    var number: Int64 {
        switch self {
        case .md5: ContentDigest.md5.rawValue
        case .sha256: ContentDigest.sha256.rawValue
        case .sha512: ContentDigest.sha512.rawValue
        }
    }
}
