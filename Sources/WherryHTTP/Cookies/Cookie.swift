// Wherry: cookies.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem
import WherryTransport

/// A cookie of a server (RFC 6265) in a ``CookieJar``.
public struct Cookie: Sendable, Hashable {
    /// The name; never empty if the value is empty.
    public let name: String
    /// The value as received, without surrounding spaces.
    public let value: String
    /// The domain, in lower case and without a leading dot.
    public let domain: String
    /// The path, which starts with a slash.
    public let path: String
    /// Whether the cookie is sent only to ``domain``, and not to its subdomains.
    public let isHostOnly: Bool
    /// Whether the cookie is sent only over https.
    public let isSecure: Bool
    /// Whether scripts in a browser must not see the cookie. Stored, but has no effect in Wherry.
    public let isHTTPOnly: Bool
    /// The expiry time in seconds since 1970; `nil` for a session cookie, which ends with its
    /// client.
    public let expires: Int64?

    /// The maximum size of name and value together.
    private static let maxBytes = 4096
    /// The maximum lifetime: 400 days. Later expiry times are reduced to it.
    private static let maxAge: Int64 = 400 * 86_400

    init(
        name: String, value: String, domain: String, path: String, isHostOnly: Bool,
        isSecure: Bool, isHTTPOnly: Bool, expires: Int64?
    ) {
        self.name = name
        self.value = value
        self.domain = domain
        self.path = path
        self.isHostOnly = isHostOnly
        self.isSecure = isSecure
        self.isHTTPOnly = isHTTPOnly
        self.expires = expires
    }

    /// Parses a `Set-Cookie` header from a response to `url` (RFC 6265, sections 5.2 and 5.3).
    ///
    /// - Returns: `nil` for a rejected cookie: for another host, for a public suffix, with a
    ///   control character, or from a host with a trailing dot.
    package init?(setCookie text: String, from url: HTTPURL, now: Int64) {
        guard let host = Self.host(of: url), text.utf8.count <= 65_536,
            !text.utf8.contains(where: { $0 < 0x20 && $0 != 0x09 || $0 == 0x7F })
        else { return nil }
        var parts = text.split(separator: ";", omittingEmptySubsequences: false).makeIterator()
        guard let pair = parts.next() else { return nil }
        let (first, rest) = Self.split(pair)
        // Without an equals sign it is a value without a name.
        let (name, value) = rest.map { (first, $0) } ?? ("", first)
        // A value that looks like a pair would be sent as the cookie of that name. It would bypass
        // name prefix rules and could replace a secure cookie (RFC 6265bis, section 5.7).
        guard !(name.isEmpty && (value.isEmpty || value.utf8.contains(0x3D))),
            name.utf8.count + value.utf8.count <= Self.maxBytes
        else { return nil }
        var domain: String?
        var path: String?
        var (isSecure, isHTTPOnly) = (false, false)
        var (maxAge, expires): (Int64?, Int64?) = (nil, nil)
        while let part = parts.next() {
            let (word, given) = Self.split(part)
            let text = given ?? ""
            guard text.utf8.count <= 1024 else { continue }
            switch word.asciiLowercased {
            case "domain": domain = text
            case "path": path = text
            case "secure": isSecure = true
            case "httponly": isHTTPOnly = true
            case "max-age": maxAge = Self.seconds(text) ?? maxAge
            case "expires": expires = CookieDate.seconds(text) ?? expires
            default: break
            }
        }
        guard let scope = Self.scope(domain ?? "", of: host) else { return nil }
        // An attacker on the network must not be able to set a cookie that passes for one set over
        // TLS.
        if isSecure, !url.origin.isSecure { return nil }
        let chosen = path.flatMap { $0.utf8.first == 0x2F ? $0 : nil } ?? Self.defaultPath(of: url)
        let prefix = name.asciiLowercased
        if prefix.hasPrefix("__secure-") || prefix.hasPrefix("__host-"), !isSecure { return nil }
        if prefix.hasPrefix("__host-"), !scope.isHostOnly || chosen != "/" { return nil }
        if let maxAge {
            expires = maxAge <= 0 ? Int64.min : now.addingSaturating(min(maxAge, Self.maxAge))
        } else if let end = expires {
            expires = min(end, now.addingSaturating(Self.maxAge))
        }
        self.init(
            name: name, value: value, domain: scope.domain, path: chosen,
            isHostOnly: scope.isHostOnly, isSecure: isSecure, isHTTPOnly: isHTTPOnly,
            expires: expires)
    }

    /// Returns the host for cookie rules. `nil` for a host with a trailing dot: it names the same
    /// host, but would bypass the rules.
    static func host(of url: HTTPURL) -> String? {
        let host = url.origin.host
        return host.utf8.last == 0x2E ? nil : host
    }

    /// Returns the domain and host-only flag of a cookie from `host` with a Domain attribute, ""
    /// for none.
    private static func scope(
        _ domain: String, of host: String
    ) -> (domain: String, isHostOnly: Bool)? {
        var domain = domain.asciiLowercased
        if domain.utf8.first == 0x2E { domain.removeFirst() }
        guard !domain.isEmpty else { return (host, true) }
        guard domain.utf8.last != 0x2E, domain.utf8.allSatisfy({ $0 < 0x80 }) else { return nil }
        if isAddress(host) { return domain == host ? (host, true) : nil }
        guard matches(host, domain) else { return nil }
        if PublicSuffix.contains(domain) { return domain == host ? (host, true) : nil }
        return (domain, false)
    }

    /// Returns whether `host` is the domain or a subdomain.
    static func matches(_ host: String, _ domain: String) -> Bool {
        host == domain || (host.hasSuffix("." + domain) && !isAddress(host))
    }

    static func isAddress(_ host: String) -> Bool {
        host.utf8.first == 0x5B || host.utf8.allSatisfy { $0 == 0x2E || ($0 >= 0x30 && $0 <= 0x39) }
    }

    /// Returns the URL's path up to the last slash, exclusive (section 5.1.4).
    private static func defaultPath(of url: HTTPURL) -> String {
        let path = url.path
        guard let last = path.utf8.lastIndex(of: 0x2F), last > path.startIndex else { return "/" }
        return String(path[..<last])
    }

    /// Returns whether the cookie is sent to a URL.
    func belongs(to url: HTTPURL, host: String) -> Bool {
        guard isHostOnly ? host == domain : Self.matches(host, domain) else { return false }
        if isSecure, !url.origin.isSecure { return false }
        return Self.isPath(url.path.isEmpty ? "/" : url.path, within: path)
    }

    /// Returns whether a path equals another one or is below it (section 5.1.4).
    static func isPath(_ path: some StringProtocol, within other: String) -> Bool {
        guard path.utf8.starts(with: other.utf8) else { return false }
        return path.utf8.count == other.utf8.count || other.utf8.last == 0x2F
            || path.utf8.dropFirst(other.utf8.count).first == 0x2F
    }

    /// Returns whether a newer cookie replaces this one.
    func isSame(as other: Cookie) -> Bool {
        name == other.name && domain == other.domain && path == other.path
            && isHostOnly == other.isHostOnly
    }

    private static func split(_ part: Substring) -> (String, String?) {
        guard let equal = part.utf8.firstIndex(of: 0x3D) else {
            return (String(part).trimmingFieldSpace, nil)
        }
        return (
            String(part[..<equal]).trimmingFieldSpace,
            String(part[part.utf8.index(after: equal)...]).trimmingFieldSpace
        )
    }

    /// Parses digits with an optional minus sign; saturates.
    private static func seconds(_ text: String) -> Int64? {
        let isNegative = text.utf8.first == 0x2D
        let digits = text.utf8.dropFirst(isNegative ? 1 : 0)
        guard !digits.isEmpty, digits.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else { return nil }
        return isNegative ? -1 : FieldScanner.number(digits) ?? .max
    }
}

/// Printing a cookie never shows its value.
extension Cookie: CustomStringConvertible, CustomReflectable {
    /// Name, domain and path.
    public var description: String { "Cookie(\(name)=..., \(domain)\(path))" }
    /// Name, domain and path.
    public var customMirror: Mirror {
        Mirror(self, children: ["name": name, "domain": domain, "path": path])
    }
}

/// Cookie dates (RFC 6265, section 5.1.1).
enum CookieDate {
    private static let months = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ]

    /// Parses a date to seconds since 1970; `nil` if invalid.
    static func seconds(_ text: String) -> Int64? {
        var time: (Int64, Int64, Int64)?
        var (day, month, year): (Int64?, Int64?, Int64?) = (nil, nil, nil)
        let words = text.asciiLowercased.utf8.split { byte in
            !(byte >= 0x30 && byte <= 0x3A || byte >= 0x61 && byte <= 0x7A || byte >= 0x80)
        }
        for word in words {
            let digits = word.prefix { $0 >= 0x30 && $0 <= 0x39 }
            if time == nil, let found = clock(word) {
                time = found
            } else if day == nil, (1...2).contains(digits.count) {
                day = FieldScanner.number(digits)
            } else if month == nil, word.count >= 3,
                let index = months.firstIndex(where: { word.starts(with: $0.utf8) })
            {
                month = Int64(index + 1)
            } else if year == nil, (2...4).contains(digits.count) {
                year = FieldScanner.number(digits)
            }
        }
        guard let time, let day, let month, var year else { return nil }
        if year < 100 { year += year < 70 ? 2000 : 1900 }
        guard (1...31).contains(day), year >= 1601, time.0 < 24, time.1 < 60, time.2 < 60 else {
            return nil
        }
        // Days since 1970 in the proleptic Gregorian calendar, with years that begin in March.
        let shifted = month > 2 ? year : year - 1
        let era = shifted / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        let days =
            era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
            - 719_468
        return days * 86_400 + time.0 * 3600 + time.1 * 60 + time.2
    }

    private static func clock(_ word: some Collection<UInt8>) -> (Int64, Int64, Int64)? {
        let parts = word.split(separator: 0x3A, omittingEmptySubsequences: false)
        guard parts.count >= 3 else { return nil }
        let numbers = parts.prefix(3).compactMap { part -> Int64? in
            let digits = part.prefix { $0 >= 0x30 && $0 <= 0x39 }
            return (1...2).contains(digits.count) ? FieldScanner.number(digits) : nil
        }
        return numbers.count == 3 ? (numbers[0], numbers[1], numbers[2]) : nil
    }
}
