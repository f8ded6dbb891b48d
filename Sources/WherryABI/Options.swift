// Wherry: wherry.h, section 3: validation of option numbers.
// SPDX-License-Identifier: Apache-2.0

import CWherry
import WherryCore
import WherryHTTP
import WherryRequests

/// Returns the numeric option with a number.
func option(_ number: wherry_option) throws(WherryError) -> Option {
    guard let option = Option(rawValue: Int32(truncatingIfNeeded: number.rawValue)) else {
        throw WherryError(
            .badOption, "Unknown option \(number.rawValue). Pass a constant of wherry_option.")
    }
    return option
}

/// Returns the text option with a number.
func option(_ number: wherry_text_option) throws(WherryError) -> TextOption {
    guard let option = TextOption(rawValue: Int32(truncatingIfNeeded: number.rawValue)) else {
        throw WherryError(
            .badOption,
            "Unknown text option \(number.rawValue). Pass a constant of wherry_text_option.")
    }
    return option
}

/// Returns credentials; `nil` without a user name.
func credentials(
    _ auth: wherry_auth, _ user: UnsafePointer<CChar>?, _ password: UnsafePointer<CChar>?
) throws(WherryError) -> Credentials? {
    guard let scheme = Credentials.Scheme(rawValue: Int64(auth.rawValue)) else {
        throw WherryError(
            .badValue,
            "Unknown authentication scheme \(auth.rawValue). Pass a constant of wherry_auth.")
    }
    guard let user = try optionalText(user, "user") else { return nil }
    let credentials = Credentials(
        user: user, password: try optionalText(password, "password") ?? "", scheme: scheme)
    try credentials.check()
    return credentials
}

/// Returns the callbacks enabled by a bit mask.
func hooks(_ bits: UInt32) throws(WherryError) -> HookSet {
    let set = HookSet(rawValue: bits)
    guard HookSet.all.isSuperset(of: set) else {
        throw WherryError(
            .badValue, "Unknown hooks \(bits). Combine constants of wherry_hook.")
    }
    return set
}
