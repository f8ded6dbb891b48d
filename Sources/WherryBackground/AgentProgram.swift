// Wherry: the program wherry-agent.
// SPDX-License-Identifier: Apache-2.0

import WherryCore
import WherryHTTP
import WherrySystem

/// The program `wherry-agent`. The first process starts a detached second one and exits. The agent
/// is therefore no child process, and no program has to wait for its exit.
///
///     wherry-agent [--no-autostart] [--idle-ms N] [--serve] DIRECTORY
///
/// If descriptor 3 is open, the agent writes one line to it: "R" when it accepts clients, "B" if
/// another agent is running, or "E" and the error.
package enum AgentProgram {
    /// The descriptor that receives the status line.
    private static let readyDescriptor: Int32 = 3
    /// How long to wait for a caller that briefly holds the lock: 2 s.
    private static let lockTime = Int64.milliseconds(2_000)

    private struct Arguments {
        var directory = ""
        var autostart = true
        var serves = false
        /// The idle time after which the agent exits, in milliseconds.
        var idle: Int64 = 5_000

        /// Parses the arguments. Returns `nil` if they are not valid.
        init?(_ arguments: [String]) {
            var rest = arguments[...]
            while let word = rest.popFirst() {
                switch word {
                case "--no-autostart": autostart = false
                case "--serve": serves = true
                case "--idle-ms":
                    guard let value = rest.popFirst().flatMap({ Int64($0) }), value >= 0 else {
                        return nil
                    }
                    idle = value
                default:
                    guard directory.isEmpty, word.utf8.first == 0x2F else { return nil }
                    directory = word
                }
            }
            if directory.isEmpty { return nil }
        }
    }

    /// Runs the program.
    ///
    /// - Parameter arguments: The arguments without the program name.
    /// - Returns: The exit status.
    package static func run(_ arguments: [String]) -> Int32 {
        guard let parsed = Arguments(arguments) else {
            StandardError.write(
                "usage: wherry-agent [--no-autostart] [--idle-ms N] [--serve] DIRECTORY\n"
                    + "Wherry starts this program for background jobs. DIRECTORY is the absolute path of a session.\n"
            )
            return 2
        }
        var ready =
            DetachedProgram.isOpen(readyDescriptor)
            ? File(adopting: readyDescriptor, path: "the starter") : nil
        do throws(WherryError) {
            if parsed.serves {
                try serve(parsed, &ready)
            } else {
                try detach(arguments, ready)
            }
            return 0
        } catch {
            guard let ready else {
                StandardError.write("wherry-agent: \(error.message)\n")
                return 1
            }
            let text = (try? JSON.object(JobFailure(error).json).printed()) ?? []
            DetachedProgram.write([0x45] + text + [0x0A], to: ready)
            return 1
        }
    }

    private static func detach(_ arguments: [String], _ ready: File?) throws(WherryError) {
        do {
            try DetachedProgram.start(
                "/proc/self/exe", ["--serve"] + arguments, environment: Environment.all,
                ready: ready, waits: false)
        } catch {
            throw WherryError(error)
        }
    }

    private static func serve(_ arguments: Arguments, _ ready: inout File?) throws(WherryError) {
        DetachedProgram.setUmask(0o077)
        let signals: File
        do {
            signals = try DetachedProgram.endSignals()
        } catch {
            throw WherryError(error)
        }
        let folder = try StateFolder.open(arguments.directory)
        guard let lock = try folder.lock(within: lockTime, unless: { folder.hasListener }) else {
            if let ready { DetachedProgram.write([0x42, 0x0A], to: ready) }
            return
        }
        let agent = try Agent(
            folder, lock: lock, idle: .milliseconds(arguments.idle), autostart: arguments.autostart,
            clock: SystemClock.shared, signals: signals, takesErrors: true)
        try agent.run {
            if let told = ready { DetachedProgram.write([0x52, 0x0A], to: told) }
            ready = nil
        }
    }
}

extension StateFolder {
    /// Whether an agent is listening.
    var hasListener: Bool { LocalSocket.hasListener(Self.socketName, in: directory) }

    /// Takes the lock. Waits for a caller that briefly holds it.
    ///
    /// - Parameters:
    ///   - nanoseconds: The maximum wait in real time.
    ///   - isInVain: Returns `true` to end the wait. Called each time another process holds the
    ///     lock.
    /// - Returns: `nil` if the lock was not available.
    package func lock(
        within nanoseconds: Int64, unless isInVain: () -> Bool = { false }
    ) throws(WherryError) -> File? {
        let end = SystemClock.shared.now().advanced(by: nanoseconds)
        while true {
            if let lock = try lock() { return lock }
            guard !isInVain(), SystemClock.shared.now() < end else { return nil }
            Poll.rest(nanoseconds: .milliseconds(5))
        }
    }
}
