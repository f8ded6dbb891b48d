// Wherry: the options about connections and headers, the same for all commands.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Wherry

struct ConnectionOptions: ParsableArguments, Sendable {
    @Option(
        name: [.customShort("H"), .long],
        help: ArgumentHelp(
            "A header field, 'Name: value'; 'Name:' leaves it out.", valueName: "field"))
    var header: [HeaderArgument] = []

    @Option(help: ArgumentHelp("Sent as 'Authorization: Bearer'.", valueName: "token"))
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
        name: .customLong("cacert"),
        help: ArgumentHelp(
            "Certificates (PEM) to trust instead of the system's.", valueName: "file"),
        completion: .file())
    var caFile: String?

    @Flag(help: "Trust any certificate. Whoever sits in between can read and change everything.")
    var insecure = false

    @Option(
        help: ArgumentHelp(
            "A proxy's URL; '' for none. (default: what the environment says)", valueName: "url"))
    var proxy: String?

    mutating func validate() throws {
        if let maxRedirects, !(0...100).contains(maxRedirects) {
            throw ValidationError("--max-redirects takes 0 to 100, not \(maxRedirects).")
        }
    }

    /// A client with these settings.
    func client(_ output: OutputOptions) throws(WherryError) -> Client {
        var configuration = Client.Configuration()
        configuration.userAgent = "wherry-cli/\(WherryLibrary.version)"
        configuration.caFile = caFile
        configuration.isInsecure = insecure
        configuration.proxy = proxy
        configuration.bearerToken = bearer
        configuration.isDebugging = output.debug
        if let timeout { configuration.idleTimeout = timeout.duration }
        if let connectTimeout { configuration.connectTimeout = connectTimeout.duration }
        if let totalTimeout { configuration.totalTimeout = totalTimeout.duration }
        if let maxRedirects { configuration.maxRedirects = maxRedirects }
        return try Client(configuration)
    }

    /// Adds the header fields to a request.
    func addHeaders(to request: inout Request) {
        for field in header {
            if let value = field.value {
                request.headers.append(field.name, value)
            } else {
                request.headers.set(field.name, nil)
            }
        }
    }
}

/// `Name: value` from the command line.
struct HeaderArgument: ExpressibleByArgument, Sendable {
    var name: String
    /// `nil` leaves the field out.
    var value: String?

    init?(argument: String) {
        guard let colon = argument.firstIndex(of: ":"), colon > argument.startIndex else {
            return nil
        }
        name = String(argument[..<colon])
        let rest = argument[argument.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
        value = rest.isEmpty ? nil : String(rest)
    }
}

/// `name=value` from the command line; the value may have `=` in it and may be empty.
struct PairArgument: ExpressibleByArgument, Sendable {
    var pair: Request.Pair

    init?(argument: String) {
        guard let equals = argument.firstIndex(of: "="), equals > argument.startIndex else {
            return nil
        }
        pair = Request.Pair(
            String(argument[..<equals]), String(argument[argument.index(after: equals)...]))
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
