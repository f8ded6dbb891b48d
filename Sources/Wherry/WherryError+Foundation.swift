// Wherry: errors as Foundation's localized errors.
// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

/// Makes `error.localizedDescription` the message of the error. Without it, Foundation shows "The
/// operation could not be completed".
extension WherryError: LocalizedError {
    /// ``message``: what failed, why, and what to do.
    public var errorDescription: String? { message }
    /// ``reason``: the stable identifier listed in docs/errors.md, such as "stalled".
    public var failureReason: String? { reason }
}
