// Wherry: close-on-exec for libcurl's wake-up sockets.
// SPDX-License-Identifier: Apache-2.0

internal import CCurl
internal import CLinux

/// The pair of sockets that libcurl 7.88 creates for `curl_multi_wakeup`, without close-on-exec.
///
/// libcurl does not expose the descriptors. Each wake-up writes a byte into the pair, and a poll
/// reads all of them. The pair is found by six checks: after one, two and three wake-ups, the
/// number of waiting bytes must match, and after each poll it must be zero. The checks do not read
/// from other sockets of the program, which would not pass all six by chance. Newer versions of
/// libcurl use an eventfd with close-on-exec; then no pair is found.
enum WakeupSockets {
    /// - Parameter probe: A descriptor created just after the handle. The kernel assigns the lowest
    ///   free number, so the numbers of the pair are lower, or slightly higher if another thread
    ///   closed descriptors in between.
    static func setCloseOnExec(of multi: UnsafeMutableRawPointer, below probe: Int32) {
        setCloseOnExec(
            below: probe, wake: { curl_multi_wakeup(multi) == CURLM_OK },
            drain: {
                var ready: Int32 = 0
                curl_multi_poll(multi, nil, 0, 0, &ready)
            })
    }

    /// The numbers of bytes waiting in a socket, and of bytes that its peer has not read.
    private struct Queue: Equatable {
        var unread: Int32 = 0
        var unsent: Int32 = 0

        static func * (queue: Queue, count: Int32) -> Queue {
            Queue(unread: queue.unread &* count, unsent: queue.unsent &* count)
        }
    }

    private static func queue(_ descriptor: Int32) -> Queue? {
        var waiting = Queue()
        let found = clinux_inherited_pair(descriptor, &waiting.unread, &waiting.unsent) == 0
        return found ? waiting : nil
    }

    /// - Parameters:
    ///   - wake: Writes a byte into the pair.
    ///   - drain: Reads all bytes from the pair.
    static func setCloseOnExec(below probe: Int32, wake: () -> Bool, drain: () -> Void) {
        var candidates = (0..<probe + 64).filter { queue($0) == Queue() }
        /// The queue of each descriptor after one wake-up.
        var units: [Int32: Queue] = [:]
        for count in Int32(1)...3 {
            guard !candidates.isEmpty else { return }
            for _ in 0..<count where !wake() { return }
            candidates = candidates.filter { descriptor in
                guard let waiting = queue(descriptor), waiting != Queue() else { return false }
                guard count > 1 else {
                    units[descriptor] = waiting
                    return waiting.unread <= 1
                }
                return units[descriptor].map { $0 * count } == waiting
            }
            drain()
            candidates = candidates.filter { queue($0) == Queue() }
        }
        for descriptor in candidates { _ = clinux_close_on_exec(descriptor) }
    }
}
