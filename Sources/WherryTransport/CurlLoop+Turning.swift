// Wherry: one iteration of the loop.
// SPDX-License-Identifier: Apache-2.0

internal import CCurl
internal import CLinux
import WherrySystem

extension CurlLoop {
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

    private func callCurl(_ socket: Int32, _ events: Int32) {
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
