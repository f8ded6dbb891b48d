// Wherry: what the commands that create a client share.
// SPDX-License-Identifier: Apache-2.0

import WherryAsync

/// A command that creates a client from its options.
///
/// Each command lists the option groups next to each other. In debug builds, the argument parser
/// checks a group again at each level of nesting, which takes seconds with three levels.
protocol ConnectingCommand: NetworkCommand {
    var connection: ConnectionOptions { get }
    var proxy: ProxyOptions { get }
    var tls: TLSOptions { get }
}

extension ConnectingCommand {
    /// Returns a client for these URLs, with the settings of the options.
    func client(
        for urls: [String], _ configure: (inout Client.Configuration) -> Void = { _ in }
    ) throws -> Client {
        let client = try Client(configuration(for: urls, configure))
        for file in connection.cookieFiles { try client.cookies.load(from: file) }
        if let path = output.logFile { try client.setLogFile(path) }
        return client
    }

    /// Returns the settings of the options for these URLs.
    func configuration(
        for urls: [String], _ configure: (inout Client.Configuration) -> Void = { _ in }
    ) throws -> Client.Configuration {
        var configuration = Client.Configuration()
        // 'wherry cache' shows this storage. It also holds the partial files of downloads.
        configuration.storageName = "wherry"
        configure(&configuration)
        try connection.apply(to: &configuration)
        try proxy.apply(to: &configuration)
        try tls.apply(to: &configuration, urls: urls)
        configuration.isDebugging = output.debug
        return configuration
    }

    /// Uses a client, saves the cookies to the file of `--cookie-jar`, and closes the client.
    ///
    /// - Throws: The error of `body`; otherwise `ToldFailure` if the cookies or the log could not be
    ///   saved. The result has been printed by then, so this failure always goes to standard error.
    func use(_ client: Client, _ console: Console, _ body: (Client) async throws -> Void)
        async throws
    {
        defer { client.close() }
        do {
            try await body(client)
        } catch {
            _ = save(client, console)
            throw error
        }
        if let status = save(client, console) { throw ToldFailure(status: status) }
    }

    /// Returns the exit status of a failure, which it has printed.
    private func save(_ client: Client, _ console: Console) -> Int32? {
        var status: Int32?
        if let cookieJar = connection.cookieJar {
            do {
                try client.cookies.save(to: cookieJar)
            } catch {
                status = console.warn(
                    of: error.with { $0.message = "Could not save the cookies: \($0.message)" })
            }
        }
        if let path = output.logFile, client.lostLogRecords > 0 {
            let error = WherryError(.io, "Could not write all of the log to \(path).")
            status = status ?? console.warn(of: error)
        }
        return status
    }
}
