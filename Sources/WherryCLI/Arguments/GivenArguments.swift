// Wherry: the arguments of the command line.
// SPDX-License-Identifier: Apache-2.0

import CArguments
import WherrySystem

/// The arguments of the process.
enum GivenArguments {
    /// The arguments after the program name. `PathText` represents bytes that are not UTF-8.
    static let texts: [String] = (1..<max(1, carguments_count())).compactMap { index in
        carguments_at(index).map { PathText.text($0) }
    }

    /// Whether results are printed as JSON. Known even if the arguments cannot be parsed.
    static var wantsJSON: Bool { options.contains("--json-output") }

    /// Whether standard error gets JSON lines only. Known even if the arguments cannot be parsed.
    static var wantsJSONLines: Bool {
        options.contains("--progress=json")
            || zip(options, options.dropFirst()).contains { $0 == "--progress" && $1 == "json" }
    }

    private static var options: ArraySlice<String> { texts.prefix { $0 != "--" } }
}
