// Wherry: tests of a request's steps
// SPDX-License-Identifier: Apache-2.0

import Testing
import WherryCache
import WherryDownloads
import WherryImaging
import WherrySystem
import WherryTransport

@testable import WherryHTTP
@testable import WherryRequests

@Suite struct RequestMachineTests {
    private static let location = "location: /b\n"
    private static let failure = WherryError(.httpStatus, "status 503")
    private let challenge = AuthChallenge(scheme: "basic")

    // MARK: One exchange

    @Test("R1 a request is built, sent, and finished")
    func plain() throws {
        var run = try RequestRun()
        run.launch()
        #expect(caseName(run.handle(.head(200))) == "receive")
        run.expect([.ended(200): "finish", .ended(200): "none", .cancel: "none"])
        #expect(run.outcomes.count == 1)
        #expect(run.outcome?.response?.status == 200)
        #expect(run.machine.hasSucceeded)
    }

    @Test("R10 an unaccepted status is checked, and its error is the outcome")
    func refusal() throws {
        var run = try RequestRun()
        run.launch()
        run.expect([
            .head(404): "receive", .ended(404): "check", .checked(Self.failure): "finish",
        ])
        #expect(run.outcome?.error?.reasonWord == .httpStatus)
        #expect(run.outcome?.response?.status == 404)
    }

    @Test("R22 the body is used as the request wants it")
    func bodies() throws {
        var streamed = Request(RequestRun.url)
        streamed.isStreamed = true
        var run = try RequestRun(streamed) { $0[.wantHeaders] = 1 }
        run.launch()
        #expect(run.body(.head(200)) == .deliver(reportsHeaders: true))
        run.expect([.piece(3): "none", .piece(4): "none"])
        #expect(run.machine.delivered == 7)
        // A late response of a cancelled exchange is not read.
        var ended = try RequestRun()
        ended.launch()
        ended.expect([.ended(200): "finish"])
        #expect(caseName(ended.handle(.head(200))) == "none")
        var idle = try RequestRun()
        #expect(idle.body(.head(200)) == .discard)
        var cached = try RequestRun(caches: (false, true, false))
        cached.expect([.start: "build", .built: "consult", .planned: "launch"])
        #expect(cached.body(.head(302, Self.location)) == .skim)
        // A cached response may replace this one: its headers are reported at the end.
        let head = RequestEvent.head(.made(500), challenge: nil, mayBeReplaced: true)
        #expect(cached.body(head) == .collect(reportsHeaders: false))
    }

    @Test("R28 priority and pause reach a running exchange, and the next one")
    func priorities() throws {
        var run = try RequestRun()
        run.expect([.pause(true): "none", .priority(3): "none"])
        #expect(run.machine.isPaused)
        #expect(run.machine.priority == 3)
        run.launch()
        run.expect([.pause(true): "none", .pause(false): "setPaused", .priority(5): "setPriority"])
    }

    @Test("M3 a cancel ends the request when its current step ends")
    func cancel() throws {
        var run = try RequestRun()
        run.launch()
        run.expect([.cancel: "stop", .ended(nil, error: RequestRun.reset): "finish"])
        #expect(run.outcome?.error?.code == .cancelled)
        var early = try RequestRun()
        early.expect([.cancel: "none", .start: "finish"])
        #expect(early.launches == 0)
    }

    // MARK: Before an exchange

    @Test("K2 returns a fresh entry without a request")
    func timedHit() throws {
        var run = try RequestRun(caches: (true, false, true))
        run.expect([.start: "lookUp", .lookedUp(.made()): "finish"])
        #expect(run.launches == 0)
        #expect(run.outcome?.response?.isFromCache == true)
        var missed = try RequestRun(caches: (true, false, true))
        missed.expect([.start: "lookUp", .lookedUp(nil): "build"])
        var large = try RequestRun(caches: (true, false, true))
        large.expect([.start: "lookUp", .foundTooLarge(.made(), .tooLarge(1)): "finish"])
        #expect(large.outcome?.error?.reasonWord == .tooLarge)
        var only = try RequestRun(caches: (true, false, true))
        only.expect([.start: "lookUp", .failed(Self.failure): "finish"])
    }

    @Test("R31 the program edits a request before the cache is looked up")
    func edits() throws {
        var run = try RequestRun(hooks: .adapt, caches: (true, false, false))
        run.expect([.start: "callHook", .edited(try run.edit("http://127.0.0.1/c")): "lookUp"])
        run.expect([.lookedUp(nil): "build", .built: "launch"])
        #expect(run.machine.hop.follower.url.text == "http://127.0.0.1/c")
        #expect(!run.machine.hop.isEditedLate)
        var refused = try RequestRun(hooks: .adapt)
        refused.expect([.start: "callHook", .refused("no"): "finish"])
        #expect(refused.outcome?.error?.reasonWord == .refused)
        var standard = try RequestRun(hooks: .adapt)
        standard.expect([.start: "callHook", .standard: "build", .standard: "none"])
    }

    @Test("U1 images are encoded before anything is sent")
    func images() throws {
        var request = Request(RequestRun.url)
        request.method = "POST"
        let image = ImageSource.file(path: "/tmp/a.jpg")
        request.body = .multipart([.init(name: "a", content: .image(image, Compression()))])
        var run = try RequestRun(request)
        run.expect([.start: "encode", .encoded(PreparedBody(.bytes(Bytes("a")))): "build"])
        var failed = try RequestRun(request)
        failed.expect([.start: "encode", .failed(Self.failure): "finish"])
        var cancelled = try RequestRun(request)
        cancelled.expect([.start: "encode", .cancel: "stop", .encoded(PreparedBody()): "finish"])
        #expect(cancelled.outcome?.error?.code == .cancelled)
    }

    @Test("R37 a body is compressed, then its digests are computed")
    func preparation() throws {
        var run = try RequestRun {
            $0[.bodyCoding] = 1
            $0[.bodyDigest] = 1
        }
        var body = PreparedBody()
        body.isCodingSettled = true
        run.expect([.start: "prepare", .prepared(.coding, body): "prepare"])
        run.expect([.prepared(.digests, body): "build"])
        // Digest authentication may need one more digest for each nonce.
        run.expect([
            .lacksIntegrity(.sha256): "prepare", .prepared(.integrity(.sha256), body): "build",
            .built: "launch",
        ])
    }

    @Test("K12 the HTTP cache answers, asks the network, or gives 504")
    func httpCache() throws {
        func consulting() throws -> RequestRun {
            var run = try RequestRun(caches: (false, true, false))
            run.expect([.start: "build", .built: "consult"])
            return run
        }
        var hit = try consulting()
        hit.expect([.cached(.made(200), .stored, nil): "finish"])
        #expect(hit.launches == 0)
        var network = try consulting()
        network.expect([.planned: "launch", .head(200): "receive", .ended(200): "settle"])
        var outcome = network
        network.expect([.unchanged(.made(200)): "finish"])
        outcome.expect([
            .outcome(CacheOutcome(), .made(200), deliveredBytes: nil): "apply",
            .applied(try HTTPURL(RequestRun.url), nil): "finish",
        ])
        var timeout = try consulting()
        timeout.expect([.gatewayTimeout: "check", .checked(Self.failure): "finish"])
        #expect(timeout.outcome?.response?.status == 504)
        // A cached redirect is followed like one from the network.
        var redirect = try consulting()
        redirect.expect([.cached(.made(301, Self.location), .stored, nil): "resend"])
    }

    @Test("R30 the request waits for the network if asked to")
    func offline() throws {
        var run = try RequestRun { $0[.waitForNetwork] = 1_000 }
        run.expect([.start: "build", .built: "awaitNetwork", .reachable: "launch"])
        var vain = try RequestRun { $0[.waitForNetwork] = 1_000 }
        vain.expect([.start: "build", .built: "awaitNetwork", .failed(Self.failure): "finish"])
        var cancelled = try RequestRun { $0[.waitForNetwork] = 1_000 }
        cancelled.expect([.start: "build", .built: "awaitNetwork", .cancel: "stop"])
        cancelled.expect([.reachable: "finish"])
        #expect(cancelled.launches == 0)
    }

    // MARK: Redirects

    @Test("R19 a redirect is followed, and its body is not collected")
    func redirects() throws {
        var run = try RequestRun()
        run.launch()
        #expect(run.body(.head(302, Self.location)) == .discard)
        run.expect([.ended(302, Self.location): "resend", .rewound(true): "build"])
        run.expect([.built: "launch", .head(200): "receive", .ended(200): "finish"])
        #expect(run.outcome?.response?.redirects.count == 1)
        #expect(run.outcome?.response?.wire.sent == 200)
    }

    @Test("R19 a redirect fails if the body cannot be sent again, or after too many")
    func refusedRedirects() throws {
        var run = try RequestRun()
        run.launch()
        run.expect([.ended(307, Self.location): "resend", .rewound(false): "finish"])
        #expect(run.outcome?.error?.reasonWord == .redirectRefused)
        var limited = try RequestRun { $0[.maxRedirects] = 1 }
        limited.launch()
        limited.expect([
            .ended(302, Self.location): "resend", .rewound(true): "build", .built: "launch",
            .ended(302, Self.location): "finish",
        ])
        #expect(limited.outcome?.error?.reasonWord == .tooManyRedirects)
        var unreadable = try RequestRun()
        unreadable.launch()
        let broken = TransportError(.badEncoding, "bad gzip")
        unreadable.expect([.ended(302, Self.location, error: broken): "resend"])
    }

    @Test("R19 the program follows, refuses, or rewrites a redirect")
    func askedRedirects() throws {
        func waiting() throws -> RequestRun {
            var run = try RequestRun(hooks: .redirect)
            run.launch()
            #expect(run.body(.head(302, Self.location)) == .collect(reportsHeaders: false))
            run.expect([.ended(302, Self.location): "callHook"])
            return run
        }
        var followed = try waiting()
        followed.expect([.followed(true): "resend", .rewound(true): "build"])
        var standard = try waiting()
        standard.expect([.standard: "resend"])
        var final = try waiting()
        final.expect([.followed(false): "check", .checked(nil): "finish"])
        #expect(final.outcome?.response?.status == 302)
        var refused = try waiting()
        refused.expect([.refused("no"): "finish"])
        var cancelled = try waiting()
        cancelled.expect([.cancel: "stop", .standard: "finish"])
        #expect(cancelled.launches == 1)
        var rewritten = try waiting()
        let request = Request("http://127.0.0.1/c")
        guard case .callingHook(.redirect(let hop, _)) = rewritten.machine.phase else {
            Issue.record("no hook about a redirect")
            return
        }
        let rewrite = try rewritten.machine.hop.rewrite(
            request, inPlaceOf: rewritten.machine.hop.offered(for: hop), hop)
        rewritten.expect([.rewritten(rewrite): "resend", .rewound(true): "build"])
        #expect(rewritten.machine.hop.follower.url.text == "http://127.0.0.1/c")
        #expect(rewritten.machine.hop.isEditedLate)
    }

    // MARK: Challenges and tokens

    @Test("R20 a challenge is answered with known credentials")
    func challenges() throws {
        var run = try RequestRun()
        run.launch()
        #expect(run.body(.head(401, challenge: .again)) == .discard)
        run.expect([.ended(401): "resend", .rewound(true): "build", .built: "launch"])
        var spent = try RequestRun()
        spent.launch()
        spent.expect([.head(401, challenge: .again): "receive", .ended(401): "resend"])
        spent.expect([.rewound(false): "finish"])
        #expect(spent.outcome?.error?.reasonWord == .bodySpent)
        var final = try RequestRun()
        final.launch()
        final.expect([.head(401, challenge: .deliver): "receive", .ended(401): "check"])
    }

    @Test("R20 a credentials callback supplies credentials, or leaves the response as it is")
    func askedChallenges() throws {
        func waiting() throws -> RequestRun {
            var run = try RequestRun(hooks: .credentials)
            run.launch()
            run.expect([.head(401, challenge: .ask(challenge)): "receive", .ended(401): "callHook"])
            return run
        }
        var supplied = try waiting()
        supplied.expect([.authenticated(true): "resend", .rewound(true): "build"])
        for answer in [RequestEvent.standard, .authenticated(false)] {
            var kept = try waiting()
            kept.expect([answer: "check"])
        }
        var refused = try waiting()
        refused.expect([.refused("no"): "finish"])
    }

    @Test("M3 after a cancel no exchange follows a challenge, a redirect, a token, or a delay")
    func cancelledResends() throws {
        var challenged = try RequestRun()
        challenged.launch()
        challenged.expect([.head(401, challenge: .again): "receive", .ended(401): "resend"])
        challenged.expect([.cancel: "stop", .rewound(true): "finish"])
        var redirected = try RequestRun()
        redirected.launch()
        redirected.expect([.ended(302, Self.location): "resend", .cancel: "stop"])
        redirected.expect([.rewound(true): "finish"])
        var delayed = try RequestRun.failing(retries: 1)
        delayed.expect([.delay(100): "wait", .cancel: "finish", .timer(1): "none"])
        var tokens = try RequestRun.expired()
        tokens.expect([.cancel: "finish", .token(1, .replay("new")): "none"])
        for run in [challenged, redirected, delayed, tokens] {
            #expect(run.launches == 1)
            #expect(run.outcomes.count == 1)
            #expect(run.outcome?.error?.code == .cancelled)
        }
    }

    @Test("R32 an expired token is replaced at most twice")
    func tokens() throws {
        var run = try RequestRun.expired()
        run.expect([.token(run.wait, .replay("two")): "resend", .rewound(true): "build"])
        run.expect([.built: "launch", .head(401): "receive", .ended(401): "refreshToken"])
        run.expect([.token(run.wait, .refresh): "callHook", .tokenSupplied("three"): "resend"])
        #expect(run.machine.hop.token == "three")
        run.expect([.rewound(true): "build", .built: "launch", .head(401): "receive"])
        run.expect([.ended(401): "check"])
        var stale = try RequestRun.expired()
        stale.expect([
            .token(stale.wait + 1, .giveUp): "none", .token(stale.wait, .giveUp): "check",
        ])
        var unanswered = try RequestRun.expired()
        unanswered.expect([.token(unanswered.wait, .refresh): "callHook", .standard: "check"])
    }

    // MARK: Retries

    @Test("R29 a failure is retried after a delay")
    func retries() throws {
        var run = try RequestRun.failing(retries: 2)
        run.expect([.delay(100): "wait"])
        // The timer of an earlier wait.
        run.expect([.timer(run.wait + 1): "none", .timer(run.wait): "resend"])
        run.expect([.timer(run.wait): "none", .rewound(true): "build", .built: "launch"])
        #expect(run.machine.retries == 1)
        run.expect([.ended(nil, error: RequestRun.reset): "chooseDelay", .delay(nil): "finish"])
        #expect(run.outcome?.error?.reasonWord == .connectionReset)
        var changed = try RequestRun.failing(retries: 2)
        changed.expect([.delay(0): "wait", .timer(1): "resend", .rewound(false): "finish"])
        #expect(changed.outcome?.error?.reasonWord == .fileChanged)
    }

    @Test("R29 nothing is retried after a part of the response was reported")
    func reported() throws {
        var streamed = Request(RequestRun.url)
        streamed.isStreamed = true
        var run = try RequestRun(streamed) { $0[.maxRetries] = 3 }
        run.launch()
        run.expect([.head(200): "receive", .piece(10): "none"])
        run.expect([.ended(200, error: RequestRun.reset): "finish"])
    }

    @Test("R31 the program decides about a retry")
    func askedRetries() throws {
        func waiting() throws -> RequestRun {
            var run = try RequestRun(hooks: .retry) { $0[.maxRetries] = 1 }
            run.launch()
            run.expect([
                .head(404): "receive", .ended(404): "check", .checked(Self.failure): "callHook",
            ])
            return run
        }
        var again = try waiting()
        again.expect([.delay(5): "wait", .timer(1): "resend"])
        var never = try waiting()
        never.expect([.delay(nil): "finish"])
        var rules = try waiting()
        rules.expect([.standard: "chooseDelay"])
        var refused = try waiting()
        refused.expect([.refused("no"): "finish"])
    }

    @Test("C4 the next base URL is tried if the first cannot be reached")
    func bases() throws {
        var request = Request("a")
        request.bases = ["one", "two"]
        let bases = ["one": "http://127.0.0.1:1/", "two": "http://127.0.0.1:2/"]
        var run = try RequestRun(request, url: "http://127.0.0.1:1/a", bases: bases)
        run.launch()
        run.expect([.ended(nil, error: RequestRun.unreachable): "build"])
        #expect(run.machine.hop.follower.url.text == "http://127.0.0.1:2/a")
        run.expect([.built: "launch", .ended(nil, error: RequestRun.unreachable): "finish"])
        #expect(run.outcome?.error?.reasonWord == .connect)
    }

    // MARK: The end

    @Test("R21 the program decides after the response headers")
    func headers() throws {
        func waiting() throws -> RequestRun {
            var run = try RequestRun(hooks: .headers)
            run.launch()
            #expect(run.body(.head(200)) == .wait)
            return run
        }
        var proceeding = try waiting()
        proceeding.expect([.resolved(.proceed): "resumeBody", .ended(200): "finish"])
        var late = try waiting()
        late.expect([.ended(200): "finish", .resolved(.proceed): "none"])
        let refusal = TransferOutcome(error: WherryError(.refused, "no"))
        var ending = try waiting()
        ending.expect([.resolved(.end(refusal)): "cancelExchange"])
        ending.expect([.ended(200, error: RequestRun.reset): "finish"])
        #expect(ending.outcome?.error?.reasonWord == .refused)
        var cancelled = try waiting()
        cancelled.expect([.cancel: "stop", .resolved(.proceed): "cancelExchange"])
        cancelled.expect([.ended(200, error: RequestRun.reset): "finish"])
        #expect(cancelled.outcome?.error?.code == .cancelled)
    }

    @Test("R21 a body is saved to a file, or leaves none")
    func saving() throws {
        func saving() throws -> RequestRun {
            var run = try RequestRun(hooks: .headers)
            run.launch()
            run.expect([.head(200): "receive", .resolved(.save): "resumeBody", .piece(9): "none"])
            return run
        }
        var saved = try saving()
        saved.expect([.ended(200): "publish", .published(.success("/tmp/a")): "finish"])
        #expect(saved.outcome?.path == "/tmp/a")
        let full = DownloadError(.noSpace, "the disk is full")
        var unsaved = try saving()
        unsaved.expect([.ended(200): "publish", .published(.failure(full)): "finish"])
        #expect(unsaved.outcome?.error?.reasonWord == .noSpace)
        var cut = try saving()
        cut.expect([.ended(200, error: RequestRun.reset): "abandon", .abandoned(nil): "finish"])
        #expect(cut.outcome?.error?.reasonWord == .connectionReset)
        // A cancel after the file is complete does not undo it.
        var late = try saving()
        late.expect([.ended(200): "publish", .cancel: "stop"])
        late.expect([.published(.success("/tmp/a")): "finish"])
        #expect(late.outcome?.path == "/tmp/a")
        // A body from a cache is in memory.
        var cached = try RequestRun(hooks: .headers, caches: (true, false, false))
        cached.expect([.start: "lookUp", .lookedUp(.made()): "callHook", .resolved(.save): "save"])
        cached.expect([.published(.success("/tmp/a")): "finish"])
        #expect(cached.outcome?.path == "/tmp/a")
    }

    @Test("K13 a response is stored, unless the program refuses")
    func storing() throws {
        func keeping(_ hooks: HookSet) throws -> RequestRun {
            var run = try RequestRun(hooks: hooks, caches: (true, false, true))
            run.expect([.start: "lookUp", .lookedUp(nil): "build", .built: "launch"])
            run.expect([.head(200): "receive", .ended(200): "keep"])
            return run
        }
        var unasked = try keeping([])
        unasked.expect([.storable(.made()): "write", .kept(.made()): "finish"])
        var unstorable = try keeping([])
        unstorable.expect([.kept(.made()): "finish"])
        var wanted = try keeping(.store)
        wanted.expect([.storable(.made()): "callHook", .stores(true, without: ["age"]): "write"])
        var unwanted = try keeping(.store)
        unwanted.expect([.storable(.made()): "callHook", .stores(false, without: []): "forget"])
        unwanted.expect([.kept(.made()): "finish"])
        #expect(unwanted.outcome?.error == nil)
        var refused = try keeping(.store)
        refused.expect([.storable(.made()): "callHook", .refused("no"): "forget"])
        refused.expect([.kept(.made()): "finish"])
        #expect(refused.outcome?.error?.reasonWord == .refused)
    }
}

extension RequestRun {
    /// A request whose response 503 may be retried.
    fileprivate static func failing(retries: Int64) throws -> RequestRun {
        var run = try RequestRun { $0[.maxRetries] = retries }
        run.launch()
        run.expect([.head(503): "receive", .ended(503): "check"])
        run.expect([.checked(WherryError(.httpStatus, "status 503")): "chooseDelay"])
        return run
    }

    /// A request whose token has expired.
    fileprivate static func expired() throws -> RequestRun {
        var run = try RequestRun(hooks: .token)
        run.launch()
        run.expect([.head(401): "receive", .ended(401): "refreshToken"])
        return run
    }

    fileprivate func edit(_ url: String) throws -> RequestHop.Edit {
        try machine.hop.edit(Request(url), from: machine.hop.request, isStreamed: false)
    }

    /// Passes the headers of a response in. Returns the use of its body.
    fileprivate mutating func body(_ head: RequestEvent) -> RequestBodyUse? {
        if case .receive(let use) = handle(head) { use } else { nil }
    }
}
