// Wherry: the options of requests: URL, query and where the answer goes.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Wherry

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
            "A parameter of the query; may be given again. name@FILE and name@- read the value.",
            valueName: "name=value"))
    var param: [PairArgument] = []

    @Flag(
        name: .shortAndLong,
        help: "Print status and header fields before the body, also of informational responses (1xx).")
    var include = false

    @Flag(name: .shortAndLong, help: "Print no body for an error status; the exit status is 3 either way.")
    var fail = false

    @Option(
        name: [.customShort("o"), .customLong("output")],
        help: ArgumentHelp(
            "Write the body to a file, once it is complete; - is standard output.",
            valueName: "file"),
        completion: .file())
    var outputPath: String?

    @Flag(
        name: [.customShort("O"), .customLong("remote-name")],
        help: "Write the body to a file named after the URL, in the current directory.")
    var remoteName = false

    @Flag(
        name: [.customShort("J"), .customLong("remote-header-name")],
        help: ArgumentHelp(
            "With --remote-name, use the name that the server suggests (Content-Disposition).",
            discussion: "An existing file of that name is an error."))
    var remoteHeaderName = false

    @Option(
        name: [.long, .customLong("retry")],
        help: ArgumentHelp(
            "Maximum number of retries after a transient failure. (default: 0)",
            discussion: "POST and PATCH are retried only if the server cannot have received them.",
            valueName: "count"))
    var retries: Int?

    @Flag(
        inversion: .prefixedNo,
        help: "Lay out JSON for reading. (default: on a terminal)")
    var pretty: Bool?

    @OptionGroup(title: "CACHE") var caching: CacheOptions
    @OptionGroup(title: "CONNECTION") var connection: ConnectionOptions
    @OptionGroup(title: "OUTPUT") var printing: OutputOptions

    mutating func validate() throws {
        if let retries, !(0...1000).contains(retries) {
            throw ValidationError("--retries takes 0 to 1000, not \(retries).")
        }
        if remoteName, outputPath != nil {
            throw ValidationError("--output names the file, so --remote-name cannot.")
        }
        if remoteHeaderName, !remoteName {
            throw ValidationError(
                "--remote-header-name (-J) goes with --remote-name (-O). Use -OJ, or 'wherry download URL'.")
        }
        if printing.jsonOutput, outputPath == "-" {
            throw ValidationError(
                "--json-output prints to standard output, where --output - would write the body.")
        }
    }

    /// Where the body goes.
    enum Place {
        case standardOutput
        case file(String)
        /// A file in the current directory, with the name that the server suggests.
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

    /// Whether a file takes the body.
    var hasFile: Bool {
        if case .standardOutput = place { false } else { true }
    }

    /// The request but for its body.
    func request(_ method: String) throws -> Request {
        var request = Request(url, method: otherMethod ?? method)
        if let retries { request.maxRetries = retries }
        request.query = try param.map { try $0.pair() }
        try connection.addHeaders(to: &request)
        caching.apply(to: &request)
        // The timed cache has no Vary: every field counts. In the HTTP cache, `Vary` decides, but
        // cookies always say who asks.
        if caching.isTimed {
            request.cacheHeaders = request.headers.fields.map(\.name)
        } else if !connection.cookie.isEmpty || request.headers.contains("Cookie") {
            request.cacheHeaders = ["Cookie"]
        }
        return request
    }
}
