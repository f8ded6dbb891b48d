// Wherry: the values of all options with numbers.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem
import WherryTransport

/// The values of all numeric options. Copies share memory until one is changed.
package struct OptionTable: Sendable, Hashable {
    private var values: [Int64]
    /// Whether the caller has set a stall timeout, even to the default.
    package private(set) var hasStallTimeout = false

    private static let defaults: [Int64] = {
        let count = 1 + Int(Option.allCases.map(\.rawValue).max() ?? 0)
        var values = [Int64](repeating: 0, count: count)
        for option in Option.allCases { values[Int(option.rawValue)] = option.defaultValue }
        return values
    }()

    /// Creates a table with default values.
    package init() {
        values = Self.defaults
    }

    package subscript(option: Option) -> Int64 {
        get { values[Int(option.rawValue)] }
        set {
            values[Int(option.rawValue)] = newValue
            if option == .stallTimeout { hasStallTimeout = true }
        }
    }

    /// Returns the case of an enumeration with the value of an option; that of the default value if
    /// there is none.
    package func choice<Choice: RawRepresentable<Int64>>(_ option: Option) -> Choice {
        if let choice = Choice(rawValue: self[option]) { return choice }
        guard let choice = Choice(rawValue: option.defaultValue) else {
            preconditionFailure("\(Choice.self) has no case for the default of \(option)")
        }
        return choice
    }

    /// Returns a copy in which the request's values replace the client's.
    package func overridden(by values: [OptionValue]) -> OptionTable {
        guard !values.isEmpty else { return self }
        var table = self
        for value in values { table[value.option] = value.value }
        return table
    }
}

extension OptionTable {
    /// The request rate limit.
    package var requestRate: RequestRate {
        var rate = RequestRate()
        rate.total = self[.rateLimit]
        rate.perHost = self[.hostRateLimit]
        rate.burst = self[.rateBurst]
        rate.span = .milliseconds(self[.rateInterval])
        return rate
    }
}

/// The value of an option on a request.
package struct OptionValue: Sendable, Hashable {
    package var option: Option
    package var value: Int64
}
