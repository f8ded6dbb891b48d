// Wherry: the options for headers, credentials, and timeouts, which all commands share.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import WherryAsync

struct ConnectionOptions: ParsableArguments, Sendable {
    @Option(
        name: [.customShort("H"), .long],
        help: ArgumentHelp(
            "Send a header, 'Name: value'; 'Name:' removes it. @FILE or @- reads several, one per line.",
            valueName: "field"))
    var header: [HeaderArgument] = []

    @Option(
        name: [.customShort("u"), .long],
        help: ArgumentHelp(
            "Authenticate with a user name and password, by default as Basic: 'name:password', @FILE, or @-.",
            discussion:
                "They are sent to the origin of the URL only, not to other origins after a redirect.",
            valueName: "name:password"))
    var user: String?

    @Flag(help: "Use Digest authentication with --user.")
    var digest = false

    @Flag(
        help: "Use the best scheme that the server offers for --user: Digest, or else Basic.")
    var anyauth = false

    @Flag(
        name: [.customShort("n"), .customLong("netrc")],
        help:
            "Read user names and passwords by host from ~/.netrc, unless --user or --bearer is given."
    )
    var readsNetrc = false

    @Option(
        help: ArgumentHelp(
            "Read user names and passwords by host from this file, in the format of .netrc.",
            valueName: "file"),
        completion: .file())
    var netrcFile: String?

    @Option(
        name: [.customShort("b"), .long],
        help: ArgumentHelp(
            "Send cookies, 'a=1; b=2', or those in a cookie file of curl.",
            valueName: "cookies"))
    var cookie: [String] = []

    @Option(
        name: [.customShort("c"), .customLong("cookie-jar")],
        help: ArgumentHelp(
            "Save all cookies to this file at the end, readable only by you.", valueName: "file"),
        completion: .file())
    var cookieJar: String?

    @Option(
        name: [.long, .customLong("oauth2-bearer")],
        help: ArgumentHelp(
            "Authenticate with a bearer token: the token, @FILE, or @- for standard input.",
            discussion: "Other users of this machine can see command lines; prefer a file.",
            valueName: "token"))
    var bearer: String?

    // options: begin (scripts/make-options)
    @Option(
        name: .customLong("timeout"),
        help: ArgumentHelp(
            "Fail after this long without receiving or sending a byte; 0 means never. (default: 20)",
            valueName: "seconds"))
    var idleTimeout: Seconds?

    @Option(
        name: .customLong("connect-timeout"),
        help: ArgumentHelp(
            "Fail if name lookup, connection, and handshake take longer. (default: 10)",
            valueName: "seconds"))
    var connectTimeout: Seconds?

    @Option(
        name: .customLong("total-timeout"),
        help: ArgumentHelp(
            "Fail if a transfer takes longer in total. (default: no limit)",
            valueName: "seconds"))
    var totalTimeout: Seconds?

    @Option(
        name: .customLong("max-redirects"),
        help: ArgumentHelp(
            "Follow at most this many redirects; with 0, a redirect is the response. (default: 10)",
            valueName: "count"))
    var maxRedirects: Int?

    @Option(
        name: .customLong("wait-for-network"),
        help: ArgumentHelp(
            "Wait up to this long for a network. (default: 0; downloads: 60)",
            valueName: "seconds"))
    var waitForNetwork: Seconds?

    @Flag(
        name: .customLong("deny-metered"),
        help: "Fail instead of using a mobile network.")
    var denyMetered = false

    @Flag(
        name: .customLong("require-verified-length"),
        help:
            "Fail if a body received over TLS may be incomplete: it has no length, and the connection ended without close_notify."
    )
    var requireVerifiedLength = false
    // options: end

    mutating func validate() throws {
        try validateFlags()
        if digest && anyauth { throw ValidationError("--digest and --anyauth cannot be combined.") }
        if (digest || anyauth) && user == nil {
            throw ValidationError(
                "--digest and --anyauth need --user. Credentials of a .netrc file are sent as Basic."
            )
        }
        if user != nil && bearer != nil {
            throw ValidationError("--user and --bearer cannot be combined.")
        }
        if cookieJar == "-" {
            throw ValidationError("--cookie-jar needs a file, not -.")
        }
        if let user, user.first != "@", !user.contains(":") {
            throw ValidationError("--user takes name:password.")
        }
    }

    /// The same for all commands, because responses may vary by it, and `cache show` has to find them.
    static var userAgent: String { "wherry-cli/\(WherryLibrary.version)" }

    /// The files of cookies that `--cookie` names.
    var cookieFiles: [String] { cookie.filter { !$0.contains("=") } }

    /// Adds these settings to those of a client.
    func apply(to configuration: inout Client.Configuration) throws {
        configuration.userAgent = Self.userAgent
        configuration.bearerToken = try Self.token(bearer)
        configuration.credentials = try credentials()
        configuration.netrc = netrcFile ?? (readsNetrc ? "~/.netrc" : nil)
        applyFlags(to: &configuration)
    }

    /// The credentials of `--user`.
    private func credentials() throws -> Credentials? {
        guard let user else { return nil }
        let text = user.first == "@" ? try FileBytes.line(String(user.dropFirst())) : user
        guard let colon = text.firstIndex(of: ":") else {
            // Not the text itself, which may be a secret.
            throw ValidationError("The value of --user is not name:password.")
        }
        return Credentials(
            user: String(text[..<colon]), password: String(text[text.index(after: colon)...]),
            scheme: digest ? .digest : anyauth ? .any : .basic)
    }

    /// The token of `--bearer`.
    static func token(_ bearer: String?) throws -> String? {
        try bearer.map { token in
            try token.first == "@" ? FileBytes.line(String(token.dropFirst())) : token
        }
    }

    /// Adds the header fields to a request.
    func addHeaders(to request: inout Request) throws {
        try Self.add(header, to: &request)
        let pairs = cookie.filter { $0.contains("=") }
        guard !pairs.isEmpty else { return }
        request.headers.append("Cookie", pairs.joined(separator: "; "))
        request.cookieHandling = .merged
    }

    static func add(_ header: [HeaderArgument], to request: inout Request) throws {
        for argument in header {
            for field in try argument.fields() {
                if let value = field.value {
                    request.headers.append(field.name, value)
                } else {
                    request.headers.set(field.name, nil)
                }
            }
        }
    }
}

/// `Name: value` from the command line, or a file of such lines.
enum HeaderArgument: ExpressibleByArgument, Sendable {
    struct Field: Sendable {
        var name: String
        /// `nil` removes the field.
        var value: String?

        init?(_ line: some StringProtocol) {
            guard let colon = line.firstIndex(of: ":"), colon > line.startIndex else { return nil }
            name = String(line[..<colon])
            let rest = line[line.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
            value = rest.isEmpty ? nil : String(rest)
        }
    }

    case field(Field)
    case file(String)

    init?(argument: String) {
        // A header name cannot contain @.
        if argument.first == "@" {
            self = .file(String(argument.dropFirst()))
        } else if let field = Field(argument) {
            self = .field(field)
        } else {
            return nil
        }
    }

    /// The fields, read from the file if there is one.
    func fields() throws -> [Field] {
        switch self {
        case .field(let field): return [field]
        case .file(let path):
            let lines = try FileBytes.line(path).split(
                omittingEmptySubsequences: false, whereSeparator: \.isNewline)
            var fields: [Field] = []
            for (index, line) in lines.enumerated() where !line.isEmpty {
                guard let field = Field(line) else {
                    // Not the line itself, which may be a secret.
                    throw ValidationError("Line \(index + 1) of \(path) is not 'Name: value'.")
                }
                fields.append(field)
            }
            return fields
        }
    }
}

/// `name=value` from the command line; the value may contain `=` and may be empty. `name@FILE` reads
/// the value from a file.
struct PairArgument: ExpressibleByArgument, Sendable {
    private let name: String
    private let rest: String
    private let isFile: Bool

    init?(argument: String) {
        guard let mark = argument.firstIndex(where: { $0 == "=" || $0 == "@" }),
            mark > argument.startIndex
        else { return nil }
        name = String(argument[..<mark])
        rest = String(argument[argument.index(after: mark)...])
        isFile = argument[mark] == "@"
    }

    func pair() throws -> Request.Pair {
        Request.Pair(name, isFile ? try FileBytes.line(rest) : rest)
    }
}

/// Seconds with or without a fraction, up to a thousand years.
struct Seconds: ExpressibleByArgument, Sendable {
    var duration: Duration

    init?(argument: String) {
        guard let value = Double(argument), value >= 0, value <= 3.2e10,
            argument.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 || $0 == 0x2E })
        else { return nil }
        duration = .milliseconds(Int64((value * 1000).rounded(.up)))
    }
}
