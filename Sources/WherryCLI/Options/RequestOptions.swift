// Wherry: the options for the URL, the query, and the output of a request.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import WherryAsync

struct RequestOptions: ParsableArguments, Sendable {
    @Argument(
        help: "The URL; without a scheme it is http://.", transform: { try Address.complete($0) })
    var url: String

    @Option(
        name: [.customShort("X"), .customLong("request")],
        help: ArgumentHelp("Send another method, such as OPTIONS or PURGE.", valueName: "method"))
    var otherMethod: String?

    @Option(
        help: ArgumentHelp(
            "Add a query parameter; repeatable. name@FILE and name@- read the value from a file or standard input.",
            valueName: "name=value"))
    var param: [PairArgument] = []

    @Flag(
        name: .shortAndLong,
        help:
            "Print the status and headers before the body, and those of informational responses (1xx)."
    )
    var include = false

    @Flag(
        name: .shortAndLong,
        help: "Do not print the body of an error response. Its exit status is 3 in both cases.")
    var fail = false

    @Option(
        name: [.customShort("o"), .customLong("output")],
        help: ArgumentHelp(
            "Write the response to a file, which appears once it is complete; - is standard output.",
            valueName: "file"),
        completion: .file())
    var outputPath: String?

    @Flag(
        name: [.customShort("O"), .customLong("remote-name")],
        help: "Write the body to a file in the current directory, named after the URL.")
    var remoteName = false

    @Flag(
        name: [.customShort("J"), .customLong("remote-header-name")],
        help: ArgumentHelp(
            "With --remote-name, use the name from the Content-Disposition header.",
            discussion: "An existing file is an error."))
    var remoteHeaderName = false

    // options: begin (scripts/make-options)
    @Option(
        name: [.customLong("retries"), .customLong("retry")],
        help: ArgumentHelp(
            "Maximum number of retries after a transient failure. (default: 0)",
            discussion: "POST and PATCH are retried only if the server cannot have received them.",
            valueName: "count"))
    var maxRetries: Int?
    // options: end

    @Flag(
        inversion: .prefixedNo,
        help: "Indent JSON. (default: only on a terminal)")
    var pretty: Bool?

    mutating func validate() throws {
        try validateFlags()
        if remoteName, outputPath != nil {
            throw ValidationError("--output and --remote-name cannot be combined.")
        }
        if remoteHeaderName, !remoteName {
            throw ValidationError(
                "--remote-header-name (-J) needs --remote-name (-O). Use -OJ, or 'wherry download URL'."
            )
        }
    }

    /// The destination of the body.
    enum Place {
        case standardOutput
        case file(String)
        /// A file in the current directory, named by the server.
        case suggestedName
    }

    var place: Place {
        if remoteName, remoteHeaderName { return .suggestedName }
        if remoteName {
            return .file(SuggestedFileName.choose(contentDisposition: String?.none, url: url))
        }
        guard let outputPath, outputPath != "-" else { return .standardOutput }
        return .file(outputPath)
    }

    /// Whether the body is written to a file.
    var hasFile: Bool {
        if case .standardOutput = place { false } else { true }
    }

    /// Returns the request without headers and a body.
    func makeRequest(_ method: String) throws -> Request {
        var request = Request(url, method: otherMethod ?? method)
        applyFlags(to: &request)
        request.query = try param.map { try $0.pair() }
        return request
    }
}
