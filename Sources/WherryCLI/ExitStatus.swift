// Wherry: what the exit statuses of the command mean.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import WherryAsync

/// The exit statuses, documented in --help and docs/cli.md.
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
        case .success: "success"
        case .other: "any other failure"
        case .usage: "invalid command line"
        case .http: "the response has an error status, or is not what was requested"
        case .network: "no connection, or a broken connection"
        case .tls: "TLS failed, or the server's certificate is not trusted"
        case .timeout: "a timeout, or a stalled download"
        case .file: "a local file or directory cannot be used, or a checksum does not match"
        case .image: "an image cannot be read or encoded"
        case .cacheMiss: "no usable stored response, and the policy does not allow the network"
        case .interrupted: "Ctrl-C"
        case .brokenPipe: "the reader of standard output has closed it"
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

/// Some of several actions failed, and each failure was reported.
struct ToldFailure: Error {
    /// The status of the first failure.
    var status: Int32
}

/// A failure of standard output or of a file that the command reads or writes.
struct OutputError: Error {
    var message: String
    /// Whether the reader of standard output has closed it. Nothing is printed then.
    var isBrokenPipe = false
    /// Whether nothing more can be written to standard output.
    var isStandardOutput = false
}

/// A result that was printed, and sets the exit status.
struct Verdict: Error {
    var status: ExitStatus
}
