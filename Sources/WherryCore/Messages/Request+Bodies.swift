// Wherry: comparison of request bodies.
// SPDX-License-Identifier: Apache-2.0

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
