// Wherry: the commands that list, print, and delete stored responses.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import WherryAsync

struct CacheCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cache",
        abstract: "List, print, and delete the responses that --cache and --cache-policy stored.",
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

/// The option that selects one of the caches.
struct StoreOptions: ParsableArguments, Sendable {
    @Option(
        help: ArgumentHelp(
            "Only this cache: timed (used by --cache), or http (used by the policies that follow response headers).",
            valueName: "store"))
    var store: StoreArgument?

    var stores: CacheStores { store?.stores ?? .responses }
}

/// A selection of stored responses.
struct CacheChoice: ParsableArguments, Sendable {
    @Argument(
        help: """
            Select by URL, as requested or as listed, or by the key that 'wherry cache list' prints. \
            In the HTTP cache, a URL without a query selects all of its queries.
            """, transform: { try Address.completeUnlessKey($0) })
    var url: String?

    @Option(help: ArgumentHelp("Only responses to this method.", valueName: "method"))
    var method: String?

    @OptionGroup var store: StoreOptions

    /// The selected entries.
    func entries(of cache: ResponseCache) async throws(WherryError) -> [ResponseCache.Entry] {
        guard let key = EntryKey(url ?? "") else {
            return try await cache.entries(url, method: method, stores: store.stores)
        }
        return try await cache.entries(method: method, stores: store.stores).filter {
            EntryKey(of: $0) == key
        }
    }
}

/// A command about stored responses, which never uses the network.
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
        abstract:
            "List stored responses, one per line: key, method, URL, status, size, time left, cache.",
        discussion: "EXAMPLES\n  wherry cache list https://example.org/api --method GET")
    @OptionGroup var choice: CacheChoice
    @OptionGroup var storage: StorageOptions
    @OptionGroup(title: "OUTPUT") var output: OutputOptions

    func perform(_ cache: ResponseCache, _ console: Console) async throws {
        let entries = try await choice.entries(of: cache)
        for entry in entries.sorted(by: { ($0.url, $0.method) < ($1.url, $1.method) }) {
            if console.isJSON {
                try console.print(Self.report(entry))
            } else {
                let size = Units.bytes(entry.bodyBytes)
                let left = Units.time(entry.remaining)
                let store = StoreArgument(of: entry).rawValue
                try console.print(
                    "\(EntryKey(of: entry).text)  \(entry.method) \(entry.url.printable)  \(entry.status)  \(size)  \(left) left"
                        + "  \(store)")
            }
        }
        if entries.isEmpty { console.note("There are no stored responses.") }
    }

    private static func report(_ entry: ResponseCache.Entry) -> JSONObject {
        [
            "key": .string(EntryKey(of: entry).text),
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
        abstract: "Print the stored response of a URL, even a stale one of the HTTP cache.",
        discussion: "EXAMPLES\n  wherry cache show https://example.org/api --param page=2")
    @Argument(
        help: "The URL, as requested or as listed, or the key that 'wherry cache list' prints.",
        transform: { try Address.completeUnlessKey($0) })
    var url: String
    @Option(help: ArgumentHelp("The method of the request. (default: GET)", valueName: "method"))
    var method: String?
    @Option(
        help: ArgumentHelp(
            "A query parameter of the request; repeatable.",
            valueName: "name=value"))
    var param: [PairArgument] = []
    @Option(
        name: [.customShort("H"), .long],
        help: ArgumentHelp(
            "A header of the request; repeatable.", valueName: "field"))
    var header: [HeaderArgument] = []
    @Option(
        help: ArgumentHelp(
            "The bearer token of the request: the token, @FILE, or @- for standard input.",
            valueName: "token"))
    var bearer: String?
    @Flag(name: .shortAndLong, help: "Print the status and headers before the body.")
    var include = false
    @OptionGroup var store: StoreOptions
    @OptionGroup var storage: StorageOptions
    @OptionGroup(title: "OUTPUT") var output: OutputOptions

    func perform(_ cache: ResponseCache, _ console: Console) async throws {
        var request = Request(url, method: method ?? "GET")
        request.query = try param.map { try $0.pair() }
        try ConnectionOptions.add(header, to: &request)
        request.bearerToken = try ConnectionOptions.token(bearer)
        let (response, found) = try await find(request, in: cache)
        if console.isJSON {
            var result = Report.success(response)
            result["store"] = .string(found.rawValue)
            Report.add(response.body, of: response, to: &result)
            return try console.print(result)
        }
        let file = OutputFile()
        if include { try file.write(RequestRunner.head(of: response, on: .output)) }
        try file.write(response.body)
    }

    /// The response of the timed cache, or else that of the HTTP cache, even a stale one.
    private func find(
        _ request: Request, in cache: ResponseCache
    ) async throws(WherryError) -> (Response, StoreArgument) {
        if EntryKey(url) != nil { return try await listed(in: cache) }
        var timed = request
        timed.cacheHeaders = request.headers.fields.map(\.name)
        var http = request
        http.cachePolicy = .anyAgeOnly
        if request.headers.contains("Cookie") { http.cacheHeaders = ["Cookie"] }
        do throws(WherryError) {
            if store.store != .http { return (try await cache.response(to: timed), .timed) }
        } catch {
            guard error.code == .cacheMiss else { throw error }
            if store.store == .timed { return try await listed(in: cache, instead: error) }
        }
        do throws(WherryError) {
            return (try await cache.response(to: http), .http)
        } catch {
            guard error.code == .cacheMiss else { throw error }
            return try await listed(in: cache, instead: error)
        }
    }

    /// The newest listed response with this key or URL.
    ///
    /// - Parameter miss: Why the request has no response; thrown if none is listed either.
    private func listed(
        in cache: ResponseCache, instead miss: WherryError? = nil
    ) async throws(WherryError) -> (Response, StoreArgument) {
        var choice = CacheChoice()
        choice.url = url
        choice.method = EntryKey(url) == nil ? method ?? "GET" : method
        choice.store = store
        let asksAsOther = !param.isEmpty || !header.isEmpty || bearer != nil
        var entries = try await miss != nil && asksAsOther ? [] : choice.entries(of: cache)
        if EntryKey(url) == nil { entries.removeAll { $0.url != url } }
        guard let entry = entries.max(by: { $0.storedAt < $1.storedAt }) else {
            throw miss
                ?? WherryError(
                    .missing,
                    "No stored response has the key \(url). Run 'wherry cache list' for the keys.")
        }
        return (try await cache.response(of: entry), StoreArgument(of: entry))
    }
}

struct CacheClearCommand: StoredCommand {
    static let configuration = CommandConfiguration(
        commandName: "clear", abstract: "Delete stored responses: all of them, or those of a URL.",
        discussion: "EXAMPLES\n  wherry cache clear https://example.org/api")
    @OptionGroup var choice: CacheChoice
    @Flag(help: "Also delete the partial files of unfinished downloads.")
    var partials = false
    @OptionGroup var storage: StorageOptions
    @OptionGroup(title: "OUTPUT") var output: OutputOptions

    func perform(_ cache: ResponseCache, _ console: Console) async throws {
        let count = try await clear(cache)
        if console.isJSON {
            try console.print(["ok": true, "deleted": JSON(count)])
        } else {
            console.note(count == 1 ? "1 response deleted." : "\(count) responses deleted.")
        }
    }

    private func clear(_ cache: ResponseCache) async throws(WherryError) -> Int {
        guard EntryKey(choice.url ?? "") != nil else {
            return try await cache.clear(
                choice.url, method: choice.method,
                stores: partials ? choice.store.stores.union(.partials) : choice.store.stores)
        }
        var count = 0
        for entry in try await choice.entries(of: cache) where try await cache.remove(entry) {
            count += 1
        }
        return count
    }
}

struct CacheUsageCommand: StoredCommand {
    static let configuration = CommandConfiguration(
        commandName: "usage",
        abstract: "Print the size of both caches and of partial files of downloads.",
        discussion: "EXAMPLES\n  wherry cache usage")
    @OptionGroup var storage: StorageOptions
    @OptionGroup(title: "OUTPUT") var output: OutputOptions

    func perform(_ cache: ResponseCache, _ console: Console) async throws {
        let usage = try await cache.usage()
        if console.isJSON {
            try console.print([
                "ok": true, "entries": JSON(usage.entries), "bytes": JSON(usage.entryBytes),
                "partials": JSON(usage.partials), "partial_bytes": JSON(usage.partialBytes),
            ])
        } else {
            let answers = usage.entries == 1 ? "1 response" : "\(usage.entries) responses"
            var line = "\(answers), \(Units.bytes(usage.entryBytes))"
            if usage.partials > 0 {
                let partials =
                    usage.partials == 1 ? "1 partial file" : "\(usage.partials) partial files"
                line += "; \(partials), \(Units.bytes(usage.partialBytes))"
            }
            try console.print(line)
        }
    }
}
