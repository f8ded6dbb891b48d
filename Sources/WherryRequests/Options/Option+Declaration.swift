// Wherry: names, places, and valid values of options.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherrySystem

extension Option {
    /// The places where an option can be set.
    @usableFromInline package struct Scope: OptionSet, Sendable {
        @usableFromInline package let rawValue: UInt8
        @inlinable package init(rawValue: UInt8) { self.rawValue = rawValue }
        /// In the configuration of a new client.
        package static let build = Scope(rawValue: 1)
        /// On an existing client, for requests that start afterwards.
        package static let live = Scope(rawValue: 2)
        /// On a request, overriding the client.
        package static let request = Scope(rawValue: 4)
    }

    /// What options.toml declares of an option.
    package struct Declaration: Sendable {
        /// The name in settings files and errors, as in Python. Swift uses it in camel case.
        package let name: String
        package let scope: Scope
        /// The default value. Times are in milliseconds, sizes in bytes, and switches 0 or 1.
        package let defaultValue: Int64
        /// The valid values.
        package let range: ClosedRange<Int64>
        /// The only valid values of the range; empty if all of them are valid.
        package let only: [Int64]
        /// Whether settings files may contain `true` and `false` for 1 and 0.
        package let acceptsBool: Bool

        init(
            _ name: String, _ scope: Scope, _ defaultValue: Int64, _ range: ClosedRange<Int64>,
            only: [Int64] = [], acceptsBool: Bool = false
        ) {
            self.name = name
            self.scope = scope
            self.defaultValue = defaultValue
            self.range = range
            self.only = only
            self.acceptsBool = acceptsBool
        }

        fileprivate func contains(_ value: Int64) -> Bool {
            range.contains(value) && (only.isEmpty || only.contains(value))
        }

        fileprivate var valuesText: String {
            if let last = only.last {
                return only.dropLast().map { "\($0), " }.joined() + "or \(last)"
            }
            if range.upperBound == .max { return "a value of \(range.lowerBound) or more" }
            return "a value from \(range.lowerBound) to \(range.upperBound)"
        }

        fileprivate var scopeText: String {
            if scope == .request { return "on a request" }
            if scope == .build { return "in a configuration" }
            return "in a configuration or on a client"
        }
    }

    package var scope: Scope { declaration.scope }
    package var defaultValue: Int64 { declaration.defaultValue }

    /// All options by name.
    package static let named = Dictionary(
        uniqueKeysWithValues: allCases.map { ($0.declaration.name, $0) })

    /// The options that a configuration accepts, by name.
    package static let settings = named.filter { $0.value.scope.contains(.build) }

    /// Whether the option is part of the request rate limit.
    package var isOfRequestRate: Bool {
        switch self {
        case .rateLimit, .hostRateLimit, .rateBurst, .rateInterval: true
        default: false
        }
    }

    /// Validates a value for the given place.
    package func check(_ value: Int64, in place: Scope) throws(WherryError) {
        let declaration = declaration
        guard declaration.scope.contains(place) else {
            throw WherryError(
                .badOption,
                "The option \(self) cannot be set here. Set it \(declaration.scopeText).")
        }
        if self == .bodyDigest || self == .partDigests, value == 2 {
            throw WherryError(
                .badValue,
                "The option \(self) does not support SHA-1. Use MD5, SHA-256, or SHA-512.")
        }
        guard declaration.contains(value) else {
            throw WherryError(
                .badValue, "The option \(self) takes \(declaration.valuesText), not \(value)")
        }
    }
}

extension Option: CustomStringConvertible {
    /// The name.
    package var description: String { declaration.name }
}
