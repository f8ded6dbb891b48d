// Wherry: the command `wherry` and its subcommands.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Dispatch
import Glibc
import Wherry

struct WherryCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "wherry",
        abstract:
            "Send requests, upload pictures and download files that go on where they stopped.",
        discussion: """
            EXAMPLES
              wherry get https://example.org/api --param page=2
              wherry post https://example.org/notes --json '{"text": "hello"}'
              wherry upload https://example.org/photos *.jpg --quality 0.5
              wherry download https://example.org/debian.iso --sha256 HEX

            \(ExitStatus.help)

            Ctrl-C ends a command at once; a download keeps what it has, and the same command
            goes on from there.
            """,
        version: WherryLibrary.version,
        subcommands: [
            GetCommand.self, HeadCommand.self, PostCommand.self, PutCommand.self,
            PatchCommand.self, DeleteCommand.self, UploadCommand.self, ImageCommand.self,
            DownloadCommand.self, JobsCommand.self, CacheCommand.self, ReachCommand.self,
        ])
}

/// A subcommand that does its work on the network and can be interrupted.
protocol NetworkCommand: ParsableCommand, Sendable {
    /// Where its results, its progress and its complaints go.
    var output: OutputOptions { get }
    /// - Throws: `WherryError`, `OutputError` or a `ValidationError` about the arguments.
    mutating func perform(_ console: Console) async throws
}

extension WherryCommand {
    /// Parses the arguments, runs the command, and leaves with its exit status.
    static func launch() -> Never {
        do {
            let command = try parseAsRoot()
            if let command = command as? any NetworkCommand { run(command) }
            var plain = command
            try plain.run()
            Glibc.exit(ExitStatus.success.rawValue)
        } catch {
            leave(error)
        }
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

    /// Help and versions are answers, anything else is a fault of usage.
    private static func leave(_ error: any Error) -> Never {
        let text = fullMessage(for: error)
        let isAnswer = exitCode(for: error) == .success
        if !text.isEmpty { FileBytes.writeLine(text, to: isAnswer ? STDOUT_FILENO : STDERR_FILENO) }
        Glibc.exit(isAnswer ? ExitStatus.success.rawValue : ExitStatus.usage.rawValue)
    }
}
