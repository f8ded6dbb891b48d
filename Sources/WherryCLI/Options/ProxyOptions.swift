// Wherry: the options for proxies, addresses, and interfaces, named as in curl.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import WherryAsync
import WherrySystem

struct ProxyOptions: ParsableArguments, Sendable {
    // options: begin (scripts/make-options)
    @Option(
        name: .customLong("proxy"),
        help: ArgumentHelp(
            "Use this proxy; '' for none. (default: from the environment)",
            valueName: "url"))
    var proxy: String?

    @Option(
        name: .customLong("proxy-http"),
        help: ArgumentHelp(
            "Use this proxy for http URLs; '' for none. (default: --proxy)",
            valueName: "url"))
    var proxyHTTP: String?

    @Option(
        name: .customLong("proxy-https"),
        help: ArgumentHelp(
            "Use this proxy for https URLs; '' for none. (default: --proxy)",
            valueName: "url"))
    var proxyHTTPS: String?
    // options: end

    @Option(
        name: [.customShort("U"), .long],
        help: ArgumentHelp(
            "Authenticate to proxies as Basic: 'name:password', @FILE, or @- for standard input.",
            valueName: "name:password"))
    var proxyUser: String?

    @Option(
        name: .customLong("noproxy"),
        help: ArgumentHelp(
            "Use no proxy for these hosts, separated by ',': a name and its subdomains, an address, a network, or '*'; ':port' restricts an entry.",
            valueName: "hosts"))
    var noProxy: String?

    @Option(
        help: ArgumentHelp(
            "Use this address for a host instead of looking it up; '*' is any host. Repeatable.",
            valueName: "host:port:address"))
    var resolve: [String] = []

    @Option(
        help: ArgumentHelp(
            "Connect from this network interface or local address.", valueName: "name"))
    var interface: String?

    @Option(
        help: ArgumentHelp(
            "Connect to this Unix socket for every host, without a proxy.", valueName: "file"),
        completion: .file())
    var unixSocket: String?

    func apply(to configuration: inout Client.Configuration) throws {
        applyFlags(to: &configuration)
        configuration.noProxy = noProxy.map { [$0] }
        configuration.resolve = resolve
        configuration.interface = interface
        if let unixSocket { configuration.unixSocket = try Directory.absolute(unixSocket) }
        guard let proxyUser else { return }
        let text =
            proxyUser.first == "@" ? try FileBytes.line(String(proxyUser.dropFirst())) : proxyUser
        guard text.contains(":") else {
            // Not the text itself, which may be a secret.
            throw ValidationError("The value of --proxy-user is not name:password.")
        }
        configuration.proxyCredentials = text
    }
}
