// Wherry: the options for proxies, addresses, and interfaces, named as in curl.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Wherry
import WherrySystem

struct RouteOptions: ParsableArguments, Sendable {
    @Option(
        help: ArgumentHelp(
            "The URL of a proxy; '' for none. (default: that of the environment)", valueName: "url"))
    var proxy: String?

    @Option(
        name: .customLong("proxy-http"),
        help: ArgumentHelp(
            "The proxy for http URLs; '' for none. (default: that of --proxy)", valueName: "url"))
    var proxyHTTP: String?

    @Option(
        name: .customLong("proxy-https"),
        help: ArgumentHelp(
            "The proxy for https URLs; '' for none. (default: that of --proxy)", valueName: "url"))
    var proxyHTTPS: String?

    @Option(
        name: [.customShort("U"), .long],
        help: ArgumentHelp(
            "Sent to proxies only, as Basic: 'name:password', @FILE, or @- for standard input.",
            valueName: "name:password"))
    var proxyUser: String?

    @Option(
        name: .customLong("noproxy"),
        help: ArgumentHelp(
            "Hosts without a proxy, separated by ',': a name and all below it, an address, a network, or '*'; ':port' restricts an entry.",
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
        configuration.proxyHTTP = proxyHTTP
        configuration.proxyHTTPS = proxyHTTPS
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
