// Wherry: the options for output, which all commands share.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

struct OutputOptions: ParsableArguments, Sendable {
    @Flag(
        name: .shortAndLong, help: "Print no progress and no notes, only errors.")
    var quiet = false

    @Flag(help: "Print one JSON object per result to standard output.")
    var jsonOutput = false

    @Option(
        help: ArgumentHelp(
            "How progress is shown on standard error.",
            discussion: "auto shows a bar on a terminal and prints lines otherwise.",
            valueName: "kind"))
    var progress = ProgressKind.auto

    @Flag(help: "Log network activity to standard error, without secrets.")
    var debug = false

    @Option(
        help: ArgumentHelp(
            "Append network activity to a file, with times and without secrets.",
            valueName: "file"),
        completion: .file())
    var logFile: String?
}

/// How progress is shown.
enum ProgressKind: String, ExpressibleByArgument, CaseIterable {
    case auto, bar, lines, json, none
}
