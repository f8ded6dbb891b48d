// Wherry: parsing and printing JSON, with public errors.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

extension WherryError {
    /// Converts an error about a text, a value or a path.
    package init(_ error: JSONError) {
        self.init(ErrorReason(rawValue: error.reason) ?? .badParameters, error.message)
    }
}

extension JSON {
    /// Parses one value from text, strictly by RFC 8259.
    ///
    /// Integers are exact to 64 bits. If a name is repeated, the last value wins. Limits: 512
    /// levels and 64 MiB. Fails with `bad_json`, whose message names the byte offset, or with
    /// `too_large`.
    public init(parsing text: String) throws(WherryError) {
        do throws(JSONError) {
            self = try JSON.parse(text)
        } catch {
            throw WherryError(error)
        }
    }

    /// Parses one value from the bytes of a text; see ``init(parsing:)-(String)``.
    public init(parsing text: [UInt8]) throws(WherryError) {
        do throws(JSONError) {
            self = try JSON.parse(text)
        } catch {
            throw WherryError(error)
        }
    }

    /// Returns the JSON text. Fails with `bad_parameters` for NaN, infinities and more than 512
    /// levels.
    public func text(style: JSONStyle) throws(WherryError) -> String {
        do throws(JSONError) {
            return String(decoding: try printed(style), as: UTF8.self)
        } catch {
            throw WherryError(error)
        }
    }

    /// Sets the value at a path, creating missing containers along it.
    ///
    /// A missing or null container becomes an object, or an array if the step is `-` or `0`. In an
    /// array, `-` and the index one past the end append.
    ///
    /// Fails with `bad_parameters` and changes nothing in these cases: a larger index; a text,
    /// number or bool on the path; a value that is NaN or infinite; more than 512 levels.
    public mutating func put(_ value: JSON, at path: String) throws(WherryError) {
        do throws(JSONError) {
            try set(value, at: path)
        } catch {
            throw WherryError(error)
        }
    }
}
