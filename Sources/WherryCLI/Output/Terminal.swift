// Wherry: properties of the terminal.
// SPDX-License-Identifier: Apache-2.0

import Glibc
import WherrySystem

/// A file descriptor that may be a terminal.
struct Terminal: Sendable {
    let descriptor: Int32
    let isTerminal: Bool
    /// Whether to use colors: on a terminal, unless NO_COLOR or TERM=dumb is set.
    let hasColour: Bool

    init(_ descriptor: Int32) {
        self.descriptor = descriptor
        isTerminal = isatty(descriptor) == 1
        hasColour =
            isTerminal && Environment["NO_COLOR"] == nil
            && (Environment["TERM"] ?? "dumb") != "dumb"
    }

    static let output = Terminal(STDOUT_FILENO)
    static let error = Terminal(STDERR_FILENO)

    /// The current number of columns; 80 if it is unknown.
    var width: Int { size.map { Int($0.ws_col) } ?? 80 }
    /// The current number of lines; 24 if it is unknown.
    var height: Int { size.map { Int($0.ws_row) } ?? 24 }

    private var size: winsize? {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0
        else { return nil }
        return size
    }

    /// Returns the text in a color if the terminal has colors.
    func paint(_ text: String, _ colour: Colour) -> String {
        hasColour ? "\u{1B}[\(colour.rawValue)m\(text)\u{1B}[0m" : text
    }

    enum Colour: String {
        case bold = "1"
        case dim = "2"
        case red = "31"
        case green = "32"
        case yellow = "33"
        case blue = "34"
        case cyan = "36"
    }
}

extension String {
    /// The text with control characters as visible escapes, so that text from a server cannot control
    /// the terminal.
    var printable: String {
        guard unicodeScalars.contains(where: Self.isControl) else { return self }
        var text = ""
        for scalar in unicodeScalars {
            if Self.isControl(scalar) {
                // PathText holds a byte of a path that is not UTF-8 as U+EF00 plus the byte.
                let code = scalar.value < 0x100 ? scalar.value : scalar.value & 0xFF
                let isByte = scalar.value < 0x100 || (0xEF80...0xEFFF).contains(scalar.value)
                text +=
                    isByte
                    ? "\\x" + (code < 16 ? "0" : "") + String(code, radix: 16)
                    : "\\x" + String(scalar.value, radix: 16)
            } else {
                text.unicodeScalars.append(scalar)
            }
        }
        return text
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value)
            || (0xEF80...0xEFFF).contains(scalar.value)
            || (0x202A...0x202E).contains(scalar.value) || (0x2066...0x2069).contains(scalar.value)
    }
}

extension String {
    /// The same as ``printable``, but keeps line breaks.
    var printableLines: String {
        split(separator: "\n", omittingEmptySubsequences: false)
            .map { String($0).printable }.joined(separator: "\n")
    }
}
