// Wherry: the outcome of a transfer.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// The outcome of a transfer.
package struct TransferOutcome: Sendable {
    package var response: Response?
    package var error: WherryError?
    /// The path of a finished download.
    package var path: String?
    /// The computed digests of a download.
    package var digests: [DigestAlgorithm: [UInt8]] = [:]

    package init(response: Response? = nil, error: WherryError? = nil, path: String? = nil) {
        self.response = response
        self.error = error
        self.path = path
    }

    package var state: TransferState {
        guard let error else { return .done }
        return error.code == .cancelled ? .cancelled : .failed
    }
}
