// Wherry: the options about connections and headers, the same for all commands.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Wherry

struct ConnectionOptions: ParsableArguments, Sendable {
    @Option(
        name: [.customShort("H"), .long],
        help: ArgumentHelp(
            "A header field, 'Name: value'; 'Name:' leaves it out; @FILE or @- for such lines.",
            valueName: "field"))
    var header: [HeaderArgument] = []

    @Option(
        name: [.customShort("u"), .long],
        help: ArgumentHelp(
            "A user name and password, sent as Basic: 'name:password', @FILE, or @- for standard input.",
            discussion: "They go to the origin of the URL, and not where a redirect leads elsewhere.",
            valueName: "name:password"))
    var user: String?

    @Flag(help: "Sends --user as a digest, once the server has asked; the password stays here.")
    var digest = false

    @Flag(help: "Sends --user as the server asks: as a digest before Basic.")
    var anyauth = false

    @Flag(
        name: [.customShort("n"), .customLong("netrc")],
        help: "Read user names and passwords by host from ~/.netrc, unless --user or --bearer is given.")
    var readsNetrc = false

    @Option(
        help: ArgumentHelp(
            "Read user names and passwords by host from a file in the format of .netrc.",
            valueName: "file"),
        completion: .file())
    var netrcFile: String?

    @Option(
        name: [.customShort("b"), .long],
        help: ArgumentHelp(
            "Cookies to send, 'a=1; b=2', or a file of cookies as curl writes it.",
            valueName: "cookies"))
    var cookie: [String] = []

    @Option(
        name: [.customShort("c"), .customLong("cookie-jar")],
        help: ArgumentHelp(
            "The file that takes all cookies at the end; only you can read it.", valueName: "file"),
        completion: .file())
    var cookieJar: String?

    @Option(
        name: [.long, .customLong("oauth2-bearer")],
        help: ArgumentHelp(
            "Sent as 'Authorization: Bearer': the token itself, @FILE, or @- for standard input.",
            discussion: "Other users can see a command line, and not a file.",
            valueName: "token"))
    var bearer: String?

    @Option(
        help: ArgumentHelp(
            "Seconds without a byte in either direction; 0 is none. (default: 20)",
            valueName: "seconds"))
    var timeout: Seconds?

    @Option(
        help: ArgumentHelp(
            "Seconds for name lookup, connection and handshake. (default: 10)",
            valueName: "seconds"))
    var connectTimeout: Seconds?

    @Option(
        help: ArgumentHelp("Seconds for everything together. (default: none)", valueName: "seconds")
    )
    var totalTimeout: Seconds?

    @Option(
        help: ArgumentHelp(
            "The most redirects; with 0 a redirect is the answer. (default: 10)",
            valueName: "count"))
    var maxRedirects: Int?

    @Option(
        help: ArgumentHelp(
            "Seconds to wait where there is no network. (default: 0, of downloads 60)",
            valueName: "seconds"))
    var waitForNetwork: Seconds?

    @Flag(help: "Fail rather than connect over a mobile network.")
    var denyMetered = false

    @Flag(help: "Fail if a body over TLS may have been cut: no length, and no close_notify.")
    var requireVerifiedLength = false

    @OptionGroup var route: RouteOptions
    @OptionGroup var trust: TrustOptions

    mutating func validate() throws {
        if let maxRedirects, !(0...100).contains(maxRedirects) {
            throw ValidationError("--max-redirects takes 0 to 100, not \(maxRedirects).")
        }
        if digest && anyauth { throw ValidationError("--digest and --anyauth exclude each other.") }
        if (digest || anyauth) && user == nil {
            throw ValidationError("--digest and --anyauth say how --user is sent, which is missing.")
        }
        if user != nil && bearer != nil {
            throw ValidationError("--user and --bearer exclude each other.")
        }
        if let user, user.first != "@", !user.contains(":") {
            throw ValidationError("--user takes name:password.")
        }
    }

    /// Answers may vary by it: what looks for stored ones says the same as what asked for them.
    static var userAgent: String { "wherry-cli/\(WherryLibrary.version)" }

    /// A client with these settings, for URLs.
    func client(
        for urls: [String], _ output: OutputOptions,
        _ configure: (inout Client.Configuration) -> Void = { _ in }
    ) throws -> Client {
        let client = try Client(configuration(for: urls, output, configure))
        for file in cookie where !file.contains("=") { try client.cookies.load(from: file) }
        if let path = output.logFile { try client.setLogFile(path) }
        return client
    }

    /// The settings themselves.
    func configuration(
        for urls: [String], _ output: OutputOptions,
        _ configure: (inout Client.Configuration) -> Void = { _ in }
    ) throws -> Client.Configuration {
        var configuration = Client.Configuration()
        // The storage that 'wherry cache' shows, also of the partial files of downloads.
        configuration.storageName = "wherry"
        configure(&configuration)
        configuration.userAgent = Self.userAgent
        try trust.apply(to: &configuration, urls: urls)
        try route.apply(to: &configuration)
        configuration.bearerToken = try Self.token(bearer)
        configuration.credentials = try credentials()
        configuration.netrc = netrcFile ?? (readsNetrc ? "~/.netrc" : nil)
        configuration.isDebugging = output.debug
        if let timeout { configuration.idleTimeout = timeout.duration }
        if let connectTimeout { configuration.connectTimeout = connectTimeout.duration }
        if let totalTimeout { configuration.totalTimeout = totalTimeout.duration }
        if let maxRedirects { configuration.maxRedirects = maxRedirects }
        if let waitForNetwork { configuration.waitForNetwork = waitForNetwork.duration }
        configuration.deniesMetered = denyMetered
        configuration.requiresVerifiedLength = requireVerifiedLength
        return configuration
    }

    /// Keeps the cookies where that is asked for, and closes the client.
    func finish(_ client: Client, _ console: Console) {
        defer { client.close() }
        guard let cookieJar else { return }
        do {
            try client.cookies.save(to: cookieJar)
        } catch {
            console.note("Could not save the cookies: \(Report.message(of: error))")
        }
    }

    /// The user name and password that `--user` means.
    private func credentials() throws -> Credentials? {
        guard let user else { return nil }
        let text = user.first == "@" ? try FileBytes.line(String(user.dropFirst())) : user
        guard let colon = text.firstIndex(of: ":") else {
            // Not the text itself, which may be a secret.
            throw ValidationError("What --user read is not name:password.")
        }
        return Credentials(
            user: String(text[..<colon]), password: String(text[text.index(after: colon)...]),
            scheme: digest ? .digest : anyauth ? .any : .basic)
    }

    /// The token that `--bearer` means.
    static func token(_ bearer: String?) throws -> String? {
        try bearer.map { token in
            try token.first == "@" ? FileBytes.line(String(token.dropFirst())) : token
        }
    }

    /// Adds the header fields to a request.
    func addHeaders(to request: inout Request) throws {
        try Self.add(header, to: &request)
        let pairs = cookie.filter { $0.contains("=") }
        if !pairs.isEmpty { request.headers.append("Cookie", pairs.joined(separator: "; ")) }
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
        /// `nil` leaves the field out.
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
        // No name begins so: @ cannot stand in one.
        if argument.first == "@" {
            self = .file(String(argument.dropFirst()))
        } else if let field = Field(argument) {
            self = .field(field)
        } else {
            return nil
        }
    }

    /// The fields, out of the file where it is one.
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

/// `name=value` from the command line; the value may have `=` in it and may be empty. `name@FILE`
/// takes the value out of a file.
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
