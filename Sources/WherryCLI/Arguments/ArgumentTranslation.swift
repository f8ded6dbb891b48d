// Wherry: translation of curl's options, and messages about unknown ones.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// Rewrites arguments that the parser rejected: combined short options (`-sSf`, `-ofile`), and options of
/// curl that have another name here.
struct ArgumentTranslation {
    private let table: OptionTable
    private let command: OptionTable.Command
    private var rest: ArraySlice<String>
    private var result: [String]
    /// The index in `result` of each header that an option of curl sets, by the start of its word.
    private var headers: [String: Int] = [:]

    /// The arguments in the spelling of the parser.
    ///
    /// - Throws: `ValidationError` for an unknown option.
    static func translate(_ arguments: [String]) throws -> [String] {
        let table = OptionTable()
        try CommandHint.checkCommand(of: arguments, table)
        guard let (command, words) = table.command(in: arguments) else {
            if let hint = CommandHint(arguments, table) { throw ValidationError(hint.text) }
            return arguments
        }
        var translation = ArgumentTranslation(
            table: table, command: command, rest: arguments[words...],
            result: Array(arguments[..<words]))
        try translation.run()
        return translation.result
    }

    private mutating func run() throws {
        while let word = rest.popFirst() {
            if word == "--" {
                result += [word] + rest
                return
            }
            if word.hasPrefix("--") {
                try long(word)
            } else if word.hasPrefix("-"), word != "-" {
                try cluster(word)
            } else {
                result.append(word)
            }
        }
    }

    private mutating func long(_ word: String) throws {
        let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let name = String(parts[0])
        let value = parts.count > 1 ? String(parts[1]) : nil
        if let takesValue = command.takesValue[name] {
            result.append(word)
            if takesValue, value == nil, let next = rest.popFirst() { result.append(next) }
            return
        }
        try curl(name, value, in: word)
    }

    /// Splits combined short options. The value of an option is the rest of the word, or the next word.
    private mutating func cluster(_ word: String) throws {
        var letters = word.dropFirst()
        while let letter = letters.popFirst() {
            let name = "-\(letter)"
            // Only -h alone means help. Among other letters it is a typing error.
            guard name != "-h" else { throw unknown(name, in: word) }
            if let takesValue = command.takesValue[name] {
                result.append(name)
                guard takesValue else { continue }
                if !letters.isEmpty {
                    result.append(String(letters))
                } else if let next = rest.popFirst() {
                    result.append(next)
                }
                return
            }
            let value = letters.isEmpty ? nil : String(letters)
            if try curl(name, value, in: word) { return }
        }
    }

    /// - Returns: Whether the value was used.
    @discardableResult
    private mutating func curl(_ name: String, _ value: String?, in word: String) throws -> Bool {
        // Downloads always resume.
        if ["-C", "--continue-at"].contains(name), command.name == "download" {
            guard (value ?? rest.popFirst()) == "-" else {
                throw ValidationError(
                    "A download resumes where it stopped. Use -C -, or leave -C out.")
            }
            return true
        }
        for meaning in CurlOption.meanings(of: name, for: command.name) {
            switch meaning {
            case .ignored(let takesValue):
                if takesValue, value == nil { _ = rest.popFirst() }
                return takesValue
            case .flag(let ours):
                guard command.takesValue[ours] == false else { continue }
                result.append(ours)
                return false
            case .option(let ours, let prefix):
                guard command.takesValue[ours] == true else { continue }
                guard let value = value ?? rest.popFirst() else {
                    throw ValidationError("A value is missing after \(name).")
                }
                // As one word: the parser would take a second word with a dash for another option.
                let start = ours + "=" + prefix
                if !prefix.isEmpty, let earlier = headers[start] {
                    // As in curl, the last value of a repeated option counts.
                    result[earlier] = start + value
                } else {
                    headers[start] = result.count
                    result.append(start + value)
                }
                return true
            case .advice(let words):
                throw ValidationError(
                    "wherry \(command.name) has no \(name). \(words)" + fileHint(name, word))
            }
        }
        throw unknown(name, in: word)
    }

    private func unknown(_ name: String, in word: String) -> ValidationError {
        var text = "wherry \(command.name) has no option \(name)"
        if name != word, !word.hasPrefix("--") { text += " (in \(word))" }
        text += "."
        let others = table.commands(with: name)
        if let near = nearest(name) {
            text += " Did you mean \(near)?"
        } else if name.hasPrefix("--"), !others.isEmpty {
            text += " It is an option of \(others.joined(separator: ", "))."
        } else if !fileHint(name, word).isEmpty {
            text += fileHint(name, word)
        } else {
            text += " See 'wherry \(command.name) --help'."
        }
        return ValidationError(text)
    }

    /// A hint for a file whose name begins with a dash.
    private func fileHint(_ name: String, _ word: String) -> String {
        name == word || word.hasPrefix("--") ? "" : " For a file of that name, write ./\(word)."
    }

    /// Returns the option that is most similar to an unknown one.
    private func nearest(_ name: String) -> String? {
        guard name.hasPrefix("--"), (5...40).contains(name.utf8.count) else { return nil }
        let known = command.takesValue.keys.filter { $0.hasPrefix("--") }.sorted()
        if let longer = known.first(where: {
            $0.hasPrefix(name) || name.hasPrefix($0) && $0.count > 5
        }) {
            return longer
        }
        return Spelling.nearest(to: name, among: known, limit: name.count > 8 ? 2 : 1)
    }
}
