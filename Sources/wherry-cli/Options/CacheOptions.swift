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
                off does neither.
                """, valueName: "policy"))
    var cachePolicy: PolicyArgument?

    @OptionGroup var storage: StorageOptions

    /// Whether the request has anything to do with what is stored.
    var isUsed: Bool { cache != nil || (cachePolicy ?? .off) != .off }

    func apply(to request: inout Request) {
        guard isUsed else { return }
        request.cachePolicy = (cachePolicy ?? .use).policy
        request.cacheDuration = cache?.duration ?? .zero
    }
}

/// A policy as it stands on a command line.
enum PolicyArgument: String, ExpressibleByArgument, CaseIterable, Sendable {
    case off, use, only, refresh

    var policy: CachePolicy {
        switch self {
        case .off: .off
        case .use: .use
        case .only: .only
        case .refresh: .refresh
        }
    }
}
