// Wherry: the two sockets of a multi handle that programs started later must not inherit.
// SPDX-License-Identifier: Apache-2.0

internal import CCurl
internal import CLinux

/// The pair of sockets that libcurl 7.88 makes for `curl_multi_wakeup`, without close-on-exec.
///
/// libcurl offers no way to ask for their numbers. A wake-up puts a byte into the pair, and a poll takes it out
/// again: the descriptors that show both are the two. Other sockets of the program are only looked
/// at. Newer versions use an eventfd that is close-on-exec, and then nothing is found.
enum WakeupSockets {
    /// - Parameter probe: a descriptor that was made just after the handle. The kernel gives the
    ///   lowest free number, so the numbers of the pair are lower, or little higher if another thread
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
