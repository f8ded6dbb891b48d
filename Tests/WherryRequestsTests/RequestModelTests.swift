// Wherry: tests of a request's steps in random order
// SPDX-License-Identifier: Apache-2.0

import Testing
import WherryCache
import WherryDownloads
import WherryImaging
import WherrySystem
import WherryTransport

@testable import WherryHTTP
@testable import WherryRequests

/// The legal exits of each phase, as documented in `RequestMachine.Phase`.
private let exits: [String: Set<String>] = {
    let attempt: Set = ["callingHook edit", "preparing", "building", "ended"]
    let send: Set = ["preparing", "building", "ended"]
    let end: Set = ["callingHook headers", "ended"]
    let failure = end.union(["callingHook retry", "choosing"])
    let success = end.union(["keeping", "checking"])
    let response = failure.union(success).union([
        "resending", "refreshing", "callingHook redirect", "callingHook credentials",
    ])
    return [
        "idle": attempt.union(["looking", "encoding"]),
        "looking": send.union(end).union(["encoding"]),
        "encoding": attempt,
        "preparing": send,
        "building": ["preparing", "consulting", "offline", "exchanging", "ended"],
        "consulting": response.subtracting(["refreshing"]).union(["offline", "exchanging"]),
        "offline": ["exchanging", "ended"],
        "exchanging": response.union(["callingHook edit", "building"]).union(["saving", "settling"]
        ),
        "saving": ["settling", "checking", "ended"],
        "settling": response.union(["applying", "callingHook storeHTTP"]),
        "applying": response.union(["consulting"]),
        "resending": attempt,
        "checking": failure.union(["keeping"]),
        "choosing": end.union(["delaying"]),
        "delaying": ["resending", "ended"],
        "refreshing": success.union(["callingHook token", "resending"]),
        "keeping": end.union(["callingHook storeTimed"]),
        "callingHook edit": send.union(["looking"]),
        "callingHook redirect": response,
        "callingHook credentials": success.union(["resending", "refreshing"]),
        "callingHook headers": ["saving", "ended"],
        "callingHook retry": end.union(["choosing", "delaying"]),
        "callingHook storeHTTP": ["applying"],
        "callingHook storeTimed": ["keeping", "ended"],
        "callingHook token": success.union(["resending"]),
    ]
}()

/// A program, a network, and caches that behave at random, derived from one seed.
private struct RandomWorld {
    var random: SplitMix
    /// Whether the transport has an exchange of the request.
    var isBusy = false
    /// The response that is being received.
    var head: ResponseHead?

    static let stored: StoredResponse = {
        let freshness = Freshness(
            date: 0, responseTime: 0, initialAge: 0, lifetime: 1_000, source: .explicit)
        return StoredResponse(
            status: 200, httpVersion: 11, block: Bytes(), selecting: SelectingFields(fields: []),
            freshness: freshness, control: ReuseControl(), etag: nil, lastModified: nil, part: nil,
            isDecoded: false, body: Bytes("body"))
    }()

    init(seed: UInt64) { random = SplitMix(state: seed) }

    mutating func chance(_ one: UInt64) -> Bool { random.next() % one == 0 }

    mutating func pick<Value>(_ values: [Value]) -> Value {
        values[Int(random.next() % UInt64(values.count))]
    }

    mutating func run() throws -> RequestRun {
        var request = Request(RequestRun.url)
        request.isStreamed = chance(3)
        request.collectsRefusals = chance(4)
        request.acceptedStatus = chance(6) ? [200, 302, 401, 404] : []
        request.bases = chance(3) ? ["one", "two"] : []
        let bases = ["one": "http://127.0.0.1/", "two": "http://127.0.0.2/"]
        if chance(6) {
            request.method = "POST"
            request.body = .bytes(Bytes("body"), contentType: "text/plain")
        } else if chance(6) {
            let image = ImageSource.file(path: "/tmp/a.jpg")
            request.method = "POST"
            request.body = .multipart([.init(name: "a", content: .image(image, Compression()))])
        }
        let all: [HookSet] = [
            .adapt, .redirect, .credentials, .headers, .retry, .store, .token,
        ]
        var hooks: HookSet = []
        for hook in all where chance(2) { hooks.formUnion(hook) }
        let caches = (chance(2), chance(2), chance(2))
        let settings: [(Option, Int64)] = [
            (.maxRetries, 2), (.wantHeaders, 1), (.waitForNetwork, 100), (.bodyDigest, 1),
            (.bodyCoding, 1), (.maxRedirects, 2), (.retryUnsafeMethods, 1), (.maxBodyBytes, 2),
        ]
        let chosen = settings.filter { _ in chance(3) }
        return try RequestRun(request, hooks: hooks, bases: bases, caches: caches) {
            for (option, value) in chosen { $0[option] = value }
        }
    }

    mutating func makeHead() -> ResponseHead {
        .made(pick([200, 200, 204, 302, 307, 401, 404, 503]), "location: /b\n")
    }

    /// Returns the result of the current exchange.
    mutating func end() -> RequestEvent {
        isBusy = false
        let errors: [TransportError.Kind?] =
            head == nil ? [.connect, .reset, .tls] : [nil, nil, nil, .reset, .badEncoding]
        var result = ExchangeResult()
        result.head = head
        result.error = pick(errors).map { TransportError($0, "made up") }
        result.isLengthUnverified = chance(8)
        head = nil
        return .ended(result)
    }

    mutating func step() -> Authentication.Step? {
        pick([nil, .again, .deliver, .ask(AuthChallenge(scheme: "basic"))])
    }

    /// Returns an event that may follow an action; `nil` if none does.
    mutating func event(after action: RequestAction, _ run: RequestRun) throws -> RequestEvent? {
        let machine = run.machine
        switch action {
        case .none, .setPaused, .setPriority: return isBusy ? network() : nil
        case .lookUp:
            return pick([
                .lookedUp(nil), .lookedUp(.made()), .foundTooLarge(.made(), .tooLarge(1)),
            ])
        case .encode: return .encoded(PreparedBody())
        case .prepare(let preparation):
            var body = machine.hop.body
            if case .coding = preparation { body.isCodingSettled = true }
            return .prepared(preparation, body)
        case .build: return chance(9) ? .lacksIntegrity(.sha256) : .built
        case .consult:
            return pick([
                .planned, .cached(.made(pick([200, 302, 401]), "location: /b\n"), .stored, step()),
                .gatewayTimeout, .failed(WherryError(.missing, "not cached")),
            ])
        case .plan: return .planned
        case .awaitNetwork: return chance(4) ? .failed(WherryError(.offline, "")) : .reachable
        case .launch:
            isBusy = true
            return network()
        case .receive, .resumeBody: return network()
        case .cancelExchange, .stop: return isBusy ? end() : nil
        case .callHook(let hook): return try event(for: hook, run)
        case .settle(let result):
            var storing = CacheOutcome()
            storing.changes = [.store(Self.stored)]
            return pick([
                .outcome(storing, result, deliveredBytes: nil),
                .unchanged(result), .outcome(CacheOutcome(), result, deliveredBytes: nil),
                .outcome(CacheOutcome(), result, deliveredBytes: 4),
                .outcome(
                    CacheOutcome(delivery: .resend(NetworkPlan())), result, deliveredBytes: nil),
            ])
        case .apply: return .applied(machine.hop.follower.url, step())
        case .abandon: return .abandoned(chance(3) ? DownloadError(.noSpace, "full") : nil)
        case .publish, .save:
            return .published(
                chance(3) ? .failure(DownloadError(.noSpace, "full")) : .success("/tmp/a"))
        case .resend: return .rewound(!chance(5))
        case .check(let response, _):
            let error = WherryError(.httpStatus, "refused").with { $0.response = response }
            return .checked(response.status < 300 && !chance(4) ? nil : error)
        case .chooseDelay: return .delay(chance(3) ? nil : 10)
        case .wait: return .timer(run.wait)
        case .refreshToken: return .token(run.wait, pick([.replay("new"), .refresh, .giveUp]))
        case .keep(let response): return pick([.kept(response), .storable(response)])
        case .write(let response, _), .forget(let response): return .kept(response)
        case .finish: return nil
        }
    }

    /// Returns an event of the exchange.
    private mutating func network() -> RequestEvent {
        if head == nil, !chance(5) {
            let made = makeHead()
            head = made
            return .head(
                made, challenge: made.status == 401 ? step() : nil, mayBeReplaced: chance(6))
        }
        return chance(3) ? .piece(10) : end()
    }

    /// Returns the program's result of a hook.
    private mutating func event(
        for hook: RequestHook, _ run: RequestRun
    ) throws -> RequestEvent {
        if chance(8) { return .refused("no") }
        if chance(6) { return .standard }
        let hop = run.machine.hop
        switch hook {
        case .edit:
            return .edited(
                try hop.edit(Request(RequestRun.url), from: hop.preview().own, isStreamed: false))
        case .redirect(_, let next, let target):
            guard chance(2) else { return .followed(chance(2)) }
            let request = Request("http://127.0.0.2/c")
            do throws(WherryError) {
                return .rewritten(try hop.rewrite(request, inPlaceOf: next, target))
            } catch {
                // The redirect rules also apply to the program's request.
                return .failed(error)
            }
        case .credentials: return .authenticated(chance(2))
        case .headers(let response): return headersDecision(response.head)
        case .retry: return .delay(chance(2) ? 10 : nil)
        case .store: return .stores(chance(2), without: ["age"])
        case .token: return .tokenSupplied("new")
        }
    }

    mutating func headersDecision(_ head: ResponseHead) -> RequestEvent {
        let end = TransferOutcome(error: WherryError(.refused, "no"))
        return .headersResolved(pick([.proceed, .end(end), .save]), head)
    }

    /// Returns an event that fits no particular action.
    mutating func anyEvent(_ run: RequestRun) -> RequestEvent {
        pick([
            .start, .cancel, .pause(chance(2)), .priority(3), .lookedUp(nil), .built, .planned,
            .reachable, .rewound(true), .head(makeHead(), challenge: step(), mayBeReplaced: false),
            .piece(5), .ended(200), .unchanged(.made(200)), .abandoned(nil), .checked(nil),
            .published(.success("/tmp/b")), .delay(nil), .delay(5), .timer(run.wait),
            .token(run.wait, .giveUp), .storable(.made()), .kept(.made()), .standard,
            .refused("no"), .followed(false), .authenticated(true), .stores(true, without: []),
            .tokenSupplied("new"), .gatewayTimeout, .encoded(PreparedBody()),
            headersDecision(.made(200)),
        ])
    }
}

@Suite struct RequestModelTests {
    private static let mostEvents = 500

    @Test("M4 every request ends once, by legal steps, whatever happens")
    func plausible() throws {
        var seen: Set<[String]> = []
        for seed in 1...UInt64(20_000) {
            var world = RandomWorld(seed: seed)
            var run = try world.run()
            var event: RequestEvent? = .start
            var launchesAtCancel: Int?
            var events = 0
            if world.chance(50) {
                run.handle(.cancel)
                launchesAtCancel = 0
            }
            while let next = event, events < Self.mostEvents {
                events += 1
                var action = run.handle(next)
                if launchesAtCancel == nil, world.chance(40) {
                    let stop = run.handle(.cancel)
                    launchesAtCancel = run.launches
                    // What was in progress ends by itself, or is stopped.
                    if case .finish = stop { action = stop }
                }
                event = try world.event(after: action, run)
                // The program may answer at any time of the exchange.
                if run.machine.awaitsHeaders, world.chance(2) {
                    run.handle(world.headersDecision(.made(200)))
                }
            }
            #expect(run.outcomes.count == 1, "seed \(seed), \(events) events, in \(run.phase)")
            if let launchesAtCancel {
                #expect(run.launches == launchesAtCancel, "seed \(seed): sent after a cancel")
            }
            seen.formUnion(run.transitions)
            for _ in 0..<5 {
                let late = caseName(run.handle(world.anyEvent(run)))
                #expect(late == "none", "seed \(seed): \(late) after the end")
            }
            if run.outcomes.count != 1 { break }
        }
        for transition in seen.sorted(by: { $0[0] < $1[0] }) {
            #expect(exits[transition[0]]?.contains(transition[1]) == true, "\(transition)")
        }
        // Each phase was left.
        #expect(Set(seen.map { $0[0] }) == Set(exits.keys))
    }

    @Test("M4 events in any order give at most one end, and nothing is sent after a cancel")
    func arbitrary() throws {
        for seed in 1...UInt64(3_000) {
            var world = RandomWorld(seed: seed)
            var run = try world.run()
            var launchesAtCancel: Int?
            run.handle(.start)
            for _ in 0..<60 {
                let event = world.anyEvent(run)
                let wasEnded = run.outcomes.count == 1
                let action = caseName(run.handle(event))
                #expect(!wasEnded || action == "none", "seed \(seed): \(action) after the end")
                if case .cancel = event, launchesAtCancel == nil { launchesAtCancel = run.launches }
            }
            #expect(run.outcomes.count <= 1, "seed \(seed)")
            if let launchesAtCancel {
                #expect(run.launches == launchesAtCancel, "seed \(seed): sent after a cancel")
            }
        }
    }
}
