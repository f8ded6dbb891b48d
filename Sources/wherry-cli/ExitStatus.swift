// Wherry: what the exit statuses of the command mean.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Wherry

/// The exit statuses, as --help and docs/cli.md tell them.
enum ExitStatus: Int32, CaseIterable {
    case success = 0
    case other = 1
    case usage = 2
    case http = 3
    case network = 4
    case tls = 5
    case timeout = 6
    case file = 7
    case image = 8
    case cacheMiss = 9
    case interrupted = 130
    case brokenPipe = 141
    case terminated = 143

    var meaning: String {
        switch self {
        case .success: "all went well"
        case .other: "anything else"
        case .usage: "the command line cannot be used"
        case .http: "the server answered with an error status, or not with what was asked for"
        case .network: "no connection, or a broken one"
        case .tls: "the server's certificate or its TLS cannot be trusted"
        case .timeout: "the time was over, or a download stalled"
        case .file: "a local file or directory, or a checksum that does not match"
        case .image: "a picture that cannot be read or encoded"
        case .cacheMiss: "nothing usable is stored, and the network was not to be asked"
        case .interrupted: "Ctrl-C"
        case .brokenPipe: "the reader of standard output has gone away"
        case .terminated: "SIGTERM"
        }
    }

    /// The status for a code of the library.
    init(_ code: WherryError.Code) {
        self =
            switch code {
            case .argument: .usage
            case .http: .http
            case .network: .network
            case .tls: .tls
            case .timeout: .timeout
            case .file: .file
            case .image: .image
            case .cacheMiss: .cacheMiss
            default: .other
            }
    }

    /// The table for --help.
    static var help: String {
        "EXIT STATUS\n"
            + allCases.map { status in
                let number = String(status.rawValue)
                return String(repeating: " ", count: 5 - number.count) + number
                    + "  \(status.meaning)"
            }.joined(separator: "\n")
    }
}

/// Of several things some went wrong, and each was told.
struct ToldFailure: Error {
    /// Of the first of them.
    var status: Int32
}

/// Trouble with standard output or a file that the command itself writes or reads.
struct OutputError: Error {
    var message: String
    /// Who reads our output has gone: nothing is to be said any more.
    var isBrokenPipe = false
}

/// An answer that is told already, and whose meaning the exit status has.
struct Verdict: Error {
    var status: ExitStatus
}
