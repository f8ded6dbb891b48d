// Wherry: close-on-exec for libcurl's wake-up sockets.
// SPDX-License-Identifier: Apache-2.0

internal import CCurl
internal import CLinux

/// The pair of sockets that libcurl 7.88 creates for `curl_multi_wakeup`, without close-on-exec.
///
/// libcurl does not reveal their numbers. A wake-up writes a byte into the pair, and a poll reads
/// it: the descriptors that show both are the pair. Other sockets of the program are only
/// inspected. Newer versions use an eventfd that is close-on-exec, and then nothing is found.
enum WakeupSockets {
    /// - Parameter probe: A descriptor created just after the handle. The kernel assigns the lowest
    ///   free number, so the numbers of the pair are lower, or slightly higher if another thread
    ///   closed descriptors in between.
    static func setCloseOnExec(of multi: UnsafeMutableRawPointer, below probe: Int32) {
        let quiet = (0..<probe + 64).filter { clinux_inherited_pair($0) == 0 }
        guard !quiet.isEmpty, curl_multi_wakeup(multi) == CURLM_OK else { return }
        let awake = quiet.filter { clinux_inherited_pair($0) == 1 }
        var ready: Int32 = 0
        curl_multi_poll(multi, nil, 0, 0, &ready)
        for descriptor in awake where clinux_inherited_pair(descriptor) == 0 {
            _ = clinux_close_on_exec(descriptor)
        }
    }
}
