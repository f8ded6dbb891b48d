// Wherry: reading and writing JSON text, for programs.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

extension WherryError {
    /// The public form of what is wrong with a text, a value or a path.
    package init(_ error: JSONError) {
        self.init(ErrorReason(rawValue: error.reason) ?? .badParameters, error.message)
    }
}

extension JSON {
    /// Reads one value from text, strictly by RFC 8259.
    ///
    /// Integers are exact to 64 bits, of a name that comes twice the last value counts, and at most
    /// 512 levels and 64 MiB are read. Fails with `bad_json`, naming the byte, or `too_large`.
    public init(parsing text: String) throws(WherryError) {
        do throws(JSONError) {
            self = try JSON.parse(text)
        } catch {
            throw WherryError(error)
        }
    }

    /// Reads one value from the bytes of a text; see ``init(parsing:)-(String)``.
    public init(parsing text: [UInt8]) throws(WherryError) {
        do throws(JSONError) {
            self = try JSON.parse(text)
        } catch {
            throw WherryError(error)
        }
    }

    /// The JSON text as UTF-8. Fails with `bad_parameters` for NaN, the infinities and containers
    /// more than 512 deep.
    public func text(style: JSONStyle) throws(WherryError) -> String {
        do throws(JSONError) {
            return String(decoding: try printed(style), as: UTF8.self)
        } catch {
            throw WherryError(error)
        }
    }

    /// Puts a value at a path, and makes the containers on the way.
    ///
    /// A missing or null container becomes an object, or an array where the step is `-` or `0`.
    /// In an array `-` and the index one past the end append. Fails with `bad_parameters`, and
    /// changes nothing, where an index lies beyond that, where a text, number or bool stands in the
    /// way, where the value is NaN or infinite, and where the whole would be more than 512 deep.
    public mutating func put(_ value: JSON, at path: String) throws(WherryError) {
        do throws(JSONError) {
            try set(value, at: path)
        } catch {
            throw WherryError(error)
        }
    }
}
