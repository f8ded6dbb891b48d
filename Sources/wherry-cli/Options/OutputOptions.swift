// Wherry: the options about what is printed, the same for all commands.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

struct OutputOptions: ParsableArguments, Sendable {
    @Flag(
        name: .shortAndLong, help: "Print no progress and no notes; errors are told all the same.")
    var quiet = false

    @Flag(help: "Print one JSON object for each result to standard output.")
    var jsonOutput = false

    @Option(
        help: ArgumentHelp(
            "How progress is told on standard error.",
            discussion: "auto is a bar on a terminal and lines elsewhere.", valueName: "kind"))
    var progress = ProgressKind.auto

    @Flag(help: "Print what happens on the network to standard error, without secrets.")
    var debug = false

    @Option(
        help: ArgumentHelp(
            "Append what happens on the network to a file, with times and without secrets.",
            valueName: "file"),
        completion: .file())
    var logFile: String?
}

/// How progress is told.
enum ProgressKind: String, ExpressibleByArgument, CaseIterable {
    case auto, bar, lines, json, none
}
