// Wherry: lookup and start of the agent executable.
// SPDX-License-Identifier: Apache-2.0

import WherryCore
import WherryHTTP
import WherrySystem

/// Starts `wherry-agent` for a session.
package struct AgentLauncher: Sendable {
    /// The environment variables that the agent inherits: folders, proxies, certificates, and
    /// locale. All others are removed.
    private static let variables = [
        "HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "LANG", "LC_ALL", "LC_CTYPE", "LC_MESSAGES",
        "TZ", "LD_LIBRARY_PATH",
        "http_proxy", "https_proxy", "all_proxy", "no_proxy",
        "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
        "SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE",
    ]
    /// The maximum time for the agent to start: 20 s of real time, since a disk may have to spin
    /// up.
    private static let startTime = Int64.milliseconds(20_000)

    /// The path of the agent executable, if the program has set one.
    package var path: String?
    package var autostart: Bool
    /// The idle time after which the agent exits, in milliseconds.
    package var idle: Int64

    package init(path: String?, autostart: Bool, idle: Int64) {
        self.path = path
        self.autostart = autostart
        self.idle = idle
    }

    /// Returns the path of the agent executable. Uses the configured path, else `$WHERRY_AGENT`,
    /// else the file next to the library or in the library's `libexec/wherry`. Never searches
    /// `PATH`.
    package func executable() throws(WherryError) -> String {
        if let named = path ?? Environment.trusted("WHERRY_AGENT") {
            guard DetachedProgram.isExecutable(named) else {
                throw WherryError(
                    .noAgent,
                    "Could not start the agent: \(named) is not an executable program. Correct the agent path or $WHERRY_AGENT."
                )
            }
            return named
        }
        let own: String
        do {
            own = try DetachedProgram.ownFile()
        } catch {
            throw WherryError(error)
        }
        let folder = Directory.split(own).parent
        let places = ["", "/../libexec/wherry", "/../../libexec/wherry"].map {
            folder + $0 + "/wherry-agent"
        }
        guard let found = places.first(where: { DetachedProgram.isExecutable($0) }) else {
            throw WherryError(
                .noAgent,
                "Could not find wherry-agent beside \(own) or in its libexec/wherry. Set the agent path or $WHERRY_AGENT."
            )
        }
        return found
    }

    /// Starts the agent and returns once an agent accepts clients, this one or another.
    package func start(_ folder: StateFolder) throws(WherryError) {
        let program = try executable()
        var arguments = ["--idle-ms", "\(idle)"]
        if !autostart { arguments.append("--no-autostart") }
        arguments.append(folder.path)
        let words: [UInt8]?
        do {
            let pipe = try Self.start(program, arguments)
            words = DetachedProgram.readLine(pipe, limit: 65_536, nanoseconds: Self.startTime)
        } catch {
            throw WherryError(error).with { $0.reason = .noAgent }
        }
        switch words?.first {
        case 0x52, 0x42: return
        case 0x45:
            if let text = words?.dropFirst(),
                case .object(let json)? = try? JSON.parse(Array(text)),
                let failure = JobFailure(json)
            {
                throw failure.error
            }
        default: break
        }
        throw WherryError(
            .noAgent,
            words == nil
                ? "Could not start the agent: \(program) did not respond"
                : "Could not start the agent: \(program) exited. See its log \(folder.path)/\(StateFolder.logName)."
        )
    }

    /// Starts the agent and returns the pipe that reports when the agent is ready. On return, this
    /// process no longer holds the write end, so the agent's death ends the pipe.
    private static func start(_ program: String, _ arguments: [String]) throws(SystemError) -> File
    {
        let (read, ready) = try DetachedProgram.pipe()
        let environment = variables.compactMap { name in Environment[name].map { "\(name)=\($0)" } }
        try DetachedProgram.start(
            program, arguments, environment: environment, ready: ready, waits: true)
        return read
    }
}
