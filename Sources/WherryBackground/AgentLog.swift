// Wherry: the agent's log file.
// SPDX-License-Identifier: Apache-2.0

import WherryCore
import WherryHTTP
import WherryLogging
import WherrySystem

/// The file `log` of a session: one line with a timestamp per event, without secrets. A file larger
/// than 1 MiB is renamed to `log.1`, which replaces the previous one.
final class AgentLog {
    private static let limit: Int64 = 1 << 20
    private let folder: StateFolder
    private let clock: any Clock
    private var file: File?
    private var size: Int64 = 0

    /// - Parameter takesErrors: Whether the process's standard error also goes to the log.
    init(_ folder: StateFolder, clock: any Clock, takesErrors: Bool) {
        self.folder = folder
        self.clock = clock
        open(takesErrors: takesErrors)
        self.takesErrors = takesErrors
    }

    private var takesErrors = false

    private func open(takesErrors: Bool) {
        let directory = folder.directory
        let known = try? directory.status(of: StateFolder.logName)
        if let known, known.size > Self.limit {
            _ = try? directory.rename(
                StateFolder.logName, to: StateFolder.logName + ".1", replacing: true)
        }
        // A log that cannot be written must not stop any job.
        file = try? File.open(StateFolder.logName, [.write, .create, .append], in: directory)
        guard let file else { return }
        size = (try? file.status().size) ?? 0
        _ = try? file.setPermissions(0o600)
        if takesErrors { _ = try? DetachedProgram.redirectStandardError(to: file) }
    }

    /// Appends a line.
    func write(_ text: String) {
        let time = HTTPDate.format(Int64(clock.wallSeconds()))
        let line = Array("\(time) [\(DetachedProgram.processID)] \(LogText.line(text))\n".utf8)
        _ = try? file?.write(line, at: size)
        size += Int64(line.count)
        if size > Self.limit { open(takesErrors: takesErrors) }
    }
}
