// Wherry: advice for a command line without a known command.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import WherrySystem

/// The command that was probably meant by arguments in the style of curl: `wherry -sSL example.org`.
struct CommandHint {
    let text: String

    /// `nil` if no argument is a command or looks like a URL.
    init?(_ arguments: [String], _ table: OptionTable) {
        let get = table.commands.first { $0.name == "get" }
        var words: [String] = []
        var command = "get"
        var isValue = false
        for argument in arguments {
            if isValue {
                isValue = false
            } else if argument.hasPrefix("-"), argument != "-" {
                let name = String(argument.prefix { $0 != "=" })
                command = Self.command(for: name) ?? command
                isValue = !argument.contains("=") && Self.takesValue(name, get)
            } else {
                words.append(argument)
            }
        }
        guard let first = words.first else { return nil }
        let isCommand = table.commands.contains { $0.name == first }
        if isCommand, arguments.first != first {
            text = "The command comes before its options: wherry \(first) ..."
        } else if let url = words.first(where: { $0.contains("://") || Address.isLikely($0) }) {
            text = "A command comes first: wherry \(command) \(url)"
        } else {
            return nil
        }
    }

    /// Checks the words that should name a command.
    ///
    /// - Throws: `ValidationError` for an unknown command. Words that may be URLs are not checked.
    static func checkCommand(of arguments: [String], _ table: OptionTable) throws(ValidationError) {
        let names = table.commands.map(\.name).filter { !$0.isEmpty }
        let words = arguments.first == "help" ? arguments.dropFirst() : arguments[...]
        guard let first = words.first, !first.hasPrefix("-"), !first.isEmpty else { return }
        guard names.contains(first) else {
            guard !first.contains("/"), !Address.isLikely(first) else { return }
            throw unknown(first, in: "wherry", among: names.filter { !$0.contains(" ") })
        }
        let inner = names.filter { $0.hasPrefix(first + " ") }.map {
            String($0.dropFirst(first.count + 1))
        }
        guard !inner.isEmpty, let second = words.dropFirst().first, !second.hasPrefix("-"),
            !inner.contains(second)
        else { return }
        throw unknown(second, in: "wherry \(first)", among: inner)
    }

    private static func unknown(
        _ word: String, in command: String, among names: [String]
    ) -> ValidationError {
        let typed = word.lowercased()
        let longer = names.filter { $0.hasPrefix(typed) }
        let near =
            longer.count == 1
            ? longer.first
            : Spelling.nearest(to: typed, among: names, limit: typed.count > 4 ? 2 : 1)
        return ValidationError(
            "\(command) has no command \(word). "
                + (near.map { "Did you mean '\(command) \($0)'?" } ?? "See '\(command) --help'."))
    }

    /// The command that is equivalent to an option of curl.
    private static func command(for option: String) -> String? {
        switch option {
        case "-I", "--head": "head"
        case "-T", "--upload-file": "put"
        case "-F", "--form": "upload"
        case "-d", "--json": "post"
        case _ where option.hasPrefix("--data"): "post"
        default: nil
        }
    }

    private static func takesValue(_ name: String, _ get: OptionTable.Command?) -> Bool {
        // In combined short options, a value may follow the last letter.
        let name = name.hasPrefix("--") ? name : "-" + name.suffix(1)
        if let known = get?.takesValue[name] { return known }
        if command(for: name) != nil { return !["-I", "--head"].contains(name) }
        for case .option(_, _) in CurlOption.meanings(of: name, for: "get") { return true }
        return ["-w", "--write-out", "-C", "--continue-at", "-D", "--dump-header"].contains(name)
    }
}
