// Wherry: descriptions of transfers for logs and debuggers.
// SPDX-License-Identifier: Apache-2.0

import WherryCache
import WherryHTTP
import WherryLogging

extension Transfer: CustomStringConvertible {
    /// The description as in SJNetwork: the full one while the client is debugging, else "<Request:
    /// 12>".
    public var description: String { description(inFull: client.isDebugging) }

    /// Returns a description of the transfer; see ``description(inFull:)``.
    public final func describe(inFull: Bool = true) -> String { description(inFull: inFull) }

    /// Returns "<Request: 12>" or, in full, the kind, method, URL, parameters, cache settings,
    /// images or path, identifier and state. Secrets are omitted.
    public final func description(inFull: Bool) -> String {
        guard inFull else { return shortDescription }
        let secrets = secrets
        var rows: [(name: String, value: String)] = [("type", kindName)]
        if kind != .group {
            rows += [
                ("method", method), ("url", secrets.text(address)), ("parameters", shownParameters),
            ]
        }
        switch kind {
        case .request:
            let caching = request.caching ?? RequestCaching()
            rows.append(("loadCache", caching.reads ? "YES" : "NO"))
            rows.append(("cacheDuration", "\(caching.duration / 1000) seconds"))
        case .upload: rows.append(("images", shownImages))
        case .download: rows.append(("target path", path ?? ""))
        case .group: rows.append(("members", "\(progress.count)"))
        }
        if kind != .group { rows.append(("requestIdentifier", identifier)) }
        rows.append(("task", "\(state)"))
        let lines = rows.map { row in
            let name = row.name + ":"
            let space = String(repeating: " ", count: max(0, 18 - name.count))
            return "   \(name)\(space)\(LogText.line(row.value))\n"
        }
        return "{\n   \(shortDescription)\n\(lines.joined())}"
    }

    private var kindName: String {
        switch kind {
        case .request: "ordinary request"
        case .upload: "upload request"
        case .download: "download request"
        case .group: "group of requests"
        }
    }

    private var shownImages: String {
        guard case .multipart(let parts) = request.body else { return "(null)" }
        let names = parts.compactMap { part -> String? in
            guard case .image = part.content else { return nil }
            return part.name
        }
        return names.isEmpty ? "(null)" : names.joined(separator: ", ")
    }

    /// SJNetwork's identifier; a download's leaves out method and parameters.
    private var identifier: String {
        let base = client.baseText(named: request.base, settings)
        guard kind == .download else {
            return (try? request.identifier(base: base)) ?? ""
        }
        return RequestIdentity.download(base: request.ignoresBase ? nil : base, url: request.url)
    }
}
