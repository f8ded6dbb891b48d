// Wherry: URLs as they are typed.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

enum Address {
    /// Returns the URL that was meant: with `http://` if it has no scheme, as in curl, and with bytes that
    /// are not UTF-8 escaped.
    static func complete(_ text: String) -> String {
        var url = ""
        for scalar in text.unicodeScalars {
            if (0xEF80...0xEFFF).contains(scalar.value) {
                url += "%" + String(scalar.value - 0xEF00, radix: 16, uppercase: true)
            } else {
                url.unicodeScalars.append(scalar)
            }
        }
        guard !url.isEmpty, !url.hasPrefix("/"), !url.contains("://") else { return url }
        return "http://" + url
    }
}
