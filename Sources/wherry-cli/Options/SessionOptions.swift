// Wherry: which background session is meant.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Wherry
import WherrySystem

/// The options of commands that start jobs in the background, and look at them.
struct SessionOptions: ParsableArguments, Sendable {
    @Option(
        help: ArgumentHelp(
            "The name of the session, which has jobs of its own. (default: wherry)",
            valueName: "name"))
    var session: String?

    @Option(
        name: .customLong("state-dir"),
        help: ArgumentHelp(
            "The folder of the session's records. (default: $XDG_STATE_HOME/wherry/NAME)",
            valueName: "directory"),
        completion: .directory)
    var stateDirectory: String?

    /// Whether either was said.
    var isGiven: Bool { session != nil || stateDirectory != nil }

    /// Opens the session.
    ///
    /// - Parameter configuration: what its jobs are sent with.
    func open(
        _ configuration: Client.Configuration = Client.Configuration()
    ) throws(WherryError) -> BackgroundSession {
        var configuration = configuration
        configuration.userAgent = ConnectionOptions.userAgent
        configuration.stateDirectory = stateDirectory.map { Self.absolute($0) }
        return try BackgroundSession(session ?? "wherry", configuration)
    }

    private static func absolute(_ path: String) -> String {
        (try? Directory.absolute(path)) ?? path
    }
}
