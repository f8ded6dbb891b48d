// Wherry: the common part of all entry points.
// SPDX-License-Identifier: Apache-2.0

import CWherry
import WherryCore
import WherryHTTP

/// Runs the body of a function that returns a status, and stores its error for `wherry_last_error`.
@inline(__always)
func status(_ body: () throws(WherryError) -> Void) -> wherry_status {
    // Not stored: a forked child always has this last error.
    if ForkGate.isForked { return WHERRY_E_FORKED }
    do throws(WherryError) {
        try body()
        return WHERRY_OK
    } catch {
        return LastError.set(error)
    }
}

/// Runs the body of a function that returns a value, or `otherwise` on failure. Does not change the
/// last error, so that reading a result never hides why there is none.
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
    static let timedOut = WherryError(.timeout, "The wait reached its timeout")
}

/// Returns the output pointer for a result, which must not be NULL.
///
/// - Parameter function: The function that was called, for the message.
@inline(__always)
func required<Pointee>(
    _ out: UnsafeMutablePointer<Pointee>?, function: StaticString = #function
) throws(WherryError) -> UnsafeMutablePointer<Pointee> {
    guard let out else { throw missingResult(function) }
    return out
}

private func missingResult(_ function: StaticString) -> WherryError {
    let name = "\(function)".prefix { $0 != "(" }
    return WherryError(.badArgument, "The pointer for the result of \(name) is NULL")
}

/// Converts the timeout of a wait to nanoseconds; `nil` waits forever.
func nanoseconds(_ milliseconds: Int64) -> Int64? {
    milliseconds < 0 ? nil : .milliseconds(milliseconds)
}
