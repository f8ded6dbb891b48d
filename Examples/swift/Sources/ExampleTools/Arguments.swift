// Wherry: the command lines of the examples
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A command line of names and `--option value` pairs.
public struct Arguments {
    private let usage: String
    private var names: [String] = []
    private var values: [String: [String]] = [:]

    /// Parses the command line; prints the usage and exits if it is invalid.
    ///
    /// - Parameters:
    ///   - count: the number of arguments without the options.
    ///   - options: the allowed options; each takes a value.
    public init(usage: String, count: Int, options: Set<String>) {
        self.usage = usage
        var rest = CommandLine.arguments.dropFirst()
        while let argument = rest.popFirst() {
            guard argument.hasPrefix("--") else {
                names.append(argument)
                continue
            }
            let option = String(argument.dropFirst(2))
            guard options.contains(option), let value = rest.popFirst() else { fail() }
            values[option, default: []].append(value)
        }
        if names.count != count { fail() }
    }

    public subscript(index: Int) -> String { names[index] }

    /// The last value of an option.
    public func text(_ option: String) -> String? { values[option]?.last }

    /// All values of a repeatable option.
    public func texts(_ option: String) -> [String] { values[option] ?? [] }

    /// The numeric value of an option; exits if it is not a number.
    public func number<Number: LosslessStringConvertible>(
        _ option: String, or standard: Number
    ) -> Number {
        guard let text = text(option) else { return standard }
        guard let number = Number(text) else { fail() }
        return number
    }

    /// Prints the usage and exits.
    public func fail() -> Never {
        note("usage: \(usage)\n")
        exit(2)
    }
}

/// Writes text to stderr unchanged.
public func note(_ text: String) {
    FileHandle.standardError.write(Data(text.utf8))
}
