// Wherry: the program wherry-agent.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// What `wherry-agent` does: the first run starts the second, detached, and leaves; so nobody has
/// it for a child, and nobody has to wait for its end.
///
///     wherry-agent [--no-autostart] [--idle-ms N] [--serve] DIRECTORY
///
/// Descriptor 3, where it is open, hears one line: "R" when clients are heard, "B" when another
/// agent is there already, or "E" and why it cannot be.
package enum AgentProgram {
    /// The descriptor that is told.
    private static let readyDescriptor: Int32 = 3
    /// How long another one who holds the lock for a moment is waited for: 2 s.
    private static let lockTime = Int64.milliseconds(2_000)

    private struct Arguments {
        var directory = ""
        var autostart = true
        var serves = false
        /// Milliseconds.
        var idle: Int64 = 5_000

        /// `nil` for arguments that are none.
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
    /// - Parameter arguments: without the program's name.
    /// - Returns: its exit status.
    package static func run(_ arguments: [String]) -> Int32 {
        guard let parsed = Arguments(arguments) else {
            StandardError.write(
                "usage: wherry-agent [--no-autostart] [--idle-ms N] [--serve] DIRECTORY\n"
                    + "Wherry starts it by itself for background jobs; DIRECTORY is a session's, absolute.\n"
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
    /// Whether an agent listens.
    var hasListener: Bool { LocalSocket.hasListener(Self.socketName, in: directory) }

    /// Takes the lock, waiting for a caller who holds it for a moment.
    ///
    /// - Parameters:
    ///   - nanoseconds: of real time.
    ///   - isInVain: ends the wait; asked each time that another process has the lock.
    /// - Returns: `nil` if the lock could not be had.
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
