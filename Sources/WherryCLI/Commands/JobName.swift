// Wherry: how a command line names a background job.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import WherryAsync
import WherrySystem

/// The id of a job, the beginning of its id, or the file that it downloads.
///
/// Cancelling a job deletes its partial file. So a text that could name a job by accident, such as an
/// empty variable of a script or a single digit, names none.
struct JobName: Sendable {
    static let help: ArgumentHelp =
        "Jobs: their ids, at least 4 digits from the beginning of an id, or their files."

    /// The fewest digits of an id that name a job.
    private static let fewestDigits = 4

    let text: String
    private let pathComponents: [[UInt8]]

    /// - Throws: `ValidationError` for a blank text, which names neither an id nor a file.
    init(_ text: String) throws {
        guard !text.allSatisfy(\.isWhitespace) else {
            throw ValidationError("It is empty. Run 'wherry jobs list' for the ids.")
        }
        self.text = text
        pathComponents = Self.components((try? Directory.absolute(text)) ?? text)
    }

    /// Whether the job has this id or file.
    func matches(_ job: BackgroundJob) -> Bool {
        job.filePath.map(Self.components) == pathComponents
            || (isBeginningOfID && job.id.hasPrefix(text))
    }

    /// The names in an absolute path, so that `./a` and `a` are the same file.
    private static func components(_ path: String) -> [[UInt8]] {
        path.utf8.split(separator: UInt8(ascii: "/")).map { Array($0) }.filter {
            $0 != [UInt8(ascii: ".")]
        }
    }

    private var isBeginningOfID: Bool {
        text.utf8.count >= Self.fewestDigits
            && text.utf8.allSatisfy { $0 >= 0x30 && $0 <= 0x39 || $0 >= 0x61 && $0 <= 0x66 }
    }
}
