// Wherry: the cookies of a client.
// SPDX-License-Identifier: Apache-2.0

import Synchronization
import WherrySystem
import WherryTransport

/// The cookies of a client (RFC 6265), in memory and optionally in a file.
///
/// Every request reads and updates the jar, including each redirect, unless `Request.usesCookies`
/// is `false`. Thread-safe. Cookies are scoped by domain, path and TLS, with public suffixes from
/// libpsl. Hosts with a trailing dot have no cookies.
public final class CookieJar: Sendable {
    private struct Kept {
        var cookie: Cookie
        /// The creation order, which decides the order of sending.
        var number: UInt64
        var lastUse: UInt64
        /// Whether the program or its cookie file set the cookie, so that it identifies the user.
        var isGiven: Bool
    }
    private struct State {
        /// The cookies by domain.
        var cookies: [String: [Kept]] = [:]
        var count = 0
        var number: UInt64 = 0

        /// Returns whether a Secure cookie of the same name exists for the domain, a parent domain
        /// or a subdomain, and the path or a parent path. A plain cookie could pass for it (RFC
        /// 6265bis, section 5.7, "leave secure cookies alone").
        func hasSecure(around new: Cookie, at now: Int64) -> Bool {
            cookies.contains { domain, kept in
                kept.contains { kept in
                    let old = kept.cookie
                    return old.isSecure && old.name == new.name && (old.expires ?? .max) > now
                        && Cookie.isPath(new.path, within: old.path)
                        && (Cookie.matches(new.domain, domain)
                            || Cookie.matches(domain, new.domain))
                }
            }
        }
    }
    private let state = Lock(State())
    /// Whether the jar has cookies, so that a client without cookies takes no lock.
    private let hasAny = Atomic(false)
    /// Whether the program has ever set a cookie.
    private let hasGiven = Atomic(false)
    private let clock: any Clock

    static let maxPerDomain = 50
    static let maxCount = 3000
    /// The maximum number of Set-Cookie headers per response, and of bytes in a Cookie header.
    private static let maxPerResponse = 50
    private static let maxFieldBytes = 8190

    package init(clock: any Clock) { self.clock = clock }

    private var now: Int64 { Int64(clock.wallSeconds()) }

    /// Whether the jar is empty.
    public var isEmpty: Bool { !hasAny.load(ordering: .relaxed) }

    // MARK: Requests

    /// Returns the `Cookie` header for a URL; `nil` for none.
    package func field(for url: HTTPURL) -> String? {
        let found = found(for: url)
        guard !found.isEmpty else { return nil }
        // Longer paths first, then older cookies (section 5.4).
        let sorted = found.sorted { a, b in
            let (first, second) = (a.cookie.path.utf8.count, b.cookie.path.utf8.count)
            return first == second ? a.number < b.number : first > second
        }
        var field = ""
        for kept in sorted {
            let cookie = kept.cookie
            let pair = cookie.name.isEmpty ? cookie.value : "\(cookie.name)=\(cookie.value)"
            guard field.utf8.count + pair.utf8.count + 2 <= Self.maxFieldBytes else { continue }
            field += field.isEmpty ? pair : "; \(pair)"
        }
        return field.isEmpty ? nil : field
    }

    /// Returns the cookies for a URL that the program or its cookie file set, as text; `nil` for
    /// none.
    ///
    /// Caches use it to separate the responses of different users. A value that a server has
    /// changed since still counts; cookies that only a server set do not.
    package func identity(for url: @autoclosure () -> HTTPURL?) -> String? {
        guard hasGiven.load(ordering: .relaxed), let url = url() else { return nil }
        let given = found(for: url).filter(\.isGiven).map { kept in
            "\(kept.cookie.domain)\t\(kept.cookie.path)\t\(kept.cookie.name)\t\(kept.cookie.value)"
        }
        return given.isEmpty ? nil : given.sorted().joined(separator: "\n")
    }

    private func found(for url: HTTPURL) -> [Kept] {
        guard hasAny.load(ordering: .relaxed), let host = Cookie.host(of: url) else { return [] }
        let now = now
        return state.withLock { state -> [Kept] in
            var found: [Kept] = []
            var name = Substring(host)
            while true {
                let domain = String(name)
                if var kept = state.cookies[domain] {
                    for index in kept.indices
                    where kept[index].cookie.belongs(to: url, host: host)
                        && (kept[index].cookie.expires ?? .max) > now
                    {
                        state.number += 1
                        kept[index].lastUse = state.number
                        found.append(kept[index])
                    }
                    state.cookies[domain] = kept
                }
                guard !Cookie.isAddress(host), let dot = name.utf8.firstIndex(of: 0x2E) else {
                    break
                }
                name = name[name.utf8.index(after: dot)...]
            }
            return found
        }
    }

    /// Stores the cookies of a response.
    package func take(_ head: ResponseHead, from origin: @autoclosure () -> HTTPURL) {
        guard head.mayHaveCookies else { return }
        let fields = head.values("set-cookie")
        guard !fields.isEmpty else { return }
        let (url, now) = (origin(), now)
        for text in fields.prefix(Self.maxPerResponse) {
            guard let cookie = Cookie(setCookie: text, from: url, now: now) else { continue }
            keep(cookie, isFromSecure: url.origin.isSecure, now: now)
        }
    }

    @discardableResult
    private func keep(
        _ cookie: Cookie, isFromSecure: Bool, now: Int64, isGiven: Bool = false
    ) -> Bool {
        if isGiven { hasGiven.store(true, ordering: .relaxed) }
        return state.withLock { state in
            var kept = state.cookies[cookie.domain] ?? []
            // A response over plain HTTP must not change cookies set over TLS.
            if !isFromSecure, state.hasSecure(around: cookie, at: now) {
                return false
            }
            let before = kept.count
            var number = state.number + 1
            var isGiven = isGiven
            if let index = kept.firstIndex(where: { $0.cookie.isSame(as: cookie) }) {
                let old = kept.remove(at: index)
                number = old.number
                isGiven = isGiven || old.isGiven
            }
            state.number += 1
            if (cookie.expires ?? .max) > now {
                kept.append(
                    Kept(
                        cookie: cookie, number: number, lastUse: state.number, isGiven: isGiven))
                if kept.count > Self.maxPerDomain {
                    kept.removeAll { ($0.cookie.expires ?? .max) <= now }
                }
                if kept.count > Self.maxPerDomain,
                    let oldest = kept.indices.min(by: { kept[$0].lastUse < kept[$1].lastUse })
                {
                    kept.remove(at: oldest)
                }
            }
            state.count += kept.count - before
            state.cookies[cookie.domain] = kept.isEmpty ? nil : kept
            if state.count > Self.maxCount { Self.evict(&state, now: now) }
            hasAny.store(state.count > 0, ordering: .relaxed)
            return true
        }
    }

    /// Makes room: removes expired cookies first, then the least recently used.
    private static func evict(_ state: inout State, now: Int64) {
        remove(&state) { ($0.cookie.expires ?? .max) <= now }
        guard state.count > maxCount else { return }
        let uses = state.cookies.values.joined().map(\.lastUse).sorted()
        // Removes a tenth at once, so that not every further cookie scans all of them.
        let limit = uses[min(uses.count - 1, maxCount / 10)]
        remove(&state) { $0.lastUse < limit }
    }

    private static func remove(_ state: inout State, where test: (Kept) -> Bool) {
        for (domain, kept) in state.cookies {
            let left = kept.filter { !test($0) }
            state.count -= kept.count - left.count
            state.cookies[domain] = left.isEmpty ? nil : left
        }
    }

    // MARK: Programs

    /// All cookies that have not expired, by domain and in the order of creation.
    public var all: [Cookie] {
        let now = now
        return state.withLock { state in
            state.cookies.sorted { $0.key < $1.key }.flatMap { entry in
                entry.value.sorted { $0.number < $1.number }.map(\.cookie)
                    .filter { ($0.expires ?? .max) > now }
            }
        }
    }

    /// Adds a cookie as if the server of a URL had sent the `Set-Cookie` header:
    /// `"a=1; Path=/; Max-Age=60"`.
    ///
    /// - Throws: `bad_url`; `bad_value` for a rejected cookie.
    public func set(_ setCookie: String, for url: String) throws(WherryError) {
        let parsed = try Self.parse(url)
        guard let cookie = Cookie(setCookie: setCookie, from: parsed, now: now),
            keep(cookie, isFromSecure: parsed.origin.isSecure, now: now, isGiven: true)
        else {
            throw WherryError(
                .badValue,
                "\(parsed.origin.text) may not set this cookie: see RFC 6265, section 5.3")
        }
    }

    /// Adds a cookie with a name and a value for the host of a URL and all of its paths.
    public func set(_ name: String, _ value: String, for url: String) throws(WherryError) {
        let isToken = FieldRules.isToken(name.utf8)
        guard isToken, !value.utf8.contains(where: { $0 == 0x3B || $0 < 0x20 || $0 == 0x7F }) else {
            throw WherryError(
                .badValue,
                "The cookie is not valid. Use a token as its name, and no semicolon or control character in its value."
            )
        }
        try set("\(name)=\(value); Path=/", for: url)
    }

    /// Removes all cookies, or those that would be sent to a URL.
    public func clear(_ url: String? = nil) throws(WherryError) {
        let parsed = try url.map { text throws(WherryError) in try Self.parse(text) }
        state.withLock { state in
            if let parsed, let host = Cookie.host(of: parsed) {
                Self.remove(&state) { $0.cookie.belongs(to: parsed, host: host) }
            } else if parsed == nil {
                state.cookies = [:]
                state.count = 0
            }
            hasAny.store(state.count > 0, ordering: .relaxed)
        }
    }

    private static func parse(_ url: String) throws(WherryError) -> HTTPURL {
        do {
            return try HTTPURL(url, as: "URL of a cookie")
        } catch {
            throw WherryError(.badURL, error.message)
        }
    }

    // MARK: Files

    /// Saves all cookies to a file in the Netscape format, which curl, wget and Python's
    /// `http.cookiejar` read. Mode 0600. Replaces an existing file atomically.
    ///
    /// - Parameter sessions: Whether to include session cookies. Default: true.
    /// - Throws: `bad_path` and file errors.
    public func save(to path: String, sessions: Bool = true) throws(WherryError) {
        var text =
            "# Netscape HTTP Cookie File\n"
            + "# Written by Wherry. Anyone who can read this file can act as you.\n\n"
        for cookie in all where sessions || cookie.expires != nil {
            text += Self.line(cookie)
        }
        do {
            let (parent, name) = Directory.split(try Directory.absolute(path))
            let folder = try Directory.open(parent)
            // Renaming would replace a device such as /dev/null by a file.
            if try folder.status(of: name, following: true)?.kind == .other {
                return try File.open(name, [.write, .following], in: folder).write(
                    Array(text.utf8), at: 0)
            }
            let temporary = ".\(name.prefix(100)).\(try SystemRandom.hex(byteCount: 4)).tmp"
            try folder.write([Bytes(text)], to: name, temporary: temporary)
        } catch {
            throw WherryError(error)
        }
    }

    private static func line(_ cookie: Cookie) -> String {
        // A tab would start the next column, and a leading "#" a comment.
        guard !"\(cookie.name)\(cookie.value)\(cookie.path)".utf8.contains(0x09) else { return "" }
        return [
            (cookie.isHTTPOnly ? "#HttpOnly_" : "") + (cookie.isHostOnly ? "" : ".")
                + cookie.domain,
            cookie.isHostOnly ? "FALSE" : "TRUE", cookie.path, cookie.isSecure ? "TRUE" : "FALSE",
            String(cookie.expires ?? 0), cookie.name, cookie.value,
        ].joined(separator: "\t") + "\n"
    }

    /// Adds the cookies of a file in the Netscape format; ignores malformed lines.
    ///
    /// - Throws: File errors; `too_large` beyond 16 MiB.
    public func load(from path: String) throws(WherryError) {
        let limit = 16 << 20
        let bytes: [UInt8]
        do {
            let file = try File.open(path, [.read, .following])
            guard try file.status().size <= limit else {
                throw WherryError(.tooLarge, "The cookie file \(path) is larger than 16 MiB")
            }
            bytes = try file.read(Int(file.status().size), at: 0)
        } catch let error as WherryError {
            throw error
        } catch let error as SystemError {
            throw WherryError(error)
        } catch {
            throw WherryError(.internal, "\(error)")
        }
        load(bytes)
    }

    /// Adds the cookies of a file's bytes.
    package func load(_ bytes: [UInt8]) {
        let now = now
        for line in bytes.split(separator: 0x0A) {
            guard let cookie = Self.cookie(String(decoding: line, as: UTF8.self)) else { continue }
            keep(cookie, isFromSecure: true, now: now, isGiven: true)
        }
    }

    private static func cookie(_ line: String) -> Cookie? {
        var line = line.utf8.last == 0x0D ? String(line.dropLast()) : line
        let isHTTPOnly = line.hasPrefix("#HttpOnly_")
        if isHTTPOnly { line.removeFirst("#HttpOnly_".count) }
        guard line.utf8.first != 0x23 else { return nil }
        var columns = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
        // curl omits the last column if the value is empty.
        if columns.count == 6 { columns.append("") }
        guard columns.count == 7, let expires = Int64(columns[4]), columns[2].utf8.first == 0x2F,
            !line.utf8.contains(where: { $0 < 0x20 && $0 != 0x09 || $0 == 0x7F }),
            !columns[5].utf8.contains(0x3D), !"\(columns[5])\(columns[6])".utf8.contains(0x3B),
            columns[5].utf8.count + columns[6].utf8.count <= 4096
        else { return nil }
        var domain = columns[0].asciiLowercased
        if domain.utf8.first == 0x2E { domain.removeFirst() }
        let isHostOnly = columns[1] != "TRUE" || Cookie.isAddress(domain)
        guard !domain.isEmpty, domain.utf8.last != 0x2E,
            isHostOnly || !PublicSuffix.contains(domain)
        else { return nil }
        return Cookie(
            name: columns[5], value: columns[6], domain: domain, path: columns[2],
            isHostOnly: isHostOnly, isSecure: columns[3] == "TRUE", isHTTPOnly: isHTTPOnly,
            expires: expires <= 0 ? nil : expires)
    }
}
