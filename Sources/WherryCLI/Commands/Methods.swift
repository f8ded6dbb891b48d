// Wherry: the commands for HTTP methods.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import WherryAsync

/// A command that sends a request and prints the response.
protocol MethodCommand: ConnectingCommand {
    static var method: String { get }
    var request: RequestOptions { get }
    var caching: CacheOptions { get }
    var body: BodyOptions? { get }
    /// Whether piped standard input is the body if no option sets one.
    static var takesPipedBody: Bool { get }
}

extension MethodCommand {
    var body: BodyOptions? { nil }
    static var takesPipedBody: Bool { ["POST", "PUT", "PATCH"].contains(method) }

    func validate() throws {
        if output.jsonOutput, request.outputPath == "-" {
            throw ValidationError(
                "--json-output and --output - both write to standard output. Leave one of them out."
            )
        }
    }

    mutating func perform(_ console: Console) async throws {
        try await RequestRunner(makeRequest(console), self, console).run()
    }

    private func makeRequest(_ console: Console) throws -> Request {
        var made = try request.makeRequest(Self.method)
        try connection.addHeaders(to: &made)
        caching.apply(to: &made)
        // The timed cache ignores Vary, so all headers count. The HTTP cache obeys Vary, but responses
        // to requests with cookies are always private to these cookies.
        if caching.isTimed {
            made.cacheHeaders = made.headers.fields.map(\.name)
        } else if made.headers.contains("Cookie") || !connection.cookie.isEmpty {
            made.cacheHeaders = ["Cookie"]
        }
        if let body { try body.apply(to: &made, Self.takesPipedBody ? console : nil) }
        return made
    }

    static func configure(_ abstract: String, _ examples: String...) -> CommandConfiguration {
        var discussion = "EXAMPLES\n" + examples.map { "  wherry \($0)" }.joined(separator: "\n")
        if takesPipedBody {
            discussion += """


                Without a body option, the body is standard input if that is a pipe or a file. In a loop \
                of a shell script, add --data '' or < /dev/null: otherwise the command reads the input \
                of the loop.
                """
        }
        return CommandConfiguration(
            commandName: method.lowercased(), abstract: abstract, discussion: discussion)
    }
}

struct GetCommand: MethodCommand {
    static let method = "GET"
    static let configuration = configure(
        "Send a GET request and print the response.",
        "get https://example.org/api --param page=2 --header 'Accept: application/json'",
        "get https://example.org/report.pdf -o report.pdf",
        "get example.org -X OPTIONS")
    @OptionGroup(title: "REQUEST") var request: RequestOptions
    @OptionGroup(title: "CACHE") var caching: CacheOptions
    @OptionGroup(title: "CONNECTION") var connection: ConnectionOptions
    @OptionGroup(title: "PROXY") var proxy: ProxyOptions
    @OptionGroup(title: "TLS") var tls: TLSOptions
    @OptionGroup(title: "OUTPUT") var output: OutputOptions
}

struct HeadCommand: MethodCommand {
    static let method = "HEAD"
    static let configuration = configure(
        "Send a HEAD request and print the status and headers.",
        "head https://example.org/report.pdf")
    @OptionGroup(title: "REQUEST") var request: RequestOptions
    @OptionGroup(title: "CACHE") var caching: CacheOptions
    @OptionGroup(title: "CONNECTION") var connection: ConnectionOptions
    @OptionGroup(title: "PROXY") var proxy: ProxyOptions
    @OptionGroup(title: "TLS") var tls: TLSOptions
    @OptionGroup(title: "OUTPUT") var output: OutputOptions
}

struct PostCommand: MethodCommand {
    static let method = "POST"
    static let configuration = configure(
        "Send a POST request and print the response.",
        "post https://example.org/notes --json '{\"text\": \"hello\"}'",
        "post https://example.org/login --field user=skye --field pass@password.txt",
        "post https://example.org/import --data @table.csv --header 'Content-Type: text/csv'",
        "post https://example.org/import < table.csv")
    @OptionGroup(title: "BODY") var bodyOptions: BodyOptions
    @OptionGroup(title: "REQUEST") var request: RequestOptions
    @OptionGroup(title: "CACHE") var caching: CacheOptions
    @OptionGroup(title: "CONNECTION") var connection: ConnectionOptions
    @OptionGroup(title: "PROXY") var proxy: ProxyOptions
    @OptionGroup(title: "TLS") var tls: TLSOptions
    @OptionGroup(title: "OUTPUT") var output: OutputOptions
    var body: BodyOptions? { bodyOptions }
}

struct PutCommand: MethodCommand {
    static let method = "PUT"
    static let configuration = configure(
        "Send a PUT request and print the response.",
        "put https://example.org/notes/1 --json @note.json")
    @OptionGroup(title: "BODY") var bodyOptions: BodyOptions
    @OptionGroup(title: "REQUEST") var request: RequestOptions
    @OptionGroup(title: "CACHE") var caching: CacheOptions
    @OptionGroup(title: "CONNECTION") var connection: ConnectionOptions
    @OptionGroup(title: "PROXY") var proxy: ProxyOptions
    @OptionGroup(title: "TLS") var tls: TLSOptions
    @OptionGroup(title: "OUTPUT") var output: OutputOptions
    var body: BodyOptions? { bodyOptions }
}

struct PatchCommand: MethodCommand {
    static let method = "PATCH"
    static let configuration = configure(
        "Send a PATCH request and print the response.",
        "patch https://example.org/notes/1 --json '{\"done\": true}'")
    @OptionGroup(title: "BODY") var bodyOptions: BodyOptions
    @OptionGroup(title: "REQUEST") var request: RequestOptions
    @OptionGroup(title: "CACHE") var caching: CacheOptions
    @OptionGroup(title: "CONNECTION") var connection: ConnectionOptions
    @OptionGroup(title: "PROXY") var proxy: ProxyOptions
    @OptionGroup(title: "TLS") var tls: TLSOptions
    @OptionGroup(title: "OUTPUT") var output: OutputOptions
    var body: BodyOptions? { bodyOptions }
}

struct DeleteCommand: MethodCommand {
    static let method = "DELETE"
    static let configuration = configure(
        "Send a DELETE request and print the response.", "delete https://example.org/notes/1")
    @OptionGroup(title: "BODY") var bodyOptions: BodyOptions
    @OptionGroup(title: "REQUEST") var request: RequestOptions
    @OptionGroup(title: "CACHE") var caching: CacheOptions
    @OptionGroup(title: "CONNECTION") var connection: ConnectionOptions
    @OptionGroup(title: "PROXY") var proxy: ProxyOptions
    @OptionGroup(title: "TLS") var tls: TLSOptions
    @OptionGroup(title: "OUTPUT") var output: OutputOptions
    var body: BodyOptions? { bodyOptions }
}
