// Wherry: JSON values.
// SPDX-License-Identifier: Apache-2.0

/// A JSON value (RFC 8259) that keeps 64-bit integers exact and members in order.
///
/// Literals create values: `let body: JSON = ["name": "Skye", "count": 3, "tags": ["a", nil]]`.
/// Paths access members; see ``value(at:)``.
public enum JSON: Sendable, Hashable {
    case null
    case bool(Bool)
    /// A number without a fraction or an exponent that fits in 64 bits.
    case integer(Int64)
    /// A number above `Int64.max` without a fraction or an exponent. Smaller numbers are
    /// ``integer(_:)``; `JSON(n)` chooses the case.
    case unsigned(UInt64)
    /// Any other number. NaN and infinities are not JSON; printing them fails.
    case double(Double)
    case string(String)
    case array([JSON])
    case object(JSONObject)

    /// The type of a value.
    public enum Kind: Sendable, Hashable {
        case null, bool, number, text, array, object
    }

    /// The type of the value.
    public var kind: Kind {
        switch self {
        case .null: .null
        case .bool: .bool
        case .integer, .unsigned, .double: .number
        case .string: .text
        case .array: .array
        case .object: .object
        }
    }

    /// Creates an exact number, or the nearest double if 64 bits are not enough.
    public init(_ value: some BinaryInteger) {
        if let signed = Int64(exactly: value) {
            self = .integer(signed)
        } else if let unsigned = UInt64(exactly: value) {
            self = .unsigned(unsigned)
        } else {
            self = .double(Double(value))
        }
    }

    public init(_ value: Bool) { self = .bool(value) }
    public init(_ value: Double) { self = .double(value) }
    public init(_ value: String) { self = .string(value) }
    public init(_ value: [JSON]) { self = .array(value) }
    public init(_ value: JSONObject) { self = .object(value) }

    /// Whether the value is null.
    public var isNull: Bool { self == .null }

    /// Returns whether the value is nested more than `limit` levels deep; a number or a text has
    /// depth 0, `[]` depth 1.
    package func isDeeper(than limit: Int) -> Bool {
        switch self {
        case .array(let elements):
            limit < 1 || elements.contains { $0.isDeeper(than: limit - 1) }
        case .object(let object):
            limit < 1 || object.contains { $0.value.isDeeper(than: limit - 1) }
        default: false
        }
    }

    /// Returns the value without null members of objects, at every depth. Nulls in arrays are kept,
    /// so that indexes do not change.
    public func removingNullMembers() -> JSON {
        switch self {
        case .array(let elements):
            return .array(elements.map { $0.removingNullMembers() })
        case .object(let object):
            var kept = JSONObject()
            for member in object where !member.value.isNull {
                kept[member.name] = member.value.removingNullMembers()
            }
            return .object(kept)
        default:
            return self
        }
    }
}

extension JSON: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByStringLiteral, ExpressibleByStringInterpolation,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    public init(nilLiteral: ()) { self = .null }
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    public init(integerLiteral value: Int64) { self = .integer(value) }
    public init(floatLiteral value: Double) { self = .double(value) }
    public init(stringLiteral value: String) { self = .string(value) }
    public init(arrayLiteral elements: JSON...) { self = .array(elements) }

    /// Creates an object. If a name is repeated, the last value wins.
    public init(dictionaryLiteral elements: (String, JSON)...) {
        var object = JSONObject()
        for (name, value) in elements { object[name] = value }
        self = .object(object)
    }
}

extension JSON: CustomStringConvertible {
    /// Compact JSON text, or a sentence in brackets if the value is not valid JSON (NaN, too deep).
    public var description: String {
        do throws(JSONError) {
            return String(decoding: try printed(), as: UTF8.self)
        } catch {
            return "<\(error.message)>"
        }
    }
}
