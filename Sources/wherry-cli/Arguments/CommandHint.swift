// Wherry: advice for a command line that does not start with a command.
// SPDX-License-Identifier: Apache-2.0

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
