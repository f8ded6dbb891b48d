// Wherry: the options of requests: URL, query and where the answer goes.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Wherry

struct RequestOptions: ParsableArguments, Sendable {
    @Argument(help: "Where to, with http:// or https://.")
    var url: String

    @Option(
        help: ArgumentHelp(
            "A parameter of the query; may be given again. name@FILE and name@- read the value.",
            valueName: "name=value"))
    var param: [PairArgument] = []

    @Flag(name: .shortAndLong, help: "Print status and header fields before the body.")
    var include = false

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp(
            "The file that takes the body, once all of it is there.", valueName: "file"),
        completion: .file())
    var output: String?

    @Flag(
        inversion: .prefixedNo,
        help: "Lay out JSON for reading. (default: on a terminal)")
    var pretty: Bool?

    @OptionGroup(title: "CACHE") var caching: CacheOptions
    @OptionGroup(title: "CONNECTION") var connection: ConnectionOptions
    @OptionGroup(title: "OUTPUT") var printing: OutputOptions

    /// The request but for its body.
    func request(_ method: String) throws -> Request {
        var request = Request(url, method: method)
        request.query = try param.map { try $0.pair() }
        try connection.addHeaders(to: &request)
        caching.apply(to: &request)
        // The timed cache has no Vary: every field counts. In the HTTP cache, `Vary` decides, but
        // cookies always say who asks.
        if caching.isTimed {
            request.cacheHeaders = request.headers.fields.map(\.name)
        } else if !connection.cookie.isEmpty {
            request.cacheHeaders = ["Cookie"]
        }
        return request
    }
}
