// Wherry: a result as one line of JSON.
// SPDX-License-Identifier: Apache-2.0

import Wherry

/// The members of a result, and the JSON body of its response as the server wrote it: parsed values
/// would lose digits and repeated names.
struct ResultObject {
    private var members: JSONObject
    /// The `json` member: JSON text on one line.
    var body: String?

    init(_ members: JSONObject) { self.members = members }

    subscript(name: String) -> JSON? {
        get { members[name] }
        set { members[name] = newValue }
    }

    /// The text, without a line break.
    var line: String {
        let text = JSON.object(members).description
        guard let body else { return text }
        return text.dropLast() + (text == "{}" ? "" : ",") + "\"json\":" + body + "}"
    }
}
