// Wherry: the arguments of the command line.
// SPDX-License-Identifier: Apache-2.0

import CArguments
import WherrySystem

/// What the command was called with.
enum GivenArguments {
    /// The arguments after the program's name. A byte that is not UTF-8 is kept as `PathText` keeps it.
    static let texts: [String] = (1..<max(1, carguments_count())).compactMap { index in
        carguments_at(index).map { PathText.text($0) }
    }

    /// Whether results are printed as JSON. Known even if the arguments cannot be parsed.
    static var wantsJSON: Bool {
        texts.prefix { $0 != "--" }.contains("--json-output")
    }
}
