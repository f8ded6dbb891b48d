// Wherry: the Vary header.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP

/// The Vary header (RFC 9110, section 12.5.5).
package enum VaryField: Hashable, Sendable {
    /// Sorted, unique, lower-case header names; empty without Vary.
    case fields([String])
    /// Not comparable: `*`, or a malformed list.
    case anything

    /// Parses all lines of the header.
    package init(_ lines: [String]) {
        var names: Set<String> = []
        for line in lines {
            for member in line.split(separator: ",") {
                let name = String(member).trimmingFieldSpace
                if name.isEmpty { continue }
                guard name != "*", FieldRules.isToken(name.utf8) else {
                    self = .anything
                    return
                }
                names.insert(name.lowercased())
            }
        }
        self = .fields(names.sorted())
    }
}
