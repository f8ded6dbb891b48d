// Wherry: the options for stored responses.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import WherryAsync

/// Where responses are stored.
struct StorageOptions: ParsableArguments, Sendable {
    static let help = ArgumentHelp(
        "Store responses in this directory, an absolute path. (default: $XDG_CACHE_HOME/wherry/wherry)",
        valueName: "directory")

    @Option(help: Self.help, completion: .directory)
    var cacheDirectory: String?

    func apply(to configuration: inout Client.Configuration) {
        Self.apply(cacheDirectory, to: &configuration)
    }

    static func apply(_ directory: String?, to configuration: inout Client.Configuration) {
        // Not the name of the program, which may change.
        configuration.storageName = "wherry"
        configuration.storageDirectory = directory
    }
}

/// How a request uses stored responses.
struct CacheOptions: ParsableArguments, Sendable {
    @Option(
        help: ArgumentHelp(
            "Use a stored response that is still fresh; otherwise send the request, and store the response for this long.",
            valueName: "seconds"))
    var cache: Seconds?

    @Option(
        help: ArgumentHelp(
            "How stored responses are used. (default: use with --cache, otherwise off)",
            discussion: """
                With the lifetime of --cache: use (the stored response if it is fresh), only (never \
                the network), refresh (always the network). With the lifetime from the response \
                headers, as HTTP defines it: protocol, reload (always the network), any-age (the \
                stored response even if it is stale), any-age-only (the same, never the network). \
                off neither uses nor stores responses.
                """, valueName: "policy"))
    var cachePolicy: PolicyArgument?

    @Option(
        help: ArgumentHelp(
            "If the server fails, use a stored response that has been stale for at most this time.",
            discussion:
                "Implies --cache-policy protocol, unless --cache or --cache-policy is given.",
            valueName: "seconds"))
    var staleIfError: Seconds?

    @Option(help: StorageOptions.help, completion: .directory)
    var cacheDirectory: String?

    /// The policy that follows from all options.
    private var policy: PolicyArgument {
        if let cachePolicy { return cachePolicy }
        if cache != nil { return .use }
        return staleIfError == nil ? .off : .protocol
    }

    /// Whether the request uses or stores responses.
    var isUsed: Bool { cache != nil || policy != .off }

    /// Whether the request may use the network.
    var usesNetwork: Bool { policy != .only && policy != .anyAgeOnly }

    /// Whether the request reads or writes the timed cache.
    var isTimed: Bool { isUsed && !policy.isHTTP }

    func validate() throws {
        guard staleIfError == nil || policy.isHTTP else {
            throw ValidationError(
                "--stale-if-error needs --cache-policy protocol, reload, any-age, or any-age-only.")
        }
    }

    /// Returns why responses cannot be stored; `nil` if they can.
    func storageProblem() -> WherryError? {
        var configuration = Client.Configuration()
        applyStorage(to: &configuration)
        configuration.usesHTTPCache = true
        do throws(WherryError) {
            try Client(configuration).close()
            return nil
        } catch {
            return error
        }
    }

    func applyStorage(to configuration: inout Client.Configuration) {
        StorageOptions.apply(cacheDirectory, to: &configuration)
    }

    func apply(to request: inout Request) {
        guard isUsed else { return }
        request.cachePolicy = policy.policy
        request.cacheDuration = cache?.duration ?? .zero
        request.staleIfError = staleIfError?.duration ?? .zero
    }
}

/// A cache policy on the command line.
enum PolicyArgument: String, ExpressibleByArgument, CaseIterable, Sendable {
    case off, use, only, refresh, `protocol`, reload
    case anyAge = "any-age"
    case anyAgeOnly = "any-age-only"

    /// Whether the HTTP cache implements it.
    var isHTTP: Bool { policy.rawValue >= CachePolicy.protocol.rawValue }

    var policy: CachePolicy {
        switch self {
        case .off: .off
        case .use: .use
        case .only: .only
        case .refresh: .refresh
        case .protocol: .protocol
        case .reload: .reload
        case .anyAge: .anyAge
        case .anyAgeOnly: .anyAgeOnly
        }
    }
}

/// One of the two caches, on the command line and in results.
enum StoreArgument: String, ExpressibleByArgument, CaseIterable, Sendable {
    case timed, http

    var stores: CacheStores { self == .timed ? .timed : .http }

    /// The cache that stores an entry.
    init(of entry: ResponseCache.Entry) { self = entry.store == .http ? .http : .timed }
}
