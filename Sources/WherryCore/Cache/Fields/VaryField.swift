// Wherry: which fields of the request an answer depends on.
// SPDX-License-Identifier: Apache-2.0

/// The Vary field (RFC 9110, section 12.5.5).
package enum VaryField: Hashable, Sendable {
    /// On these fields: lower case, sorted, each once; none where there is no Vary.
    case fields([String])
    /// On more than can be compared: `*`, or what is no list of names.
    case anything

    /// Reads the values of all lines of the field.
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
