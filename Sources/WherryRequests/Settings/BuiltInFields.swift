// Wherry: the User-Agent and Accept-Language headers.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherrySystem
@_spi(_Unicode) import Swift

/// Builds headers from the settings and the environment (C10). Pure functions.
package enum BuiltInFields {
    static let library = "Wherry/\(WherryLibrary.version)"

    /// Returns the configured User-Agent, or the default built from the application's name and
    /// version.
    package static func userAgent(_ values: ClientSettings.Values) -> String {
        if let whole = values.texts[.userAgent] { return whole }
        guard let name = values.texts[.appName] else { return library }
        return userAgent(name, version: values.texts[.appVersion] ?? "1")
    }

    /// Returns a User-Agent such as "name/version (Linux x86_64) Wherry/0.1.0": two products and a
    /// comment (RFC 9110, section 10.1.5). Contains no system details that would help an attacker.
    package static func userAgent(_ name: String, version: String) -> String {
        let product = version.isEmpty ? token(name) : "\(token(name))/\(token(version))"
        return "\(product) (Linux \(machine)) \(library)"
    }

    /// Converts a text to a token: replaces spaces with dashes, drops accents, and escapes the
    /// rest.
    private static func token(_ text: String) -> String {
        var bytes: [UInt8] = []
        for scalar in text._nfd {
            if (0x0300...0x036F).contains(scalar.value) { continue }
            let encoded = Array(UTF8.encode(scalar)!)
            if scalar == " " {
                bytes.append(UInt8(ascii: "-"))
            } else if encoded.count == 1, FieldRules.isTokenByte(encoded[0]), scalar != "%" {
                bytes.append(encoded[0])
            } else {
                for byte in encoded { PercentCoding.append(byte, to: &bytes) }
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static var machine: String {
        #if arch(x86_64)
            "x86_64"
        #elseif arch(arm64)
            "aarch64"
        #else
            "other"
        #endif
    }

    /// Returns the user's languages, read from the environment in the same way as gettext. Each
    /// language after the first has a weight that is lower by 0.1: "de-AT, de;q=0.9, en;q=0.8". At
    /// most six; `nil` if there are none.
    package static func acceptLanguage(_ variable: (String) -> String?) -> String? {
        let locale = variable("LC_ALL") ?? variable("LC_MESSAGES") ?? variable("LANG") ?? ""
        guard let first = tag(locale) else { return nil }
        var tags = (variable("LANGUAGE") ?? "").split(separator: ":").compactMap { tag(String($0)) }
        if tags.isEmpty { tags = [first] }
        var known: [String] = []
        for tag in tags where !known.contains(tag) { known.append(tag) }
        return known.prefix(6).enumerated().map { index, tag in
            index == 0 ? tag : "\(tag);q=0.\(10 - index)"
        }.joined(separator: ", ")
    }

    /// Converts a locale such as "de_AT.UTF-8@euro" to "de-AT" (RFC 5646). `nil` if it names no
    /// language.
    private static func tag(_ locale: String) -> String? {
        let name = locale.prefix { $0 != "." && $0 != "@" }
        let parts = name.split(separator: "_", omittingEmptySubsequences: false)
        guard name != "C", name != "POSIX", let language = parts.first,
            (2...3).contains(language.utf8.count), parts.count <= 2,
            parts.allSatisfy({ part in
                (2...8).contains(part.utf8.count)
                    && part.utf8.allSatisfy {
                        UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0 | 0x20
                            || UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0
                    }
            })
        else { return nil }
        return parts.joined(separator: "-")
    }
}
