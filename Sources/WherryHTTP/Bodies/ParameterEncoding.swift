// Wherry: encoding parameters as a query or a form.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// Encodes the members of an object as `name=value` pairs joined by `&`, for queries and for
/// `application/x-www-form-urlencoded` bodies.
///
/// The default options match AFNetworking: sorted names, objects as `a[b]=`, arrays as `a[]=`, null
/// as the name alone, bools as 1 and 0, nothing for empty arrays and objects.
public struct ParameterEncoding: Sendable, Hashable {
    /// The names of array elements.
    public enum ArrayStyle: Sendable, Hashable {
        /// `a[]=1&a[]=2`.
        case brackets
        /// `a=1&a=2`.
        case repeated
        /// `a[0]=1&a[1]=2`.
        case indexed
    }

    /// The names of members of nested objects.
    public enum MemberStyle: Sendable, Hashable {
        /// `a[b]=1`.
        case brackets
        /// `a.b=1`.
        case dots
    }

    /// The text form of bools.
    public enum BoolStyle: Sendable, Hashable {
        /// `1` and `0`.
        case digits
        /// `true` and `false`.
        case words
    }

    /// The names of array elements. Default: `a[]=`.
    public var arrays = ArrayStyle.brackets
    /// The names of members of nested objects. Default: `a[b]=`.
    public var members = MemberStyle.brackets
    /// The text form of bools. Default: `1` and `0`.
    public var bools = BoolStyle.digits
    /// Full names, such as `filter[tag]`, whose arrays are encoded as sets: the name is repeated
    /// unchanged, and the values are sorted. Default: none.
    public var sets: Set<String> = []

    /// Creates the default options.
    public init() {}

    /// Returns the encoded pairs of an object; empty for an object without pairs and for null.
    ///
    /// Escapes everything as UTF-8 except letters, digits and `-._~?/`. Fails with `bad_parameters`
    /// for values other than objects, for NaN and infinities, and for more than 512 levels.
    package func encode(_ parameters: JSON) throws(JSONError) -> String {
        if parameters.isNull { return "" }
        guard case .object(let object) = parameters else {
            throw .value("Parameters must be the members of an object.")
        }
        var pairs: [UInt8] = []
        for member in object.sortedByName {
            try append(member.value, named: member.name, depth: 1, to: &pairs)
        }
        return String(decoding: pairs, as: UTF8.self)
    }

    /// Returns the unescaped pairs for the fields of a multipart form. They are in the order of the
    /// members, on which form servers may depend. The value is `nil` for a name alone.
    package func fields(
        _ parameters: JSONObject
    ) throws(JSONError) -> [(name: String, value: String?)] {
        var fields: [(name: String, value: String?)] = []
        for member in parameters {
            try visit(member.value, named: member.name, depth: 1, isSorted: false) { name, value in
                fields.append((name, value))
            }
        }
        return fields
    }

    /// Returns `text` with everything escaped except letters, digits and `-._~?/`.
    package static func escaped(_ text: String) -> String {
        var bytes: [UInt8] = []
        escape(text, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    private func append(
        _ value: JSON, named name: String, depth: Int, to pairs: inout [UInt8]
    ) throws(JSONError) {
        try visit(value, named: name, depth: depth) { name, value in
            if !pairs.isEmpty { pairs.append(0x26) }
            ParameterEncoding.escape(name, to: &pairs)
            guard let value else { return }
            pairs.append(0x3D)
            ParameterEncoding.escape(value, to: &pairs)
        }
    }

    /// Calls `take` for each pair of a value, in order.
    private func visit(
        _ value: JSON, named name: String, depth: Int, isSorted: Bool = true,
        _ take: (String, String?) -> Void
    ) throws(JSONError) {
        guard depth <= JSONLimits.depth else {
            throw .value("Parameters are nested more than \(JSONLimits.depth) deep.")
        }
        switch value {
        case .object(let object):
            for member in isSorted ? object.sortedByName : Array(object) {
                let inner = members == .dots ? "\(name).\(member.name)" : "\(name)[\(member.name)]"
                try visit(member.value, named: inner, depth: depth + 1, isSorted: isSorted, take)
            }
        case .array(let elements) where sets.contains(name):
            for element in try sorted(elements) {
                try visit(element, named: name, depth: depth + 1, isSorted: isSorted, take)
            }
        case .array(let elements):
            for (index, element) in elements.enumerated() {
                try visit(
                    element, named: elementName(name, index), depth: depth + 1, isSorted: isSorted,
                    take)
            }
        default:
            take(name, try text(of: value))
        }
    }

    private func elementName(_ name: String, _ index: Int) -> String {
        switch arrays {
        case .brackets: name + "[]"
        case .repeated: name
        case .indexed: "\(name)[\(index)]"
        }
    }

    /// Returns the text of a value that is not a container; `nil` for null.
    private func text(of value: JSON) throws(JSONError) -> String? {
        switch value {
        case .null: return nil
        case .bool(let value):
            return bools == .words ? (value ? "true" : "false") : (value ? "1" : "0")
        case .string(let text): return text
        default:
            guard let text = value.numberText else {
                throw .value("A parameter is not a finite number.")
            }
            return text
        }
    }

    /// Returns the elements of a set sorted by their printed bytes, since a set has no order.
    private func sorted(_ elements: [JSON]) throws(JSONError) -> [JSON] {
        var printed: [(text: [UInt8], element: JSON)] = []
        for element in elements { printed.append((try element.printed(), element)) }
        printed.sort { $0.text.lexicographicallyPrecedes($1.text) }
        return printed.map(\.element)
    }

    private static func escape(_ text: String, to bytes: inout [UInt8]) {
        for byte in text.utf8 {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E, 0x3F, 0x2F:
                bytes.append(byte)
            default: PercentCoding.append(byte, to: &bytes)
            }
        }
    }
}
