// Wherry: the options about the way that connections take, named as curl names them.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Wherry
import WherrySystem

struct RouteOptions: ParsableArguments, Sendable {
    @Option(
        help: ArgumentHelp(
            "A proxy's URL; '' for none. (default: what the environment says)", valueName: "url"))
    var proxy: String?

    @Option(
        name: [.customShort("U"), .long],
        help: ArgumentHelp(
            "For the proxy alone, sent as Basic: 'name:password', @FILE, or @- for standard input.",
            valueName: "name:password"))
    var proxyUser: String?

    @Option(
        name: .customLong("noproxy"),
        help: ArgumentHelp(
            "Hosts without a proxy, with ',' between: names with all below them, networks, or '*'.",
            valueName: "hosts"))
    var noProxy: String?

    @Option(
        help: ArgumentHelp(
            "The address of a host, which is not looked up: 'host:port:address'; '*' is any host.",
            valueName: "host:port:address"))
    var resolve: [String] = []

    @Option(
        help: ArgumentHelp(
            "The network interface or address of this machine to go out by.", valueName: "name"))
    var interface: String?

    @Option(
        help: ArgumentHelp(
            "A Unix socket to connect to, whatever the host; no proxy is used.", valueName: "file"),
        completion: .file())
    var unixSocket: String?

    func apply(to configuration: inout Client.Configuration) throws {
        configuration.proxy = proxy
        configuration.noProxy = noProxy.map { [$0] }
        configuration.resolve = resolve
        configuration.interface = interface
        if let unixSocket { configuration.unixSocket = try Directory.absolute(unixSocket) }
        guard let proxyUser else { return }
        let text =
            proxyUser.first == "@" ? try FileBytes.line(String(proxyUser.dropFirst())) : proxyUser
        guard text.contains(":") else {
            // Not the text itself, which may be a secret.
            throw ValidationError("What --proxy-user read is not name:password.")
        }
        configuration.proxyCredentials = text
    }
}
