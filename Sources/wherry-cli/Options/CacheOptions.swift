// Wherry: the options about stored answers.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Wherry

/// Where answers are stored.
struct StorageOptions: ParsableArguments, Sendable {
    @Option(
        help: ArgumentHelp(
            "An absolute path to store answers in. (default: $XDG_CACHE_HOME/wherry/wherry)",
            valueName: "directory"),
        completion: .directory)
    var cacheDirectory: String?

    /// Why responses cannot be stored; `nil` if they can.
    func problem() -> WherryError? {
        var configuration = Client.Configuration()
        apply(to: &configuration)
        configuration.usesHTTPCache = true
        do throws(WherryError) {
            try Client(configuration).close()
            return nil
        } catch {
            return error
        }
    }

    func apply(to configuration: inout Client.Configuration) {
        // Not the program's name, which may be another one tomorrow.
        configuration.storageName = "wherry"
        configuration.storageDirectory = cacheDirectory
    }
}

/// How a request uses stored answers.
struct CacheOptions: ParsableArguments, Sendable {
    @Option(
        help: ArgumentHelp(
            "Take a stored answer that is still good, else ask and store for so long.",
            valueName: "seconds"))
    var cache: Seconds?

    @Option(
        help: ArgumentHelp(
            "use with --cache, else off, unless one is given.",
            discussion: """
                use takes what is stored, else asks; only never asks; refresh asks, and stores; \
                off does neither. Of the HTTP cache, where the header of an answer says how long it \
                is good: protocol does as HTTP says; reload asks, and stores; any-age takes what is \
                stored however old, else asks; any-age-only never asks.
                """, valueName: "policy"))
    var cachePolicy: PolicyArgument?

    @Option(
        help: ArgumentHelp(
            "Where the server fails, take what the HTTP cache has if it ended no longer ago.",
            discussion: "It means --cache-policy protocol unless another one is given.",
            valueName: "seconds"))
    var staleIfError: Seconds?

    @OptionGroup var storage: StorageOptions

    /// What the options come to.
    private var policy: PolicyArgument {
        if let cachePolicy { return cachePolicy }
        if cache != nil { return .use }
        return staleIfError == nil ? .off : .protocol
    }

    /// Whether the request has anything to do with what is stored.
    var isUsed: Bool { cache != nil || policy != .off }

    /// Whether the request may ask the network.
    var usesNetwork: Bool { policy != .only && policy != .anyAgeOnly }

    /// Whether the request reads or writes the timed cache.
    var isTimed: Bool { isUsed && !policy.isHTTP }

    func validate() throws {
        guard staleIfError == nil || policy.isHTTP else {
            throw ValidationError("--stale-if-error is for --cache-policy protocol and its like")
        }
    }

    func apply(to request: inout Request) {
        guard isUsed else { return }
        request.cachePolicy = policy.policy
        request.cacheDuration = cache?.duration ?? .zero
        request.staleIfError = staleIfError?.duration ?? .zero
    }
}

/// A policy as it stands on a command line.
enum PolicyArgument: String, ExpressibleByArgument, CaseIterable, Sendable {
    case off, use, only, refresh, `protocol`, reload
    case anyAge = "any-age"
    case anyAgeOnly = "any-age-only"

    /// Whether it is one of the HTTP cache.
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

/// One of the two caches, as it stands on a command line and in results.
enum StoreArgument: String, ExpressibleByArgument, CaseIterable, Sendable {
    case timed, http

    var stores: CacheStores { self == .timed ? .timed : .http }

    /// The cache that has an entry.
    init(of entry: ResponseCache.Entry) { self = entry.store == .http ? .http : .timed }
}
