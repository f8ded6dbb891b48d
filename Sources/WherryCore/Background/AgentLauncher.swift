// Wherry: finding and starting the agent.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// Starts `wherry-agent` for a session.
package struct AgentLauncher: Sendable {
    /// What of our environment the agent gets: where a proxy and certificates are, and in which
    /// language the system speaks. All else stays here.
    private static let variables = [
        "HOME", "LANG", "LC_ALL", "LC_CTYPE", "LC_MESSAGES", "TZ", "LD_LIBRARY_PATH",
        "http_proxy", "https_proxy", "all_proxy", "no_proxy",
        "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
        "SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE",
    ]
    /// How long the agent may take to be there: 20 s of real time, as a disk may sleep.
    private static let startTime = Int64.milliseconds(20_000)

    /// The executable, if the program has named one.
    package var path: String?
    package var autostart: Bool
    /// How long the agent stays with nothing to do, in milliseconds.
    package var idle: Int64

    package init(path: String?, autostart: Bool, idle: Int64) {
        self.path = path
        self.autostart = autostart
        self.idle = idle
    }

    /// The agent's executable: the one that was named, else that of `$WHERRY_AGENT`, else the one
    /// beside the library or in the `libexec/wherry` that belongs to it. Never from the search path.
    package func executable() throws(WherryError) -> String {
        if let named = path ?? Environment.trusted("WHERRY_AGENT") {
            guard DetachedProgram.isExecutable(named) else {
                throw WherryError(.noAgent, "\(named) is no program that can be executed")
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
                "There is no wherry-agent beside \(own), nor in its libexec/wherry; name it by the agent path or $WHERRY_AGENT"
            )
        }
        return found
    }

    /// Starts the agent and returns when clients are heard; also when another one is there already.
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
                ? "\(program) was started, and said nothing"
                : "\(program) was started, and died; its last words are in \(folder.path)/\(StateFolder.logName)"
        )
    }

    /// Starts it and returns where it will say that it is there. The end that it writes to is closed
    /// here on return, so that its death is told too.
    private static func start(_ program: String, _ arguments: [String]) throws(SystemError) -> File
    {
        let (read, ready) = try DetachedProgram.pipe()
        let environment = variables.compactMap { name in Environment[name].map { "\(name)=\($0)" } }
        try DetachedProgram.start(
            program, arguments, environment: environment, ready: ready, waits: true)
        return read
    }
}
