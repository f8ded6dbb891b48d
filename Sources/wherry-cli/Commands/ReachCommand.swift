// Wherry: the command that tells whether a network can be reached.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Wherry

struct ReachCommand: NetworkCommand {
    static let configuration = CommandConfiguration(
        commandName: "reach",
        abstract: "Tell whether a host or any network can be reached, and over what.",
        discussion: """
            EXAMPLES
              wherry reach && wherry download https://example.org/big.iso
              wherry reach example.org --watch
              wherry reach --wait 30
              wherry reach --probe https://example.org/ping

            It goes by the links and routes of this machine: nothing is sent without --probe, and \
            whether anybody answers is not known. The exit status is 0 where there is a way and 4 \
            where there is none.
            """)

    @Argument(help: "A host name or an address; any network without it.")
    var host: String?

    @Flag(help: "Go on, and tell every change until Ctrl-C.")
    var watch = false

    @Option(
        help: ArgumentHelp("Wait so many seconds for a way, at most.", valueName: "seconds"))
    var wait: Double?

    @Option(
        help: ArgumentHelp(
            "A server that has to answer too: tcp://host:port, or a URL answered with 200 to 299.",
            valueName: "url"))
    var probe: String?

    @Option(help: ArgumentHelp("Ask it every so many seconds.", valueName: "seconds"))
    var probeInterval: Double = 30

    @Flag(help: "With --watch: tell every look, also where nothing changed.")
    var raw = false

    @OptionGroup(title: "OUTPUT") var output: OutputOptions

    mutating func validate() throws {
        if watch, wait != nil { throw ValidationError("--watch and --wait exclude each other.") }
        if raw, !watch { throw ValidationError("--raw goes with --watch.") }
        for seconds in [wait, probeInterval].compactMap(\.self)
        where !(0...1_000_000_000).contains(seconds) {
            throw ValidationError("\(seconds) is no number of seconds to wait.")
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
            "text": .string(status.text(interface: interface)), "interface": .string(interface.rawValue),
            "name": .string(name),
        ]
        if let host { told["target"] = .string(host) }
        if let old { told["old"] = JSON(Int(old.rawValue)) }
        try console.print(told)
    }
}
