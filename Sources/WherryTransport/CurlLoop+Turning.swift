// Wherry: one turn of the loop: mail, sockets, time.
// SPDX-License-Identifier: Apache-2.0

internal import CCurl
internal import CLinux
import WherrySystem

extension CurlLoop {
    var hasWork: Bool {
        !active.isEmpty || !queue.isEmpty || !timers.isEmpty || !inner.isEmpty
            || !listeners.isEmpty
    }

    /// Reads the mailbox, waits for sockets or time, and carries out what is due.
    ///
    /// - Parameter isDone: asked before the wait: an answer may have come while it was sent.
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

    /// The process is exiting: the driver closes the loop next.
    private func abandon() {
        mailbox.withLock { $0.isClosing = true }
        sawClosing = true
    }

    /// Carries out what the last wait has brought.
    private func handle(_ count: Int) {
        // Not before: what arrives after a long sleep is activity of now.
        now = clock.now()
        // Before the sockets: what a pause came before is not read.
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

    private func callCurl(_ socket: Int32, _ events: Int32) {
        // The exit waits for this turn, which may have many sockets to look at.
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

    /// Timeouts of libcurl, ended transfers, pieces to hand over, deadlines: until nothing is due.
    private func settle() {
        var rounds = 0
        repeat {
            rounds += 1
            readInner()
            if curlDeadline != .never && SystemClock.shared.now() >= curlDeadline {
                curlDeadline = .never
                callCurl(CCURL_TIMEOUT_SOCKET, 0)
            }
            harvest()
            if hasNewRoom {
                hasNewRoom = false
                startWaiting()
            }
            flush()
            if now >= nextSweep { sweep() }
            tellListeners()
            // Whoever answers each end with a start that fails at once does not keep the loop here.
        } while !inner.isEmpty && rounds < 16
    }

    /// Tells somebody when everything that this turn brings about has been told. `false` on a
    /// thread that does not turn the loop, and when there will be no end.
    func atEndOfTurn(_ listener: any TurnListener) -> Bool {
        guard isDrivenHere, refusal == nil else { return false }
        listeners.append(listener)
        return true
    }

    func tellListeners() {
        // Twice: those told first may set others going, which need not wait for the next turn; but
        // nobody who asks again and again keeps the loop from its sockets.
        for _ in 0..<2 where !listeners.isEmpty {
            swap(&listeners, &told)
            for listener in told { listener.turnDidEnd() }
            told.removeAll(keepingCapacity: true)
        }
    }

    /// How long to wait, in milliseconds; `nil` if there is something to do at once.
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
