// Wherry: comparison of request bodies, and their bytes.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherrySystem

extension Request.Body {
    /// Returns whether this body differs from `shown`. Multipart bodies count as equal: images and
    /// boundary were created once.
    package func replaces(_ shown: Request.Body) -> Bool {
        switch (self, shown) {
        case (.none, .none), (.multipart, .multipart), (.stream, .stream): false
        case (.json(let mine), .json(let theirs)): mine != theirs
        case (.form(let mine), .form(let theirs)): mine != theirs
        case (.bytes(let mine, let type), .bytes(let theirs, let shownType)):
            type != shownType || mine != theirs
        case (.file(let mine, let type), .file(let theirs, let shownType)):
            type != shownType || mine != theirs
        default: true
        }
    }
}

extension Request {
    /// The bytes of a body in memory: those that you set, or the JSON or form made from
    /// ``parameters`` and fields. `nil` without a body, for files, streams, and parts, and for
    /// parameters that cannot be encoded.
    ///
    /// In a hook before an attempt, the request includes the client's default parameters, so
    /// these are the bytes to sign. Any other request has only its own parameters.
    public var bodyBytes: Bytes? {
        let takesQuery = RequestPlanner.takesQuery(effectiveMethod)
        switch body {
        case .json(let bytes), .bytes(let bytes, _): return bytes
        case .none:
            guard !takesQuery, !parameters.isEmpty else { return nil }
            return try? RequestPlanner.json(.object(parameters))
        case .form(let pairs):
            return try? RequestPlanner.form(
                takesQuery ? JSONObject() : parameters, pairs,
                OptionTable().overridden(by: overrides))
        case .file, .stream, .multipart: return nil
        }
    }
}
