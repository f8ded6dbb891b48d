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
        name: .shortAndLong,
        help: ArgumentHelp(
            "A body of bytes: the text itself, @FILE (streamed), or @- for standard input. '' sends no body.",
            discussion: "Several are joined with &. As in curl, the type is application/x-www-form-urlencoded "
                + "unless --header says another. Unlike curl, a file is sent with its line ends.",
            valueName: "text"))
    var data: [String] = []

    @Option(
        help: ArgumentHelp(
            "A field of a URL-encoded form; may be given again. name@FILE and name@- read the value.",
            valueName: "name=value"))
    var field: [PairArgument] = []

    @Option(
        help: ArgumentHelp(
            "Code the body before it is sent: gzip or deflate. The server must know it.",
            valueName: "coding"))
    var bodyCoding: BodyCodingArgument?

    @OptionGroup var digest: BodyDigestOption

    mutating func validate() throws {
        let kinds = [json != nil, !data.isEmpty, !field.isEmpty]
        if kinds.count(where: { $0 }) > 1 {
            throw ValidationError("A body is one of --json, --data and --field.")
        }
    }

    /// Gives the request the body that the options describe.
    ///
    /// - Parameter console: given where piped standard input is the body if no option gives one.
    func apply(to request: inout Request, _ console: Console?) throws {
        request.body = try body(named: request.headers)
        if let console, json == nil, data.isEmpty, field.isEmpty,
            let bytes = try FileBytes.pipedInput(console)
        {
            let type = request.headers.contains("Content-Type") ? nil : "application/octet-stream"
            request.body = .bytes(bytes, contentType: type)
        }
        request.bodyDigest = digest.bodyDigest?.digest
        request.bodyCoding = bodyCoding?.coding
    }

    /// The body that the options describe.
    private func body(named headers: Headers) throws -> Request.Body {
        if let json {
            let text = try FileBytes.argument(json)
            do {
                _ = try JSON.parse(text.array)
            } catch {
                throw ValidationError("--json is given what is no JSON: \(error.message)")
            }
            return .json(text)
        }
        if !data.isEmpty {
            let type = headers.contains("Content-Type") ? nil : "application/x-www-form-urlencoded"
            if data.count == 1, let only = data.first, only.first == "@", only != "@-" {
                return .file(path: String(only.dropFirst()), contentType: type)
            }
            let texts = try data.map { try FileBytes.argument($0).array }
            return .bytes(Bytes(Array(texts.joined(separator: [UInt8(ascii: "&")]))), contentType: type)
        }
        return field.isEmpty ? .none : .form(try field.map { try $0.pair() })
    }
}

/// The digest that goes before a body.
struct BodyDigestOption: ParsableArguments, Sendable {
    @Option(
        help: ArgumentHelp(
            "Send the digest of the body: md5 as Content-MD5, sha256 and sha512 as Content-Digest.",
            valueName: "kind"))
    var bodyDigest: DigestKindArgument?
}

/// Content codings of a body.
enum BodyCodingArgument: String, ExpressibleByArgument, CaseIterable {
    case gzip, deflate

    var coding: ContentCoding {
        switch self {
        case .gzip: .gzip
        case .deflate: .deflate
        }
    }
}

/// Digests that are sent along.
enum DigestKindArgument: String, ExpressibleByArgument, CaseIterable {
    case md5, sha256, sha512

    var digest: ContentDigest {
        switch self {
        case .md5: .md5
        case .sha256: .sha256
        case .sha512: .sha512
        }
    }
}
