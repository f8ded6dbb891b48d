// Wherry: the command that reports whether a network is reachable.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import WherryAsync

struct ReachCommand: NetworkCommand {
    static let configuration = CommandConfiguration(
        commandName: "reach",
        abstract: "Report whether a host or any network is reachable, and over which interface.",
        discussion: """
            EXAMPLES
              wherry reach && wherry download https://example.org/big.iso
              wherry reach example.org --watch
              wherry reach --wait 30
              wherry reach --probe https://example.org/ping

            The command inspects the network interfaces and routes of this machine. Except \
            for looking up a host name, it sends nothing without --probe, so it does not know whether the \
            host responds. The exit status is 0 if the \
            host or network is reachable, and 4 if it is not.
            """)

    @Argument(help: "A host name or an address. (default: any network)")
    var host: String?

    @Flag(help: "Report every change until Ctrl-C.")
    var watch = false

    @Option(
        help: ArgumentHelp("Wait up to this long until it is reachable.", valueName: "seconds"))
    var wait: Double?

    @Option(
        help: ArgumentHelp(
            "Also require a server to respond: tcp://host:port, or a URL, with a status from 200 to 299.",
            valueName: "url"))
    var probe: String?

    @Option(help: ArgumentHelp("The time between probes.", valueName: "seconds"))
    var probeInterval: Double = 30

    @Flag(help: "With --watch, report every check, even without a change.")
    var raw = false

    @OptionGroup(title: "OUTPUT") var output: OutputOptions

    mutating func validate() throws {
        if watch, wait != nil { throw ValidationError("--watch and --wait cannot be combined.") }
        if raw, !watch { throw ValidationError("--raw needs --watch.") }
        for seconds in [wait, probeInterval].compactMap(\.self)
        where !(0...1_000_000_000).contains(seconds) {
            throw ValidationError("\(seconds) seconds is out of range.")
        }
    }

    mutating func perform(_ console: Console) async throws {
        var options = Reachability.Options()
        options.isRaw = raw
        options.probe = try probe.map { text throws(WherryError) in try Reachability.Probe(text) }
        options.probeInterval = .seconds(probeInterval)
        let reachability =
            try host.map { host throws(WherryError) in
                try Reachability(host: host, options)
            } ?? Reachability(options)
        if let wait {
            guard try await reachability.waitUntilReachable(timeout: .seconds(wait)) else {
                if Task.isCancelled { throw CancellationError() }
                return try answer(.notReachable, reachability, console)
            }
            return try answer(reachability.status, reachability, console)
        }
        for await change in try reachability.changes() {
            guard watch else { return try answer(change.status, reachability, console) }
            try tell(
                change.status, change.interface, change.interfaceName, old: change.old, console)
        }
        throw CancellationError()
    }

    private func answer(
        _ status: Reachability.Status, _ reachability: Reachability, _ console: Console
    ) throws {
        let isThere = status.isReachable
        try tell(
            status, isThere ? reachability.interface : .none,
            isThere ? reachability.interfaceName : "", old: nil, console)
        if !isThere { throw Verdict(status: .network) }
    }

    private func tell(
        _ status: Reachability.Status, _ interface: Reachability.Interface, _ name: String,
        old: Reachability.Status?, _ console: Console
    ) throws {
        guard console.isJSON else {
            let route = status.isReachable ? " (\(interface.rawValue) \(name))" : ""
            return try console.print("\(status.text(interface: interface))\(route.printable)")
        }
        var told: JSONObject = [
            "ok": true, "reachable": .bool(status.isReachable),
            "status": JSON(Int(status.rawValue)),
            "text": .string(status.text(interface: interface)),
            "interface": .string(interface.rawValue),
            "name": .string(name),
        ]
        if let host { told["target"] = .string(host) }
        if let old { told["old"] = JSON(Int(old.rawValue)) }
        try console.print(told)
    }
}
