// Wherry: absolute http and https URLs.
// SPDX-License-Identifier: Apache-2.0

internal import CCurl
import Glibc
import WherrySystem

/// Scheme, host and port: the scope of a connection, a credential and a limit.
package final class Origin: Hashable, Sendable {
    /// "http" or "https".
    package let scheme: String
    /// In lower case, as libcurl normalizes it; IPv6 in brackets.
    package let host: String
    package let port: Int
    /// "https://host:port".
    package let text: String

    init(scheme: String, host: String, port: Int) {
        self.scheme = scheme
        self.host = host
        self.port = port
        text = "\(scheme)://\(host):\(port)"
    }

    package var isSecure: Bool { scheme == "https" }

    package static func == (a: Origin, b: Origin) -> Bool { a === b || a.text == b.text }
    package func hash(into hasher: inout Hasher) { hasher.combine(text) }
}

/// An absolute URL that libcurl and Wherry interpret equally: both use `curl_url` (SEC-U2).
package struct HTTPURL: Hashable, Sendable {
    /// The complete URL, normalized, without user information and fragment.
    package let text: String
    package let origin: Origin

    /// The error of an invalid URL.
    package struct Invalid: Error, Sendable {
        package let message: String
    }

    /// The start of the path.
    private let authorityEnd: Int

    private init(text: String, origin: Origin, _ authorityEnd: Int? = nil) {
        self.text = text
        self.origin = origin
        self.authorityEnd = authorityEnd ?? Self.endOfAuthority(text)
    }

    /// The longest URL, in bytes. libcurl sends no longer request line.
    package static let mostBytes = 1_000_000

    /// Parses an absolute URL.
    ///
    /// - Parameter name: The name of the text in error messages. Default: "URL".
    package init(_ text: String, as name: String = "URL") throws(Invalid) {
        self = try Self.parse(text, as: name, base: nil)
    }

    /// Resolves a reference against this URL (RFC 3986, section 5).
    package func resolving(_ reference: String) throws(Invalid) -> HTTPURL {
        if let quick = quickResolve(reference) { return quick }
        // libcurl resolves an empty reference to the directory of the path.
        if reference.isEmpty || reference.utf8.first == UInt8(ascii: "#") { return self }
        return try Self.parse(reference, as: "URL", base: self)
    }

    /// The path, from its first slash to the query.
    package var path: Substring {
        let rest = text.utf8.dropFirst(authorityEnd)
        let end = rest.firstIndex(of: UInt8(ascii: "?")) ?? rest.endIndex
        return Substring(rest[rest.startIndex..<end])
    }

    /// The text after the first "?", or `nil`.
    package var query: Substring? {
        guard let mark = text.utf8.firstIndex(of: UInt8(ascii: "?")) else { return nil }
        return Substring(text.utf8[text.utf8.index(after: mark)...])
    }

    /// Returns the URL with `query` appended after "?" or "&"; unchanged if it is empty. `query`
    /// must be escaped.
    package func appendingQuery(_ query: String) -> HTTPURL {
        guard !query.isEmpty else { return self }
        let mark = self.query == nil ? "?" : text.hasSuffix("?") || text.hasSuffix("&") ? "" : "&"
        return HTTPURL(text: text + mark + query, origin: origin)
    }

    /// Returns an absolute URL of the same origin without using the parser, if it is plain.
    package func sibling(_ absolute: String) -> HTTPURL? {
        var mine = text
        var theirs = absolute
        let isSibling = mine.withUTF8 { mine in
            theirs.withUTF8 { theirs in
                theirs.count > authorityEnd && mine.count >= authorityEnd
                    && memcmp(mine.baseAddress!, theirs.baseAddress!, authorityEnd) == 0
                    && theirs[authorityEnd] == UInt8(ascii: "/")
                    && Self.arePlain(theirs, from: authorityEnd + 1)
            }
        }
        return isSibling ? HTTPURL(text: absolute, origin: origin, authorityEnd) : nil
    }

    /// Resolves plain relative paths below this URL without the parser: "items/7" on a base that
    /// ends in "/".
    private func quickResolve(_ reference: String) -> HTTPURL? {
        guard text.utf8.last == UInt8(ascii: "/"), query == nil,
            let first = reference.utf8.first, Self.isPlain[Int(first)],
            first != UInt8(ascii: "/"), first != UInt8(ascii: "."), first != UInt8(ascii: "?")
        else { return nil }
        var reference = reference
        guard reference.withUTF8({ Self.arePlain($0, from: 0) }) else { return nil }
        return HTTPURL(text: text + reference, origin: origin, authorityEnd)
    }

    /// Returns whether all bytes are literal, no path segment begins with a dot, and no query is
    /// empty.
    private static func arePlain(_ bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Bool {
        isPlain.withUnsafeBufferPointer { table in
            var previous: UInt8 = 0
            for index in start..<bytes.count {
                let byte = bytes[index]
                guard table[Int(byte)] else { return false }
                if byte == UInt8(ascii: ".") && (previous == UInt8(ascii: "/") || index == start) {
                    return false
                }
                previous = byte
            }
            // The parser drops the "?" of an empty query.
            return previous != UInt8(ascii: "?")
        }
    }

    /// Bytes that are literal in a path or query: no ":" (a scheme), no "%" (needs validation), no
    /// "#".
    private static let isPlain: [Bool] = {
        var table = [Bool](repeating: false, count: 256)
        let plain =
            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/?=&+,;!$()*'"
        for byte in plain.utf8 { table[Int(byte)] = true }
        return table
    }()

    /// Returns the offset of the third slash, which starts the path.
    private static func endOfAuthority(_ text: String) -> Int {
        var slashes = 0
        var offset = 0
        for byte in text.utf8 {
            if byte == UInt8(ascii: "/") {
                slashes += 1
                if slashes == 3 { break }
            }
            offset += 1
        }
        return offset
    }

    /// Returns a text that should be a URL for a message: without query, fragment, user name and
    /// password.
    package static func redacted(_ url: String) -> String {
        let bytes = url.utf8
        let mark = bytes.firstIndex { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }
        let text = url[..<(mark ?? url.endIndex)]
        let tail = mark.map { String(url[$0...$0]) + "..." } ?? ""
        guard bytes.contains(UInt8(ascii: "@")) else { return text + tail }
        // Parsed manually: the text may be an invalid URL.
        let slash = UInt8(ascii: "/")
        var authority = text.startIndex
        if let first = text.utf8.firstIndex(of: slash),
            first == authority || text.utf8[text.utf8.index(before: first)] == UInt8(ascii: ":")
        {
            authority = text.utf8[first...].firstIndex { $0 != slash } ?? text.endIndex
        }
        let end = text.utf8[authority...].firstIndex(of: slash) ?? text.endIndex
        if let at = text.utf8[authority..<end].lastIndex(of: UInt8(ascii: "@")) {
            return text[..<authority] + "..." + text[at...] + tail
        }
        // The "?" may be part of a password, so the text before it may be one too.
        return (end == text.endIndex && !tail.isEmpty ? text[..<authority] + "..." : text) + tail
    }

    // MARK: curl_url

    /// The ASCII form of a host, as it is looked up; `nil` if it has none.
    package static func asciiHost(_ host: String) -> String? {
        if host.utf8.allSatisfy({ $0 < 0x80 }) && !host.hasPrefix("[") { return host }
        guard host.hasPrefix("[") else { return try? InternationalName.ascii(host) }
        guard let handle = curl_url() else { return nil }
        defer { curl_url_cleanup(handle) }
        var value: UnsafeMutablePointer<CChar>?
        guard curl_url_set(handle, CURLUPART_URL, "https://\(host)/", 0) == CURLUE_OK,
            curl_url_get(handle, CURLUPART_HOST, &value, 0) == CURLUE_OK, let value
        else { return nil }
        defer { curl_free(value) }
        return String(cString: value)
    }

    /// Escapes the printable ASCII characters that no URL contains (RFC 3986 section 2) from `start`
    /// on: space, `"`, `<`, and `>`. libcurl would send a space in a query as "+", and the others as
    /// they are.
    private static func escaped(_ text: String, from start: String.Index?) -> String {
        func escape(_ byte: UInt8) -> String? {
            switch byte {
            case UInt8(ascii: " "): "%20"
            case UInt8(ascii: "\""): "%22"
            case UInt8(ascii: "<"): "%3C"
            case UInt8(ascii: ">"): "%3E"
            default: nil
            }
        }
        guard let start, text.utf8[start...].contains(where: { escape($0) != nil }) else {
            return text
        }
        var result = Array(text.utf8[..<start])
        for byte in text.utf8[start...] {
            if let escape = escape(byte) { result += escape.utf8 } else { result.append(byte) }
        }
        return String(decoding: result, as: UTF8.self)
    }

    /// Checks the length of a URL.
    package static func checkLength(of text: String, as name: String = "URL") throws(Invalid) {
        guard text.utf8.count > mostBytes else { return }
        throw Invalid(
            message:
                "The \(name) \"\(redacted(text))\" has \(text.utf8.count) bytes. Use at most \(mostBytes), and send more in a body."
        )
    }

    /// Returns whether a text begins with a host and a port, such as "127.0.0.1:80/a". libcurl takes
    /// the host for a scheme.
    private static func beginsWithPort(_ text: String) -> Bool {
        let parts = text.prefix { $0 != "/" && $0 != "?" && $0 != "#" }.split(
            separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, (1...5).contains(parts[1].utf8.count), !text.contains("@") else {
            return false
        }
        return parts[1].utf8.allSatisfy { $0 >= 0x30 && $0 <= 0x39 }
            && (parts[0].contains(".") || parts[0] == "localhost")
    }

    private static func parse(
        _ text: String, as name: String, base: HTTPURL?
    ) throws(Invalid) -> HTTPURL {
        try checkLength(of: text, as: name)
        for byte in text.utf8 {
            if byte < 0x20 || byte == 0x7F {
                throw Invalid(message: "The \(name) contains the control byte \(byte)")
            }
            if byte == UInt8(ascii: "\\") {
                throw Invalid(message: "The \(name) \"\(redacted(text))\" contains a backslash")
            }
        }
        guard let handle = curl_url() else { throw Invalid(message: "Not enough memory for a URL") }
        defer { curl_url_cleanup(handle) }
        let flags = UInt32(CURLU_URLENCODE | CURLU_NON_SUPPORT_SCHEME)
        if let base, curl_url_set(handle, CURLUPART_URL, base.text, flags) != CURLUE_OK {
            throw Invalid(message: "The base URL \"\(redacted(base.text))\" is not valid")
        }
        // libcurl escapes the spaces before "?", and only libcurl decides where the host ends.
        let query = text.utf8.firstIndex(of: UInt8(ascii: "?"))
        let code = curl_url_set(handle, CURLUPART_URL, escaped(text, from: query), flags)
        guard code == CURLUE_OK else {
            let relative = base == nil && !text.contains("://")
            if code == CURLUE_BAD_SLASHES, beginsWithPort(text) {
                throw Invalid(
                    message:
                        "The \(name) \"\(redacted(text))\" has no scheme. Write http://\(redacted(text)) or https://\(redacted(text))."
                )
            }
            throw Invalid(
                message: relative
                    ? "The \(name) \"\(redacted(text))\" is not absolute"
                        + (name == "URL"
                            ? ", and there is no base URL. Pass an absolute URL, or set a base URL."
                            : ". Pass an absolute URL such as http://host/.")
                    : "The \(name) \"\(redacted(text))\" is not valid: \(String(cString: curl_url_strerror(code)))"
            )
        }
        func part(_ part: CURLUPart, _ flags: Int32 = 0) -> String? {
            var value: UnsafeMutablePointer<CChar>?
            guard curl_url_get(handle, part, &value, UInt32(flags)) == CURLUE_OK, let value else {
                return nil
            }
            defer { curl_free(value) }
            return String(cString: value)
        }
        let scheme = (part(CURLUPART_SCHEME) ?? "").asciiLowercased
        guard scheme == "http" || scheme == "https" else {
            throw Invalid(
                message:
                    "The \(name) \"\(redacted(text))\" has the scheme \"\(scheme)\". Use http or https."
            )
        }
        // libcurl accepts one or three slashes, where other parsers see a path or another host.
        let named = "\(scheme):"
        if text.utf8.prefix(named.utf8.count).elementsEqual(
            named.utf8, by: { $0 | 0x20 == $1 | 0x20 })
        {
            let rest = text.utf8.dropFirst(named.utf8.count)
            guard rest.starts(with: "//".utf8), rest.dropFirst(2).first != UInt8(ascii: "/") else {
                throw Invalid(
                    message:
                        "The \(name) \"\(redacted(text))\" must have exactly two slashes before its host"
                )
            }
        }
        if part(CURLUPART_USER) != nil || part(CURLUPART_PASSWORD) != nil {
            throw Invalid(
                message:
                    "The \(name) of \(part(CURLUPART_HOST) ?? "?") contains a user name or password. Pass them as credentials."
            )
        }
        guard var host = part(CURLUPART_HOST)?.asciiLowercased, !host.isEmpty else {
            throw Invalid(message: "The \(name) \"\(redacted(text))\" has no host")
        }
        if !host.utf8.allSatisfy({ $0 < 0x80 }) {
            do throws(InternationalName.Failure) {
                host = try InternationalName.ascii(host)
            } catch {
                throw Invalid(
                    message:
                        "The host of the \(name) \"\(redacted(text))\" has no ASCII form: \(error.cause). Check its spelling, or write it as xn--..."
                )
            }
            guard curl_url_set(handle, CURLUPART_HOST, host, 0) == CURLUE_OK else {
                throw Invalid(message: "The host of the \(name) \"\(redacted(text))\" is not valid")
            }
        }
        // libcurl decodes the escapes of a host, and accepts this byte.
        guard !host.utf8.contains(0x7F) else {
            throw Invalid(message: "The host of a URL contains the control byte 127")
        }
        _ = curl_url_set(handle, CURLUPART_FRAGMENT, nil, 0)
        guard let port = part(CURLUPART_PORT, CURLU_DEFAULT_PORT).flatMap({ Int($0) }),
            (1...65_535).contains(port)
        else {
            throw Invalid(
                message: "The \(name) \"\(redacted(text))\" has an invalid port. Use 1 to 65535.")
        }
        guard let normalized = part(CURLUPART_URL) else {
            throw Invalid(message: "The \(name) \"\(redacted(text))\" cannot be normalized")
        }
        let authorityEnd = endOfAuthority(normalized)
        let path = normalized.utf8.index(normalized.startIndex, offsetBy: authorityEnd)
        let whole = escaped(normalized, from: path)
        // libcurl decodes escapes after it has checked for a numeric address. So another parser
        // could see an address in the result.
        let mayReadOtherwise =
            (0x30...0x39).contains(host.utf8.first ?? 0) || host.utf8.contains(UInt8(ascii: "%"))
        if mayReadOtherwise, whole != text, !host.utf8.contains(UInt8(ascii: ":")) {
            guard try parse(whole, as: name, base: nil).text == whole else {
                throw Invalid(
                    message:
                        "The host of the \(name) \"\(redacted(text))\" is ambiguous because of its percent escapes. Write it without escapes."
                )
            }
        }
        return HTTPURL(
            text: whole, origin: Origin(scheme: scheme, host: host, port: port), authorityEnd)
    }
}
