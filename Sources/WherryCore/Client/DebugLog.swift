// Wherry: what happens, said on standard error.
// SPDX-License-Identifier: Apache-2.0

import Synchronization
import WherrySystem

/// Writes one line per event where it is asked for, in one system call, without header values, queries and bodies.
package enum DebugLog {
    package static func started(_ transfer: Transfer) {
        write("Start requesting... \(transfer.id) \(transfer.method) \(transfer.url)")
    }

    package static func ended(_ transfer: Transfer, _ outcome: TransferOutcome) {
        if let error = outcome.error {
            write("Request failed! \(transfer.id) \(error.reason): \(error.message)")
        } else {
            let status = outcome.response.map { " \($0.status), \($0.body.count) bytes" } ?? ""
            write("Request succeed! \(transfer.id)\(status)")
        }
    }

    /// A cache that cannot be had: requests go on without it.
    package static func noCache(_ error: WherryError) {
        write("Nothing is cached! \(error.reason): \(error.message)")
    }

    /// Why no stored answer serves a request that looked for one (K5).
    package static func notServed(_ transfer: Transfer, _ refusal: TimedRefusal) {
        write("Nothing stored serves! \(transfer.id) \(refusal.rawValue)")
    }

    package static func notStored(_ transfer: Transfer) {
        write("The answer was not stored! \(transfer.id)")
    }

    private static let hasWarned = Atomic(false)

    /// Said whether or not anybody asked for what happens, once in a process (S1).
    package static func warnInsecure() {
        guard !hasWarned.exchange(true, ordering: .relaxed) else { return }
        write("a client of this program trusts anybody: certificates are not checked")
    }

    private static func write(_ text: String) {
        // Control bytes of a peer must not reach a terminal (SEC-S2).
        let clean = text.unicodeScalars.map { scalar -> String in
            scalar.value < 0x20 || scalar.value == 0x7F ? "\\u{\(scalar.value)}" : String(scalar)
        }.joined()
        StandardError.write("wherry: \(clean)\n")
    }
}
