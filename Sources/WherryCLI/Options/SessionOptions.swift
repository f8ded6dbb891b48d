// Wherry: the options that select a background session.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import WherryAsync
import WherrySystem

/// The options of commands that start or manage background jobs.
struct SessionOptions: ParsableArguments, Sendable {
    @Option(
        help: ArgumentHelp(
            "The session of the jobs. (default: wherry)",
            valueName: "name"))
    var session: String?

    @Option(
        name: .customLong("state-dir"),
        help: ArgumentHelp(
            "Keep the records of the session in this directory. (default: $XDG_STATE_HOME/wherry/NAME)",
            valueName: "directory"),
        completion: .directory)
    var stateDirectory: String?

    /// Whether an option was given.
    var isGiven: Bool { session != nil || stateDirectory != nil }

    /// Opens the session.
    ///
    /// - Parameter configuration: The settings of its jobs.
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
