// Wherry: running the loop, on its own thread or on a waiting caller's thread.
// SPDX-License-Identifier: Apache-2.0

internal import CCurl
internal import CLinux
import WherrySystem

extension CurlLoop {
    /// How long the loop's thread waits for the next caller before it takes over the loop, in
    /// nanoseconds. The time increases as long as callers return in time, because each takeover
    /// costs a thread switch.
    private static let patience: ClosedRange<Int64> = 2_000_000...16_000_000

    // MARK: Callers

    /// Runs the loop on the caller's thread until `isDone`, unless another thread runs it.
    ///
    /// - Parameter returns: Whether the caller will soon call again. If so, the loop's thread
    ///   yields to the caller, and waits a moment before it takes over the remaining work.
    /// - Returns: Whether this call has run the loop.
    func drive(until isDone: () -> Bool, timeout: Int64?, returns: Bool) -> Bool {
        guard !isDrivenHere, ForkGuard.current == forkGeneration else { return false }
        return ProcessExit.attached {
            guard take(returns) else { return false }
            turnAsCaller(until: isDone, timeout: timeout, returns: returns)
            return true
        }
    }

    private func turnAsCaller(until isDone: () -> Bool, timeout: Int64?, returns: Bool) {
        let limit = timeout.map { SystemClock.shared.now().advanced(by: max(0, $0)) } ?? .never
        drivingThread.store(Self.currentThread, ordering: .relaxed)
        while !isDone() && !sawClosing && SystemClock.shared.now() < limit {
            turn(until: limit, unless: isDone)
        }
        if mailbox.withLock({ $0.isClosing }) { shutDown() }
        while !letGo(returns) { giveUp() }
    }

    /// Hands the remaining work to the loop's thread. Returns `false` if that thread does not run
    /// and cannot be started.
    private func letGo(_ returns: Bool) -> Bool {
        let (isOver, mustTell) = mailbox.withLock { mailbox -> (Bool, Bool) in
            let isLeft = !mailbox.isClosed && (hasWork || !mailbox.messages.isEmpty)
            if isLeft && !hasThread(&mailbox) { return (false, false) }
            drivingThread.store(0, ordering: .relaxed)
            mailbox.driver = .nobody
            if isLeft {
                // Other waiting callers must not depend on this one to return.
                _ = returns && mailbox.bystanders == 0 ? watch(&mailbox) : handToThread(&mailbox)
            }
            return (true, mailbox.isClosing || mailbox.isClosed)
        }
        // Only `close` waits for the driver to leave.
        if mustTell { mailbox.notify() }
        return isOver
    }

    /// Fails every exchange, because no thread can continue the loop.
    private func giveUp() {
        refusal = Self.noThreadError
        defer { refusal = nil }
        let messages = mailbox.withLock { mailbox in
            let messages = mailbox.messages
            mailbox.messages = []
            return messages
        }
        read(messages)
        for exchange in queue.removeAll() { finishUnstarted(exchange, Self.noThreadError) }
        while let exchange = active.last { finish(exchange, error: Self.noThreadError) }
        // Timers fire at once, and see the same refusal.
        let due = timers
        timers = []
        for timer in due { timer.body() }
        readInner()
        while !listeners.isEmpty { tellListeners() }
    }

    /// Makes the caller the driver. Returns `false` if another thread stays the driver.
    private func take(_ returns: Bool) -> Bool {
        mailbox.wait { mailbox -> Bool? in
            if mailbox.isClosed || mailbox.isClosing { return false }
            switch mailbox.driver {
            case .nobody:
                mailbox.driver = .caller
                mailbox.visits += 1
                mailbox.isWanted = false
                return true
            case .thread where returns && mailbox.bystanders == 0:
                mailbox.isWanted = true
                _ = wake(&mailbox)
                return nil
            case .thread, .caller:
                if !mailbox.messages.isEmpty { _ = wake(&mailbox) }
                return false
            }
        } ?? false
    }

    /// Runs a wait for responses while another thread runs the loop.
    func standBy<Result>(_ body: () -> Result) -> Result {
        guard !isDrivenHere, ForkGuard.current == forkGeneration else { return body() }
        mailbox.withLock { mailbox in
            mailbox.bystanders += 1
            if mailbox.driver == .nobody && mailbox.isWatched { _ = handToThread(&mailbox) }
        }
        defer { mailbox.withLock { $0.bystanders -= 1 } }
        return body()
    }

    // MARK: Thread

    func runThread() {
        enum Duty { case turn, watch, end }
        var patience = Self.patience.lowerBound
        while true {
            let duty = mailbox.wait { mailbox -> Duty? in
                if mailbox.isClosed { return .end }
                if mailbox.driver == .thread { return .turn }
                return mailbox.isWatched ? .watch : nil
            }
            switch duty {
            case .turn: if !turnUntilRest() { return }
            case .watch:
                patience =
                    keepWatch(patience)
                    ? min(patience * 2, Self.patience.upperBound) : Self.patience.lowerBound
            case .end, nil: return
            }
        }
    }

    /// Runs the loop while there is work and no caller wants it. Returns `false` once it is closed.
    private func turnUntilRest() -> Bool {
        enum Next { case turn, rest, close }
        drivingThread.store(Self.currentThread, ordering: .relaxed)
        while true {
            turn(until: .never)
            let next = mailbox.withLock { mailbox -> Next in
                if mailbox.isClosing { return .close }
                let isIdle = !hasWork && mailbox.messages.isEmpty
                guard isIdle || mailbox.isWanted else { return .turn }
                drivingThread.store(0, ordering: .relaxed)
                mailbox.driver = .nobody
                if mailbox.isWanted {
                    // If the caller that wanted the loop has left, this thread takes it back.
                    mailbox.isWatched = true
                    mailbox.isWanted = false
                    self.mailbox.notify()
                }
                return .rest
            }
            switch next {
            case .turn: continue
            case .rest: return true
            case .close:
                shutDown()
                drivingThread.store(0, ordering: .relaxed)
                return false
            }
        }
    }

    /// Lets the loop's thread take over if no caller drives the loop soon. Returns `false` if no
    /// thread can be started.
    func watch(_ mailbox: inout Mailbox) -> Bool {
        guard !mailbox.isWatched else { return true }
        guard hasThread(&mailbox) else { return false }
        mailbox.isWatched = true
        self.mailbox.notify()
        return true
    }

    /// Waits a moment for a caller, and takes over the loop if none drives it.
    ///
    /// - Returns: Whether a caller has driven the loop in the meantime.
    private func keepWatch(_ patience: Int64) -> Bool {
        let visits = mailbox.withLock { $0.visits }
        _ = mailbox.wait(timeout: patience) { mailbox in
            mailbox.isClosed || mailbox.driver == .thread ? true : nil
        }
        return mailbox.withLock { mailbox in
            // Callers return in time: wait longer next time.
            guard mailbox.visits == visits, !mailbox.isClosed else { return true }
            mailbox.isWatched = false
            if mailbox.driver == .nobody && (hasWork || !mailbox.messages.isEmpty) {
                mailbox.driver = .thread
            }
            return false
        }
    }

    // MARK: Close

    /// Cancels every exchange, closes every descriptor, and ends the thread.
    ///
    /// The thread that runs the loop does the work, or the caller if none does. While the process
    /// exits, `close` does not wait for a driver longer than `exitPatience`, because the exit may
    /// have stopped it.
    ///
    /// - Returns: Whether the loop is closed; `false` also inside the loop and in a forked child.
    @discardableResult
    func close() -> Bool {
        guard ForkGuard.current == forkGeneration else { return false }
        if isDrivenHere {
            mailbox.withLock { $0.isClosing = true }
            return false
        }
        enum Step {
            case shutDown, done
            case join(NativeThread)
        }
        while true {
            let isExiting = ProcessExit.hasBegun
            let patience = isExiting ? Self.exitPatience : ProcessExit.checkInterval
            let step = mailbox.wait(timeout: patience) { mailbox -> Step? in
                if mailbox.isClosed {
                    if let thread = mailbox.thread {
                        mailbox.thread = nil
                        mailbox.isJoining = true
                        return .join(thread)
                    }
                    return mailbox.isJoining ? nil : .done
                }
                mailbox.isClosing = true
                guard mailbox.driver == .nobody else {
                    _ = wake(&mailbox)
                    return nil
                }
                mailbox.driver = .caller
                return .shutDown
            }
            switch step {
            case .shutDown:
                drivingThread.store(Self.currentThread, ordering: .relaxed)
                shutDown()
                drivingThread.store(0, ordering: .relaxed)
            case .join(let thread):
                thread.join()
                mailbox.update { $0.isJoining = false }
                return true
            case .done: return true
            case nil: if isExiting { return false }
            }
        }
    }

    /// Closes the loop on the driver. Publishes the closed state after every receiver was notified
    /// and every resource freed.
    private func shutDown() {
        if ProcessExit.pass({ endEverything(Self.closedError) }) == nil {
            endEverything(Self.exitError)
        }
        observation = nil
        tearDown()
        sockets.close()
        mailbox.update { mailbox in
            waker = nil
            mailbox.isClosed = true
            mailbox.driver = .nobody
        }
    }

    private func endEverything(_ error: TransportError) {
        refusal = error
        while true {
            let messages = mailbox.withLock { mailbox in
                let messages = mailbox.messages
                mailbox.messages = []
                return messages
            }
            read(messages)
            readInner()
            for exchange in queue.removeAll() { finishUnstarted(exchange, error) }
            while let exchange = active.last { finish(exchange, error: error) }
            timers.removeAll()
            tellListeners()
            guard inner.isEmpty && listeners.isEmpty else { continue }
            let isOver = mailbox.withLock { mailbox -> Bool in
                guard mailbox.messages.isEmpty else { return false }
                mailbox.isRefusing = true
                return true
            }
            if isOver { return }
        }
    }

    // MARK: One iteration

    var hasWork: Bool {
        !active.isEmpty || !queue.isEmpty || !timers.isEmpty || !inner.isEmpty
            || !listeners.isEmpty
    }

    /// Reads the mailbox, waits for sockets or time, and executes what is due.
    ///
    /// - Parameter isDone: Checked before the wait, since a response may have arrived while the
    ///   request was sent.
    func turn(until limit: Instant, unless isDone: () -> Bool = { false }) {
        let timeout = ProcessExit.pass { () -> Int32? in
            now = clock.now()
            readMail()
            settle()
            return isDone() ? nil : sleep(until: limit)
        }
        guard let timeout else { return abandon() }
        guard let timeout else { return }
        let count = sockets.wait(timeout: timeout)
        if ProcessExit.pass({ handle(count) }) == nil { abandon() }
    }

    /// Ends the iteration because the process is exiting; the driver closes the loop next.
    private func abandon() {
        mailbox.withLock { $0.isClosing = true }
        sawClosing = true
    }

    /// Handles the results of the last wait.
    private func handle(_ count: Int) {
        // After the wait: data that arrive after a long sleep count as activity at the current
        // time.
        now = clock.now()
        // Before the sockets: a transfer paused in the meantime must not read more.
        readMail()
        sockets.forEachReady(count) { socket, events in
            if socket == wakerDescriptor {
                waker?.clear()
                return
            }
            if socket == exitDescriptor { return }
            var mask: Int32 = 0
            if events & UInt32(CLINUX_READ) != 0 { mask |= CURL_CSELECT_IN }
            if events & UInt32(CLINUX_WRITE) != 0 { mask |= CURL_CSELECT_OUT }
            if events & UInt32(CLINUX_HANGUP) != 0 { mask |= CURL_CSELECT_ERR }
            callCurl(socket, mask)
        }
        settle()
    }

    func callCurl(_ socket: Int32, _ events: Int32) {
        // The process exit waits for this iteration, which may have many sockets to handle.
        guard !ProcessExit.hasBegun else { return }
        var running: Int32 = 0
        curlCalls &+= 1
        curl_multi_socket_action(multi, socket, events, &running)
    }

    private func readMail() {
        mailbox.withLock { mailbox in
            mailbox.isAsleep = false
            sawClosing = mailbox.isClosing
            swap(&mailbox.messages, &taken)
        }
        guard !taken.isEmpty else { return }
        read(taken)
        taken.removeAll(keepingCapacity: true)
    }

    func readInner() {
        guard !inner.isEmpty else { return }
        let messages = inner
        inner.removeAll(keepingCapacity: true)
        read(messages)
    }

    /// Handles libcurl's timeouts, ended transfers, pending chunks and deadlines until nothing is
    /// due.
    private func settle() {
        var rounds = 0
        repeat {
            rounds += 1
            readInner()
            if curlDeadline != .never && SystemClock.shared.now() >= curlDeadline {
                curlDeadline = .never
                callCurl(CCURL_TIMEOUT_SOCKET, 0)
            }
            sendCorked()
            readEarlyResponses()
            harvest()
            if hasNewRoom {
                hasNewRoom = false
                startWaiting()
            }
            flush()
            if now >= nextSweep { sweep() }
            tellListeners()
            // Limited, because a caller may answer each end with a start that fails at once.
        } while !inner.isEmpty && rounds < 16
    }

    /// Notifies a listener when all events of this iteration have been delivered. Returns `false`
    /// on a thread that does not run the loop, and if the loop has ended.
    func atEndOfTurn(_ listener: any TurnListener) -> Bool {
        guard isDrivenHere, refusal == nil else { return false }
        listeners.append(listener)
        return true
    }

    func tellListeners() {
        // Twice: the first listeners may wake others, which then need not wait for the next
        // iteration. No more than that, so that listeners cannot keep the loop from its sockets.
        for _ in 0..<2 where !listeners.isEmpty {
            swap(&listeners, &told)
            for listener in told { listener.turnDidEnd() }
            told.removeAll(keepingCapacity: true)
        }
    }

    /// Returns how long to wait in milliseconds; `nil` if something is due now.
    private func sleep(until limit: Instant) -> Int32? {
        var nanoseconds: Int64? = nil
        func atMost(_ span: Int64) { nanoseconds = min(nanoseconds ?? .max, max(0, span)) }
        if curlDeadline != .never || limit != .never {
            let real = SystemClock.shared.now()
            if curlDeadline != .never { atMost(curlDeadline.since(real)) }
            if limit != .never { atMost(limit.since(real)) }
        }
        if nextSweep != .never, let real = clock.realDelay(for: nextSweep.since(now)) {
            atMost(real)
        }
        guard nanoseconds != 0, listeners.isEmpty, inner.isEmpty else { return 0 }
        let mayRest = !hasWork
        let mustRead = mailbox.withLock { mailbox -> Bool in
            if !mailbox.messages.isEmpty || mailbox.isClosing || mailbox.isWanted
                || (mayRest && mailbox.driver == .thread)
            {
                return true
            }
            mailbox.isAsleep = true
            return false
        }
        if mustRead { return nil }
        guard let nanoseconds else { return -1 }
        return Int32((min(nanoseconds, .milliseconds(3_600_000)) + 999_999) / 1_000_000)
    }
}
