// Wherry: credentials by host from a .netrc file.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem
import WherryTransport

/// The entries of a .netrc file, in curl's grammar.
///
/// The keywords are `machine`, `default`, `login`, `password`, `account`, and `macdef`, separated
/// by white space. A value may be in double quotes with the escapes `\n`, `\r`, `\t`, `\"`, and
/// `\\`. `#` at the start of a word begins a comment. A macro ends at an empty line. The first
/// entry for a host is used. As in curl, the permissions of the file are not checked.
package struct Netrc: Sendable {
    private var machines: [String: Credentials] = [:]
    private var fallback: Credentials?

    package var isEmpty: Bool { machines.isEmpty && fallback == nil }

    /// Returns the credentials for an origin. Only the host is compared, not the scheme or port.
    ///
    /// - Parameter isRequestedOrigin: Whether the request itself names the origin. A redirect must
    ///   not choose the host that receives the password of `default`.
    package func credentials(at origin: Origin, isRequestedOrigin: Bool) -> Credentials? {
        let host = HTTPURL.hostName(origin.host) ?? origin.host
        return machines[host] ?? (isRequestedOrigin ? fallback : nil)
    }

    /// A text that is unique to the set of user names and passwords.
    package var text: String {
        func text(_ known: Credentials) -> String {
            "\(known.user.utf8.count):\(known.user)\(known.password.utf8.count):\(known.password)"
        }
        return machines.sorted { $0.key < $1.key }.map { "netrc \($0) \(text($1))" }
            .joined(separator: " ") + (fallback.map { " netrc default \(text($0))" } ?? "")
    }

    /// Loads a file. A leading `~/` in the path is the home directory.
    ///
    /// - Throws: The system's error, `too_large` above 1 MiB, and `bad_value` with the file and the
    ///   line for a file that cannot be parsed.
    package static func load(_ path: String) throws(WherryError) -> Netrc {
        var path = path
        if path.hasPrefix("~/") {
            guard let home = Environment.trusted("HOME"), home.hasPrefix("/") else {
                throw WherryError(
                    .badPath,
                    "Could not find \(path): HOME is not set. Set HOME, or use the absolute path of the file."
                )
            }
            path = home + path.dropFirst(1)
        }
        let limit = 1 << 20
        let bytes: [UInt8]
        do throws(SystemError) {
            bytes = try File.open(path, [.read, .following]).readToEnd(atMost: limit + 1)
        } catch {
            throw WherryError(error)
        }
        guard bytes.count <= limit else {
            throw WherryError(.tooLarge, "Could not read \(path): it is larger than 1 MiB.")
        }
        do throws(Failure) {
            return try Netrc(bytes)
        } catch {
            // The message contains no words of the file, since they may be passwords.
            throw WherryError(
                .badValue, "Could not parse \(path), line \(error.line): \(error.cause)")
        }
    }

    /// The reason why a text cannot be parsed.
    package struct Failure: Error {
        package let line: Int
        package let cause: String
    }

    package init(_ bytes: [UInt8]) throws(Failure) {
        var scanner = Scanner(bytes: bytes)
        var entry: Entry?
        while let word = try scanner.word() {
            let line = scanner.line
            switch word.asciiLowercased {
            case "machine":
                try close(&entry)
                let host = try scanner.value(of: "machine")
                let bare =
                    host.utf8.contains(UInt8(ascii: ":")) && host.first != "[" ? "[\(host)]" : host
                guard let name = HTTPURL.hostName(bare) else {
                    throw Failure(
                        line: line,
                        cause:
                            "machine is not followed by a host. Write a name or an address without a port."
                    )
                }
                entry = Entry(host: name, line: line)
            case "default":
                try close(&entry)
                entry = Entry(host: nil, line: line)
            case "login": try set(\.login, of: &entry, "login", &scanner)
            case "password": try set(\.password, of: &entry, "password", &scanner)
            case "account": try set(\.account, of: &entry, "account", &scanner)
            case "macdef": scanner.skipMacro()
            default:
                throw Failure(
                    line: line,
                    cause:
                        "a keyword is unknown. Use machine, default, login, password, account, or macdef, and quote values with spaces."
                )
            }
        }
        try close(&entry)
    }

    private struct Entry {
        /// The host. `nil` for `default`.
        let host: String?
        let line: Int
        var login: String?
        var password: String?
        var account: String?
    }

    private func set(
        _ part: WritableKeyPath<Entry, String?>, of entry: inout Entry?, _ word: String,
        _ scanner: inout Scanner
    ) throws(Failure) {
        let line = scanner.line
        let value = try scanner.value(of: word)
        guard entry != nil else {
            throw Failure(
                line: line,
                cause: "\(word) comes before any host. Write machine or default before it.")
        }
        entry?[keyPath: part] = value
    }

    /// Stores a completed entry. An entry without login and password means that the host has no
    /// credentials.
    private mutating func close(_ entry: inout Entry?) throws(Failure) {
        guard let ended = entry else { return }
        entry = nil
        var known: Credentials?
        if ended.login != nil || ended.password != nil {
            let made = Credentials.basic(ended.login ?? "", ended.password ?? "")
            do throws(WherryError) {
                try made.check()
            } catch {
                throw Failure(line: ended.line, cause: "the entry cannot be sent. \(error.message)")
            }
            known = made
        }
        if let host = ended.host {
            if names.insert(host).inserted { machines[host] = known }
        } else if !hasDefault {
            hasDefault = true
            fallback = known
        }
    }

    /// The hosts that have an entry.
    private var names: Set<String> = []
    private var hasDefault = false

    /// Splits the file into words.
    private struct Scanner {
        let bytes: [UInt8]
        var position = 0
        /// The line number of the last word, starting at 1.
        private(set) var line = 1
        /// The line number of `position`.
        private var current = 1

        init(bytes: [UInt8]) {
            self.bytes = bytes
            // Skip the byte order mark that some editors write before UTF-8.
            if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
        }

        /// Returns the next word that may be a keyword. `nil` at the end of the file.
        mutating func word() throws(Failure) -> String? {
            while true {
                skipSpace()
                guard position < bytes.count else { return nil }
                guard bytes[position] == UInt8(ascii: "#") else { return try token() }
                while position < bytes.count, bytes[position] != 0x0A { position += 1 }
            }
        }

        mutating func value(of keyword: String) throws(Failure) -> String {
            let before = line
            skipSpace()
            guard position < bytes.count else {
                throw Failure(line: before, cause: "\(keyword) has no value. Add one.")
            }
            return try token()
        }

        /// Skips the name of a macro and its lines, up to an empty line.
        mutating func skipMacro() {
            var isEmpty = false
            while position < bytes.count {
                let byte = bytes[position]
                position += 1
                guard byte == 0x0A else {
                    if byte != 0x0D { isEmpty = false }
                    continue
                }
                current += 1
                if isEmpty { return }
                isEmpty = true
            }
        }

        private mutating func skipSpace() {
            while position < bytes.count, Self.isSpace(bytes[position]) {
                if bytes[position] == 0x0A { current += 1 }
                position += 1
            }
        }

        private static func isSpace(_ byte: UInt8) -> Bool {
            byte == 0x20 || (0x09...0x0D).contains(byte)
        }

        private mutating func token() throws(Failure) -> String {
            line = current
            var token: [UInt8] = []
            if bytes[position] == UInt8(ascii: "\"") {
                position += 1
                try takeQuoted(&token)
            } else {
                while position < bytes.count, !Self.isSpace(bytes[position]) {
                    token.append(bytes[position])
                    position += 1
                }
            }
            guard let text = String(validating: token, as: UTF8.self) else {
                throw Failure(line: line, cause: "a word is not UTF-8. Convert the file.")
            }
            return text
        }

        private mutating func takeQuoted(_ token: inout [UInt8]) throws(Failure) {
            while position < bytes.count, bytes[position] != 0x0A {
                var byte = bytes[position]
                position += 1
                if byte == UInt8(ascii: "\"") { return }
                if byte == UInt8(ascii: "\\"), position < bytes.count, bytes[position] != 0x0A {
                    byte = bytes[position]
                    position += 1
                    switch byte {
                    case UInt8(ascii: "n"): byte = 0x0A
                    case UInt8(ascii: "r"): byte = 0x0D
                    case UInt8(ascii: "t"): byte = 0x09
                    default: break
                    }
                }
                token.append(byte)
            }
            throw Failure(
                line: line,
                cause: "a quoted value does not end on its line. Add the closing quote.")
        }
    }
}
