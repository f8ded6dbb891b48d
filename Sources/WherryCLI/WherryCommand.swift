// Wherry: the command `wherry` and its subcommands.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Dispatch
import Glibc
import WherryAsync
import WherrySystem

struct WherryCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "wherry",
        abstract:
            "Send requests, upload compressed images, and download files that resume after interruptions.",
        discussion: """
            EXAMPLES
              wherry get https://example.org/api --param page=2
              wherry post https://example.org/notes --json '{"text": "hello"}'
              wherry upload https://example.org/photos *.jpg --quality 0.5
              wherry download https://example.org/debian.iso --sha256 HEX

            \(ExitStatus.help)

            Ctrl-C ends a command at once. A download keeps its partial file, and the same command
            resumes it.
            """,
        version: WherryLibrary.version,
        subcommands: [
            GetCommand.self, HeadCommand.self, PostCommand.self, PutCommand.self,
            PatchCommand.self, DeleteCommand.self, UploadCommand.self, ImageCommand.self,
            DuplicatesCommand.self, DownloadCommand.self, JobsCommand.self, CacheCommand.self,
            ReachCommand.self, BulkCommand.self,
        ],
        // Not -h: the parser would see it in "-dash.jpg" too, and print help instead of an error.
        helpNames: .long)
}

/// A subcommand that uses the network and can be interrupted.
protocol NetworkCommand: ParsableCommand, Sendable {
    /// How it prints results, progress, and errors.
    var output: OutputOptions { get }
    /// - Throws: `WherryError`, `OutputError`, or `ValidationError`.
    mutating func perform(_ console: Console) async throws
}

extension WherryCommand {
    /// Parses the arguments, runs the command, and exits with its status.
    static func launch(_ arguments: [String]) -> Never {
        do {
            let command = try parse(withCurlOptions: arguments)
            if let command = command as? any NetworkCommand { run(command) }
            var plain = command
            try plain.run()
            Glibc.exit(ExitStatus.success.rawValue)
        } catch {
            leave(error)
        }
    }

    /// Parses the arguments. If that fails, parses them again as curl would.
    private static func parse(withCurlOptions arguments: [String]) throws -> ParsableCommand {
        let end = arguments.firstIndex(of: "--") ?? arguments.endIndex
        let arguments = arguments[..<end].map { $0 == "-h" ? "--help" : $0 } + arguments[end...]
        do {
            // The parser prints the help of wherry for a command that does not exist.
            if arguments.first == "help" {
                try CommandHint.checkCommand(of: arguments, OptionTable())
            }
            return try parseAlone(arguments) ?? parseAsRoot(arguments)
        } catch {
            if exitCode(for: error) == .success { throw error }
            let translated = try ArgumentTranslation.translate(arguments)
            if translated == arguments { throw error }
            return try parseAsRoot(translated)
        }
    }

    /// Parses the arguments of the subcommand that the first argument names. If the parser started at
    /// the root, it would read the definitions of the subcommand four times instead of twice.
    ///
    /// - Returns: `nil` if the root must parse the arguments: for help and errors, which contain the
    ///   names of all commands, and for subcommands with subcommands.
    private static func parseAlone(_ arguments: [String]) -> ParsableCommand? {
        guard let name = arguments.first,
            let command = configuration.subcommands.first(where: { $0._commandName == name }),
            command.configuration.subcommands.isEmpty,
            let parsed = try? command.parseAsRoot(Array(arguments.dropFirst())),
            type(of: parsed) == command
        else { return nil }
        return parsed
    }

    private static func run(_ command: some NetworkCommand) -> Never {
        let console = Console(command.output)
        let finished = DispatchSemaphore(value: 0)
        let status = Mailbox<Int32>()
        let work = Task.detached {
            var command = command
            do {
                try await command.perform(console)
                status.put(ExitStatus.success.rawValue)
            } catch {
                status.put(console.complain(error))
            }
            finished.signal()
        }
        Interrupts.watch { work.cancel() }
        finished.wait()
        Glibc.exit(status.take() ?? ExitStatus.other.rawValue)
    }

    /// Prints help or the version, or a usage error, and exits.
    private static func leave(_ error: any Error) -> Never {
        let isAnswer = exitCode(for: error) == .success
        var text = fullMessage(for: error)
        let message = message(for: error)
        // The message repeats an argument, which may have megabytes.
        let console = Console(
            isJSON: GivenArguments.wantsJSON, hasJSONLines: GivenArguments.wantsJSONLines)
        if isAnswer {
            do throws(OutputError) {
                if !text.isEmpty { try console.print(text) }
            } catch {
                Glibc.exit(console.complain(error))
            }
            Glibc.exit(ExitStatus.success.rawValue)
        }
        let short = MessageText.shortened(message)
        if GivenArguments.wantsJSON || GivenArguments.wantsJSONLines {
            Glibc.exit(console.complain(ValidationError(short)))
        }
        if !message.isEmpty, let range = text.firstRange(of: message) {
            text.replaceSubrange(range, with: short)
        }
        if !text.isEmpty { FileBytes.writeLine(text.printableLines, to: STDERR_FILENO) }
        Glibc.exit(ExitStatus.usage.rawValue)
    }
}
