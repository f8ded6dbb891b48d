// Wherry: how a request uses cookies.
// SPDX-License-Identifier: Apache-2.0

/// How a request uses cookies. The raw values are those of `WHERRY_OPTION_COOKIES` (C14).
public enum CookieHandling: Int64, Sendable, CaseIterable {
    /// The request neither sends nor stores cookies of a jar.
    case off = 0
    /// The request uses the client's jar. A `Cookie` header of the request replaces the jar's cookies.
    case jar = 1
    /// The request uses the client's jar. The cookies of a `Cookie` header are sent in addition, and take
    /// precedence over cookies of the jar with the same name.
    case merged = 2
    /// The request uses a separate jar, which is discarded when the request ends. Redirects receive
    /// the cookies that earlier responses set; other requests do not. A `Cookie` header is merged,
    /// as with ``merged``.
    case isolated = 3

    /// Whether requests share the cookies of the client.
    package var usesClientJar: Bool { self == .jar || self == .merged }
    /// Whether a `Cookie` header is sent together with the jar's cookies.
    package var merges: Bool { self == .merged || self == .isolated }

    /// Returns a `Cookie` header with the cookies of `own`, and those of `jar` with other names.
    static func merge(own: String, jar: String) -> String {
        func cookies(_ field: String) -> [Substring] {
            field.split(separator: ";").map { $0.drop { $0 == " " } }.filter { !$0.isEmpty }
        }
        let first = cookies(own)
        let names = Set(first.map { $0.prefix { $0 != "=" } })
        return (first + cookies(jar).filter { !names.contains($0.prefix { $0 != "=" }) })
            .joined(separator: "; ")
    }
}

extension OptionTable {
    /// The value of `WHERRY_OPTION_COOKIES`.
    package var cookieHandling: CookieHandling { CookieHandling(rawValue: self[.cookies]) ?? .jar }
}
