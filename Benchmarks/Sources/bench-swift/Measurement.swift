// Wherry: measurements of every benchmark driver; see Benchmarks/c/bench.h.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc

/// Time and memory from `init` to `end`.
struct Measurement {
    private var wall = seconds(CLOCK_MONOTONIC)
    private var cpu = seconds(CLOCK_PROCESS_CPUTIME_ID)
    private let startKiB: Int

    init() {
        // 5 resets the peak.
        try? "5".write(toFile: "/proc/self/clear_refs", atomically: false, encoding: .utf8)
        startKiB = Self.statusKiB("VmRSS:")
    }

    /// Starts the clocks again after a first request whose memory counts, but whose time does not.
    mutating func restart() {
        wall = Self.seconds(CLOCK_MONOTONIC)
        cpu = Self.seconds(CLOCK_PROCESS_CPUTIME_ID)
    }

    /// Prints the line of JSON.
    func end(done: Int, failed: Int, bytes: Int64) {
        let wall = Self.seconds(CLOCK_MONOTONIC) - wall
        let cpu = Self.seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu
        let peak = Self.statusKiB("VmHWM:")
        print(
            "{\"wall_s\": \(wall), \"cpu_s\": \(cpu), \"done\": \(done), \"failed\": \(failed), "
                + "\"bytes\": \(bytes), \"start_kib\": \(startKiB), \"peak_kib\": \(peak)}")
    }

    private static func seconds(_ clock: clockid_t) -> Double {
        var time = timespec()
        clock_gettime(clock, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    private static func statusKiB(_ name: String) -> Int {
        guard let text = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8),
            let line = text.split(separator: "\n").first(where: { $0.hasPrefix(name) })
        else { return -1 }
        return line.split(whereSeparator: { !$0.isNumber }).first.flatMap { Int($0) } ?? -1
    }
}
