// Wherry: the command lines of the examples
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A command line of names and `--option value` pairs.
public struct Arguments {
    private let usage: String
    private var names: [String] = []
    private var values: [String: [String]] = [:]

    /// Reads the program's own; ends it with the usage where that is not kept to.
    ///
    /// - Parameters:
    ///   - count: how many arguments there are beside the options.
    ///   - options: those that may be given, each with a value.
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

    /// Every value of an option that may be given several times.
    public func texts(_ option: String) -> [String] { values[option] ?? [] }

    /// The number that an option has; ends the program where it has another text.
    public func number<Number: LosslessStringConvertible>(
        _ option: String, or standard: Number
    ) -> Number {
        guard let text = text(option) else { return standard }
        guard let number = Number(text) else { fail() }
        return number
    }

    /// Shows how it is called, and ends the program.
    public func fail() -> Never {
        note("usage: \(usage)\n")
        exit(2)
    }
}

/// Writes to standard error, as it stands.
public func note(_ text: String) {
    FileHandle.standardError.write(Data(text.utf8))
}
