// Wherry: a result as one line of JSON.
// SPDX-License-Identifier: Apache-2.0

import WherryAsync

/// The members of a result, and the JSON body of its response as the server wrote it: parsed values
/// would lose digits and repeated names.
struct ResultObject {
    private var members: JSONObject
    /// The `json` member: JSON text on one line.
    var body: String?
    /// The `images` member, left out if it is empty.
    var images: [ResultObject] = []

    init(_ members: JSONObject) { self.members = members }

    subscript(name: String) -> JSON? {
        get { members[name] }
        set { members[name] = newValue }
    }

    /// The text, without a line break.
    var line: String {
        var parts = members.map { JSON.string($0.name).description + ":" + $0.value.description }
        if let body { parts.append("\"json\":" + body) }
        if !images.isEmpty {
            parts.append("\"images\":[" + images.map(\.line).joined(separator: ",") + "]")
        }
        return "{" + parts.joined(separator: ",") + "}"
    }

    /// The same with an `event` member.
    func event(_ name: String) -> ResultObject {
        var result = self
        result.members = ["event": .string(name)]
        for member in members { result.members[member.name] = member.value }
        return result
    }
}
