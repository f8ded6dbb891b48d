// Wherry: warnings about trust policies.
// SPDX-License-Identifier: Apache-2.0

import WherryLogging
import WherryRequests

extension ClientLog {
    /// Warns about settings of a trust policy that weaken security, whatever the log level: each
    /// once in a process (S1, S3).
    package static func warn(of trust: TrustPolicy) {
        if trust.trustsAnybody {
            return warn(
                "a client of this program trusts anybody: certificates are not checked", .insecure)
        }
        if trust.allowsInvalidCertificates {
            warn(
                "a client of this program allows invalid certificates: pins alone vouch for them",
                .invalidCertificates)
        }
        if !trust.checksName {
            warn(
                "a client of this program does not check whose name a certificate is for", .anyName)
        }
    }
}
