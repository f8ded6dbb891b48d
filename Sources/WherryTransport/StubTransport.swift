// Wherry: a transport without a network, for tests.
// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization
import WherrySystem

/// A transport that responds to exchanges from rules, on a separate thread.
///
/// Fulfills the same contract as the network transport: order of calls, dispositions, flow control,
/// pauses, deadlines and connection limits. Response bodies are given decoded. Time is real until
/// the first `advance`; after that, only `advance` moves it.
package final class StubTransport: Transport, ExchangeCarrier, @unchecked Sendable {
    // The locks protect the rules and the mailbox. Members below "On the thread" belong to the
    // thread.

    enum Message {
        case start(Exchange)
        case cancel(Exchange)
        case setPaused(Exchange, Bool)
        case setPriority(Exchange, Int8)
        case continueReceiving(Exchange)
        case continueSending(Exchange)
        case decide(Exchange, BodyDisposition)
        case schedule(Instant, @Sendable () -> Void)
        case limits(perHost: Int, total: Int)
        case rate(RequestRate)
        case respond(Exchange, StubOutcome)
        case clockMoved
    }

    private struct Mailbox {
        var messages: [Message] = []
        var thread: NativeThread?
        /// Whether the thread waits: everything due was handled.
        var isIdle = true
        var nextDue = Instant.never
        var isClosing = false
        var isClosed = false
        var isJoining = false
    }

    let script: StubScript
    let network: StubNetwork
    private let mailbox = Monitor(Mailbox())
    private let forkGeneration = ForkGuard.current
    private let ownThread = Atomic<UInt>(0)
    private let observation = Lock<ClockObservation?>(nil)

    // On the thread.
    var now: Instant
    var queue = ConnectionQueue(perHost: 6, total: 32)
    var runs: [StubRun] = []
    private var timers: [(time: Instant, body: @Sendable () -> Void)] = []
    /// The time of the earliest timer, so that timers are scanned only when one is due.
    private var nearestTimer = Instant.never
    private var inner: [Message] = []
    private var isRefusing = false

    static let closedError = TransportError(.cancelled, "The client was closed")

    /// Creates a stub without rules.
    package convenience init(clock: ManualClock = ManualClock(manual: false)) {
        self.init(script: StubScript(clock: clock))
    }

    /// Creates a transport that shares the rules, clock and recorded requests of `other`, with a
    /// separate thread. Clients that share a stub can thus be closed one by one.
    ///
    /// - Parameter network: Creates the transport for requests that a rule sends to the network.
    ///   Called for the first such request.
    package convenience init(
        sharing other: StubTransport,
        network: (@Sendable (any Clock) throws(TransportError) -> any Transport)? = nil
    ) {
        self.init(script: other.script, network: network)
    }

    private init(
        script: StubScript,
        network: (@Sendable (any Clock) throws(TransportError) -> any Transport)? = nil
    ) {
        self.script = script
        self.network = StubNetwork(network)
        now = script.clock.now()
        script.enter(self)
        let observation = script.clock.observe(for: self) { $0.clockMoved() }
        self.observation.withLock { $0 = observation }
    }

    deinit { close() }

    package var clock: any Clock { script.clock }

    // MARK: Rules

    /// Responds to the next `times` matching requests (-1: all). Older rules take precedence.
    ///
    /// - Parameters:
    ///   - method: The method to match; `nil` matches every method.
    ///   - url: A URL, or a pattern in which each "*" matches any text.
    ///   - head: Lines of the form "Name: value". Content-Length is added if missing.
    package func addResponse(
        method: String? = nil, url: String, times: Int = -1, status: Int = 200, head: String = "",
        body: Bytes = Bytes()
    ) {
        let outcome = StubOutcome(status: status, head: head, body: body)
        script.add(method: method, url: url, times: times, action: .respond(outcome))
    }

    /// Fails the next `times` matching requests: at once, or after `afterBytes` bytes ("x") of a
    /// longer body with status 200.
    package func addFailure(
        method: String? = nil, url: String, times: Int = -1, kind: TransportError.Kind,
        afterBytes: Int64 = 0
    ) {
        let outcome = StubOutcome(
            failure: TransportError(kind, "The stub fails this request: \(kind.rawValue)"),
            afterBytes: Int(clamping: min(max(0, afterBytes), Int64(StubScript.bodyLimit))))
        script.add(method: method, url: url, times: times, action: .respond(outcome))
    }

    /// Lets the program respond to the next `times` matching requests (-1: all).
    ///
    /// - Parameter handler: Called on the stub's thread; must not block. `nil` asks the exchange's
    ///   receiver (``ExchangeReceiver/exchange(_:asks:)``).
    package func addHook(
        method: String? = nil, url: String, times: Int = -1,
        handler: (@Sendable (StubCall) -> Void)? = nil
    ) {
        script.add(method: method, url: url, times: times, action: .ask(handler))
    }

    /// Sends the next `times` matching requests (-1: all) to the network.
    package func addNetwork(method: String? = nil, url: String, times: Int = -1) {
        script.add(method: method, url: url, times: times, action: .network)
    }

    /// Delays the response of the last added rule. Returns `false` without a rule, or if its
    /// response does not come from the rule.
    @discardableResult
    package func setDelay(milliseconds: Int64) -> Bool {
        script.setDelay(.milliseconds(milliseconds))
    }

    /// The requests recorded so far, in the order of their start.
    package var requests: [StubRequest] { script.requests }
    package var requestCount: Int { script.requestCount }
    /// Returns a recorded request; `nil` if the index is out of range.
    package func request(at index: Int) -> StubRequest? { script.request(at: index) }

    /// Advances the clock of all clients of this stub. Returns when their transports have handled
    /// everything that became due, in the order of time. Does not wait for work that they pass to
    /// other threads. When called from a receiver, only advances the clock.
    package func advance(milliseconds: Int64) {
        if script.isOnThread { return script.clock.advance(by: .milliseconds(milliseconds)) }
        script.advance(by: .milliseconds(milliseconds))
    }

    // MARK: Transport

    package func start(_ exchange: Exchange, wake: Wake) {
        exchange.carrier = self
        post(.start(exchange))
    }

    package func cancel(_ exchange: Exchange) { post(.cancel(exchange)) }
    package func setPriority(_ exchange: Exchange, _ priority: Int8) {
        post(.setPriority(exchange, priority))
    }

    package func setPaused(_ exchange: Exchange, _ paused: Bool) {
        post(.setPaused(exchange, paused))
    }
    package func schedule(at time: Instant, _ body: @escaping @Sendable () -> Void) {
        post(.schedule(time, body))
    }
    /// Never runs on the caller's thread: all events are delivered on the stub's thread.
    package func drive(until isDone: () -> Bool, timeout: Int64?, returns: Bool) -> Bool { false }
    package func lookAgain() {}
    package func standBy<Result>(_ body: () -> Result) -> Result { body() }
    package func atEndOfTurn(_ listener: any TurnListener) -> Bool { false }
    package func runSoon(_ listener: any TurnListener) -> Bool { false }
    package var isTurnedHere: Bool { isOnThread || network.isTurnedHere }
    package func setConnectionLimits(perHost: Int, total: Int) {
        post(.limits(perHost: perHost, total: total))
    }
    package func setRequestRate(_ rate: RequestRate) { post(.rate(rate)) }
    func continueReceiving(_ exchange: Exchange) { post(.continueReceiving(exchange)) }
    func continueSending(_ exchange: Exchange) { post(.continueSending(exchange)) }
    func decide(_ exchange: Exchange, _ disposition: BodyDisposition) {
        post(.decide(exchange, disposition))
    }
    func respond(_ exchange: Exchange, _ outcome: StubOutcome) { post(.respond(exchange, outcome)) }

    @discardableResult
    package func close() -> Bool {
        guard ForkGuard.current == forkGeneration else { return false }
        if isOnThread {
            mailbox.withLock { $0.isClosing = true }
            return false
        }
        let thread = mailbox.wait { mailbox -> NativeThread?? in
            mailbox.isClosing = true
            guard let thread = mailbox.thread else {
                if mailbox.isJoining { return nil }
                mailbox.isClosed = true
                return .some(nil)
            }
            mailbox.thread = nil
            mailbox.isJoining = true
            self.mailbox.notify()
            return thread
        }
        observation.withLock { $0 = nil }
        guard let thread, let thread else { return true }
        if thread.isCurrent { thread.detach() } else { thread.join() }
        mailbox.update { $0.isJoining = false }
        return true
    }

    var isOnThread: Bool {
        ownThread.load(ordering: .relaxed) == UInt(pthread_self())
    }

    private func post(_ message: Message) {
        if isOnThread {
            inner.append(message)
            return
        }
        let refusal = mailbox.update { mailbox -> TransportError? in
            guard ForkGuard.current == forkGeneration else {
                return TransportError(
                    .forked, "The client belongs to the parent process. Create another client.")
            }
            guard !mailbox.isClosed, !mailbox.isClosing else {
                return TransportError(.shutDown, "The client was closed")
            }
            if mailbox.thread == nil {
                switch message {
                case .limits, .rate: break
                default:
                    mailbox.thread = try? NativeThread(name: "wherry-stub") { [self] in run() }
                    guard mailbox.thread != nil else {
                        return TransportError(.noMemory, "Could not start a thread")
                    }
                }
            }
            mailbox.messages.append(message)
            mailbox.isIdle = false
            return nil
        }
        // The exchange's state belongs to the thread, which may already be handling its end.
        if let refusal, case .start(let exchange) = message { exchange.refuse(refusal) }
    }

    private func clockMoved() {
        mailbox.update { mailbox in
            guard mailbox.thread != nil, !mailbox.isClosing, !isOnThread else { return }
            mailbox.messages.append(.clockMoved)
            mailbox.isIdle = false
        }
    }

    /// Waits until the thread has nothing to do now. Returns when it will next have something to
    /// do.
    func settledNextDue() -> Instant {
        mailbox.wait { mailbox -> Instant? in
            if mailbox.thread == nil || mailbox.isClosing { return .never }
            return mailbox.isIdle ? mailbox.nextDue : nil
        } ?? .never
    }

    // MARK: Thread

    private func run() {
        ownThread.store(UInt(pthread_self()), ordering: .relaxed)
        while true {
            now = clock.now()
            turn()
            let due = nextDue
            let delay = due == .never ? nil : clock.realDelay(for: due.since(clock.now()))
            // Continue without waiting if a real delay has expired, or if something is due.
            if let delay, delay <= 0 { continue }
            if due != .never && due <= clock.now() { continue }
            let messages = mailbox.wait(timeout: delay) { mailbox -> [Message]? in
                if mailbox.messages.isEmpty && !mailbox.isClosing {
                    if !mailbox.isIdle || mailbox.nextDue != due {
                        mailbox.isIdle = true
                        mailbox.nextDue = due
                        self.mailbox.notify()
                    }
                    return nil
                }
                let messages = mailbox.messages
                mailbox.messages = []
                mailbox.isIdle = false
                return messages
            }
            now = clock.now()
            for message in messages ?? [] { read(message) }
            if mailbox.withLock({ $0.isClosing }) { break }
        }
        shutDown()
        ownThread.store(0, ordering: .relaxed)
    }

    private func shutDown() {
        isRefusing = true
        repeat {
            let messages = mailbox.withLock { mailbox in
                let messages = mailbox.messages
                mailbox.messages = []
                return messages
            }
            for message in messages { read(message) }
            readInner()
            for exchange in queue.removeAll() { refuse(exchange, Self.closedError) }
            while let run = runs.last { finish(run, Self.closedError) }
        } while !inner.isEmpty
        network.close()
        timers.removeAll()
        nearestTimer = .never
        mailbox.update { $0.isClosed = true }
    }

    private func readInner() {
        let messages = inner
        inner = []
        for message in messages { read(message) }
    }

    /// Handles everything due at `now`.
    private func turn() {
        repeat {
            readInner()
            sweep()
            for run in runs where run.exchange.state.phase == .active { step(run) }
        } while !inner.isEmpty || runs.contains { canStep($0) }
    }

    private func sweep() {
        var due: [(time: Instant, body: @Sendable () -> Void)] = []
        if nearestTimer <= now {
            nearestTimer = .never
            timers.removeAll { timer in
                if timer.time <= now {
                    due.append(timer)
                } else {
                    nearestTimer = min(nearestTimer, timer.time)
                }
                return timer.time <= now
            }
        }
        for run in runs {
            if let error = run.exchange.overdue(at: now) { finish(run, error) }
        }
        for exchange in queue.expired(at: now) {
            refuse(exchange, exchange.timeoutError(.totalTimeout))
        }
        if queue.isLimited { startWaiting() }
        for timer in due { timer.body() }
    }

    private var nextDue: Instant {
        var next = min(queue.nextDeadline, queue.nextOpening, nearestTimer)
        for run in runs {
            next = min(next, run.exchange.nearestDeadline.time)
            if let due = due(of: run) { next = min(next, due) }
        }
        return next
    }

    private func read(_ message: Message) {
        if network.takes(message, self) { return }
        switch message {
        case .start(let exchange): submit(exchange)
        case .cancel(let exchange):
            let error = TransportError(.cancelled, "The transfer was cancelled")
            switch exchange.state.phase {
            case .waiting:
                queue.remove(exchange)
                refuse(exchange, error)
            case .active: if let run = run(of: exchange) { finish(run, error) }
            case .idle, .finished: break
            }
        case .setPaused(let exchange, let paused): hold(exchange, paused)
        case .setPriority(let exchange, let priority):
            queue.setPriority(of: exchange, to: priority)
        case .continueReceiving(let exchange):
            exchange.state.holdsReceiving = false
            touch(exchange)
        case .continueSending(let exchange):
            exchange.state.holdsSending = false
            touch(exchange)
        case .decide(let exchange, let disposition): decideBody(of: exchange, disposition)
        case .schedule(let time, let body):
            if !isRefusing {
                timers.append((time, body))
                nearestTimer = min(nearestTimer, time)
            }
        case .limits(let perHost, let total):
            queue.setLimits(perHost: perHost, total: total)
            startWaiting()
        case .rate(let rate):
            queue.setRate(rate)
            startWaiting()
        case .respond(let exchange, let outcome):
            if let run = run(of: exchange) { respond(run, outcome) }
        case .clockMoved: break
        }
    }

    private func submit(_ exchange: Exchange) {
        guard exchange.state.phase == .idle else { return }
        exchange.state.submitted = now
        guard !isRefusing else { return refuse(exchange, Self.closedError) }
        if script.takesNetwork(method: exchange.request.method, url: exchange.request.url.text) {
            return network.start(exchange, clock: clock)
        }
        if queue.isLimited { queue.advance(to: now) }
        guard queue.admit(exchange) else {
            exchange.state.phase = .waiting
            if queue.isLimited { startWaiting() }
            return
        }
        begin(exchange)
    }

    func startWaiting() {
        if queue.isLimited { queue.advance(to: now) }
        while !isRefusing, let exchange = queue.next() { begin(exchange) }
    }

    private func hold(_ exchange: Exchange, _ paused: Bool) {
        guard exchange.state.isPaused != paused else { return }
        exchange.state.isPaused = paused
        touch(exchange)
        guard exchange.state.phase == .waiting else { return }
        queue.pauseChanged(exchange)
        if !paused { startWaiting() }
    }

    /// Restarts the idle timeout and the low-speed window.
    func touch(_ exchange: Exchange) {
        exchange.state.lastActivity = now
        exchange.restartStallWindow(at: now)
    }

    func refuse(_ exchange: Exchange, _ error: TransportError) {
        exchange.state.phase = .finished
        exchange.refuse(error)
    }
}
