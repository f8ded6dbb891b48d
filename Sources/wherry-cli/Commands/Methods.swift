// Wherry: the commands that are one HTTP method each.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Wherry

/// A command that sends one request and prints the answer.
protocol MethodCommand: NetworkCommand {
    static var method: String { get }
    var options: RequestOptions { get }
    var body: BodyOptions? { get }
    /// Whether standard input is the body if no option gives one.
    static var takesPipedBody: Bool { get }
}

extension MethodCommand {
    var output: OutputOptions { options.printing }
    var body: BodyOptions? { nil }
    static var takesPipedBody: Bool { ["POST", "PUT", "PATCH"].contains(method) }

    mutating func perform(_ console: Console) async throws {
        var request = try options.request(Self.method)
        if let body { try body.apply(to: &request, Self.takesPipedBody ? console : nil) }
        try await Exchange(request, options, console).run()
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
        "Ask for a resource and print it.",
        "get https://example.org/api --param page=2 --header 'Accept: application/json'",
        "get https://example.org/report.pdf -o report.pdf",
        "get example.org -X OPTIONS")
    @OptionGroup(title: "REQUEST") var options: RequestOptions
}

struct HeadCommand: MethodCommand {
    static let method = "HEAD"
    static let configuration = configure(
        "Ask for status and header fields only, and print them.",
        "head https://example.org/report.pdf")
    @OptionGroup(title: "REQUEST") var options: RequestOptions
}

struct PostCommand: MethodCommand {
    static let method = "POST"
    static let configuration = configure(
        "Send a body and print the response.",
        "post https://example.org/notes --json '{\"text\": \"hello\"}'",
        "post https://example.org/login --field user=skye --field pass@password.txt",
        "post https://example.org/import --data @table.csv --header 'Content-Type: text/csv'",
        "post https://example.org/import < table.csv")
    @OptionGroup(title: "BODY") var bodyOptions: BodyOptions
    @OptionGroup(title: "REQUEST") var options: RequestOptions
    var body: BodyOptions? { bodyOptions }
}

struct PutCommand: MethodCommand {
    static let method = "PUT"
    static let configuration = configure(
        "Put a body in place of a resource.", "put https://example.org/notes/1 --json @note.json")
    @OptionGroup(title: "BODY") var bodyOptions: BodyOptions
    @OptionGroup(title: "REQUEST") var options: RequestOptions
    var body: BodyOptions? { bodyOptions }
}

struct PatchCommand: MethodCommand {
    static let method = "PATCH"
    static let configuration = configure(
        "Change a resource.", "patch https://example.org/notes/1 --json '{\"done\": true}'")
    @OptionGroup(title: "BODY") var bodyOptions: BodyOptions
    @OptionGroup(title: "REQUEST") var options: RequestOptions
    var body: BodyOptions? { bodyOptions }
}

struct DeleteCommand: MethodCommand {
    static let method = "DELETE"
    static let configuration = configure(
        "Delete a resource.", "delete https://example.org/notes/1")
    @OptionGroup(title: "BODY") var bodyOptions: BodyOptions
    @OptionGroup(title: "REQUEST") var options: RequestOptions
    var body: BodyOptions? { bodyOptions }
}
