// Wherry: looking at stored answers, and clearing them.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Wherry

struct CacheCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cache",
        abstract: "Look at the answers that --cache and --cache-policy stored, and clear them.",
        discussion: """
            EXAMPLES
              wherry cache list --store http
              wherry cache show https://example.org/api
              wherry cache clear https://example.org/api
              wherry cache usage
            """,
        subcommands: [
            CacheListCommand.self, CacheShowCommand.self, CacheClearCommand.self,
            CacheUsageCommand.self,
        ])
}

/// Which of the two caches is meant.
struct StoreOptions: ParsableArguments, Sendable {
    @Option(
        help: ArgumentHelp(
            "Of this cache only: timed, of --cache, or http, of the policies from protocol on.",
            valueName: "store"))
    var store: StoreArgument?

    var stores: CacheStores { store?.stores ?? .answers }
}

/// Which stored answers are meant.
struct CacheChoice: ParsableArguments, Sendable {
    @Argument(
        help: "Of this URL only, as it was asked for. In the HTTP cache without a query of all.")
    var url: String?

    @Option(help: ArgumentHelp("Of this method only.", valueName: "method"))
    var method: String?

    @OptionGroup var store: StoreOptions
}

/// A command that looks at what is stored and asks no network.
protocol StoredCommand: NetworkCommand {
    var storage: StorageOptions { get }
    func perform(_ cache: ResponseCache, _ console: Console) async throws
}

extension StoredCommand {
    mutating func perform(_ console: Console) async throws {
        var configuration = Client.Configuration()
        storage.apply(to: &configuration)
        configuration.userAgent = ConnectionOptions.userAgent
        let client = try Client(configuration)
        defer { client.close() }
        try await perform(client.cache, console)
    }
}

struct CacheListCommand: StoredCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Print what is stored, a line each; that of the HTTP cache with 0:00 left too.",
        discussion: "EXAMPLES\n  wherry cache list https://example.org/api --method GET")
    @OptionGroup var choice: CacheChoice
    @OptionGroup var storage: StorageOptions
    @OptionGroup(title: "OUTPUT") var output: OutputOptions

    func perform(_ cache: ResponseCache, _ console: Console) async throws {
        let entries = try await cache.entries(
            choice.url, method: choice.method, stores: choice.store.stores)
        for entry in entries.sorted(by: { ($0.url, $0.method) < ($1.url, $1.method) }) {
            if console.isJSON {
                try console.print(Self.report(entry))
            } else {
                let size = Units.bytes(entry.bodyBytes)
                let left = Units.time(entry.remaining)
                let store = StoreArgument(of: entry).rawValue
                try console.print(
                    "\(entry.method) \(entry.url.printable)  \(entry.status)  \(size)  \(left) left"
                        + "  \(store)")
            }
        }
        if entries.isEmpty { console.note("Nothing is stored.") }
    }

    private static func report(_ entry: ResponseCache.Entry) -> JSONObject {
        [
            "store": .string(StoreArgument(of: entry).rawValue),
            "method": .string(entry.method), "url": .string(entry.url),
            "status": JSON(entry.status), "bytes": JSON(entry.bodyBytes),
            "stored_at": .double(entry.storedAt), "seconds_left": Report.seconds(entry.remaining),
            "identifier": .string(entry.identifier),
        ]
    }
}

struct CacheShowCommand: StoredCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Print the stored answer of a URL; that of the HTTP cache however old.",
        discussion: "EXAMPLES\n  wherry cache show https://example.org/api --param page=2")
    @Argument(help: "As it was asked for.")
    var url: String
    @Option(help: ArgumentHelp("Of this method. (default: GET)", valueName: "method"))
    var method: String?
    @Option(
        help: ArgumentHelp(
            "A parameter of the query, as it was asked with; may be given again.",
            valueName: "name=value"))
    var param: [PairArgument] = []
    @Option(
        name: [.customShort("H"), .long],
        help: ArgumentHelp(
            "A header field, as it was asked with; may be given again.", valueName: "field"))
    var header: [HeaderArgument] = []
    @Option(
        help: ArgumentHelp(
            "The token it was asked with: itself, @FILE, or @- for standard input.",
            valueName: "token"))
    var bearer: String?
    @Flag(name: .shortAndLong, help: "Print status and header fields before the body.")
    var include = false
    @OptionGroup var store: StoreOptions
    @OptionGroup var storage: StorageOptions
    @OptionGroup(title: "OUTPUT") var output: OutputOptions

    func perform(_ cache: ResponseCache, _ console: Console) async throws {
        var request = Request(url, method: method ?? "GET")
        request.query = try param.map { try $0.pair() }
        try ConnectionOptions.add(header, to: &request)
        request.cacheHeaders = request.headers.fields.map(\.name)
        request.bearerToken = try ConnectionOptions.token(bearer)
        let (response, found) = try await find(request, in: cache)
        if console.isJSON {
            var result = Report.success(response)
            result["store"] = .string(found.rawValue)
            Report.add(response.body, of: response, to: &result)
            return try console.print(result)
        }
        let file = OutputFile()
        if include { try file.write(Exchange.head(of: response)) }
        try file.write(response.body)
    }

    /// The answer of the timed cache, else that of the HTTP cache, however old.
    private func find(
        _ request: Request, in cache: ResponseCache
    ) async throws(WherryError) -> (Response, StoreArgument) {
        var request = request
        do {
            if store.store != .http { return (try await cache.response(to: request), .timed) }
        } catch {
            guard error.code == .cacheMiss, store.store == nil else { throw error }
        }
        request.cachePolicy = .anyAgeOnly
        return (try await cache.response(to: request), .http)
    }
}

struct CacheClearCommand: StoredCommand {
    static let configuration = CommandConfiguration(
        commandName: "clear", abstract: "Delete what is stored: all, or that of a URL.",
        discussion: "EXAMPLES\n  wherry cache clear https://example.org/api")
    @OptionGroup var choice: CacheChoice
    @OptionGroup var storage: StorageOptions
    @OptionGroup(title: "OUTPUT") var output: OutputOptions

    func perform(_ cache: ResponseCache, _ console: Console) async throws {
        let count = try await cache.clear(
            choice.url, method: choice.method, stores: choice.store.stores)
        if console.isJSON {
            try console.print(["ok": true, "deleted": JSON(count)])
        } else {
            console.note(count == 1 ? "1 answer deleted." : "\(count) answers deleted.")
        }
    }
}

struct CacheUsageCommand: StoredCommand {
    static let configuration = CommandConfiguration(
        commandName: "usage", abstract: "Print how much is stored, in both caches together.",
        discussion: "EXAMPLES\n  wherry cache usage")
    @OptionGroup var storage: StorageOptions
    @OptionGroup(title: "OUTPUT") var output: OutputOptions

    func perform(_ cache: ResponseCache, _ console: Console) async throws {
        let usage = try await cache.usage()
        if console.isJSON {
            try console.print(
                ["ok": true, "entries": JSON(usage.entries), "bytes": JSON(usage.entryBytes)])
        } else {
            let answers = usage.entries == 1 ? "1 answer" : "\(usage.entries) answers"
            try console.print("\(answers), \(usage.text)")
        }
    }
}
