// Wherry: descriptions of background jobs for logs and debuggers.
// SPDX-License-Identifier: Apache-2.0

import WherryCore
import WherryLogging

extension BackgroundJob: CustomStringConvertible {
    /// A short description of the job: "<Download job: 3f2a91c07d5e>".
    public var description: String { describe(inFull: false) }

    /// Returns a description of the job, short or on several lines. The long form lists kind, URL,
    /// path, tag, state, progress, and error. Secrets are left out.
    public func describe(inFull: Bool = true) -> String {
        let name = kind == .upload ? "Upload" : "Download"
        let short = "<\(name) job: \(id.prefix(12))>"
        guard inFull else { return short }
        var rows = [("type", "background \(name.lowercased())"), ("url", url)]
        if let path { rows.append(("target path", path)) }
        if let tag { rows.append(("tag", tag)) }
        rows.append(("state", "\(state)"))
        if let reason, error == nil { rows.append(("reason", reason)) }
        rows.append(
            (
                "progress",
                "\(progress.completed) of \(progress.total.map { "\($0)" } ?? "unknown") bytes"
            ))
        if let error { rows.append(("error", error.description)) }
        rows.append(("job", id))
        let lines = rows.map { name, value in
            let title = name + ":"
            let space = String(repeating: " ", count: max(0, 18 - title.count))
            return "   \(title)\(space)\(LogText.line(value))\n"
        }
        return "{\n   \(short)\n\(lines.joined())}"
    }
}
