// Wherry: the options that the transport reads, from the table.
// SPDX-License-Identifier: Apache-2.0
// Written by scripts/make-options from options.toml.

import WherryTransport

extension TransportOptions {
    /// Reads the table of options.
    package init(_ options: OptionTable) {
        self.init()
        maxHeaderBytes = options[.maxHeaderBytes]
        maxSendSpeed = options[.maxSendSpeed]
        maxReceiveSpeed = options[.maxReceiveSpeed]
        denyMetered = options[.denyMetered] == 1
    }
}
