// Wherry: replaces the one file of swift-argument-parser that imports Foundation.
// SPDX-License-Identifier: Apache-2.0

import Glibc

extension Error {
    func describe() -> String { String(describing: self) }
}

/// Serves `--experimental-dump-help`, which only a build by SwiftPM offers.
enum JSONEncoder {
    static func encode(_ value: some Encodable) -> String {
        let message = "wherry: --experimental-dump-help needs a build by SwiftPM\n"
        _ = message.withCString { write(STDERR_FILENO, $0, strlen($0)) }
        exit(2)
    }
}
