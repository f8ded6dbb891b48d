// Wherry: the options that each command has.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import WherryAsync

/// The options of all commands, as the argument parser describes them. Created only if the arguments
/// could not be parsed as they are.
struct OptionTable {
    /// The options of one command: `true` for an option that takes a value.
    struct Command {
        let name: String
        var takesValue: [String: Bool] = [:]
    }

    private(set) var commands: [Command] = []

    init() {
        guard let told = try? JSON.parse(Array(WherryCommand._dumpHelp().utf8)),
            let root = told.object(at: "command")
        else { return }
        add(root, path: [])
    }

    private mutating func add(_ command: JSONObject, path: [String]) {
        let json = JSON.object(command)
        var found = Command(name: path.joined(separator: " "))
        for argument in json.array(at: "arguments") ?? [] {
            let takesValue = argument.text(at: "kind") == "option"
            for name in argument.array(at: "names") ?? [] {
                let dashes = name.text(at: "kind") == "long" ? "--" : "-"
                found.takesValue[dashes + (name.text(at: "name") ?? "")] = takesValue
            }
        }
        found.takesValue["--help"] = false
        found.takesValue["--version"] = false
        commands.append(found)
        for inner in json.array(at: "subcommands") ?? [] {
            guard case .object(let object) = inner, let name = inner.text(at: "commandName"),
                name != "help"
            else { continue }
            add(object, path: path + [name])
        }
    }

    /// The command that the arguments begin with, and how many words its name has.
    func command(in arguments: [String]) -> (command: Command, words: Int)? {
        for count in [2, 1] where arguments.count >= count {
            let name = arguments[..<count].joined(separator: " ")
            if let found = commands.first(where: { $0.name == name }) { return (found, count) }
        }
        return nil
    }

    /// Names of the commands that have an option.
    func commands(with option: String) -> [String] {
        commands.filter { $0.takesValue[option] != nil && !$0.name.isEmpty }.map(\.name)
    }
}
