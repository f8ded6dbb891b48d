// Wherry: what every entry point does around its work.
// SPDX-License-Identifier: Apache-2.0

import CWherry
import WherryCore

/// Runs the body of a function that answers with a status, and keeps what went wrong for
/// `wherry_last_error`.
@inline(__always)
func status(_ body: () throws(WherryError) -> Void) -> wherry_status {
    // Kept nowhere: in a forked child it is the last error all the time.
    if ForkGate.isForked { return WHERRY_E_FORKED }
    do throws(WherryError) {
        try body()
        return WHERRY_OK
    } catch {
        return LastError.set(error)
    }
}

/// Runs the body of a function that answers with a value, or `otherwise` if it cannot. It leaves
/// the last error alone, so that reading a result never hides why there is none.
@inline(__always)
func value<Value>(_ otherwise: Value, _ body: () throws(WherryError) -> Value) -> Value {
    if ForkGate.isForked { return otherwise }
    do throws(WherryError) {
        return try body()
    } catch {
        return otherwise
    }
}

extension WherryError {
    static let timedOut = WherryError(.timeout, "Nothing came in the time that was given")
}

/// The place for a result, which must not be NULL.
@inline(__always)
func required<Pointee>(
    _ out: UnsafeMutablePointer<Pointee>?
) throws(WherryError) -> UnsafeMutablePointer<Pointee> {
    guard let out else {
        throw WherryError(.badArgument, "A pointer for the result is NULL")
    }
    return out
}

/// Nanoseconds for a wait of so many milliseconds; `nil` for ever.
func nanoseconds(_ milliseconds: Int64) -> Int64? {
    milliseconds < 0 ? nil : .milliseconds(milliseconds)
}
