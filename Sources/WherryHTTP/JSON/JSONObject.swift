// Wherry: the members of a JSON object.
// SPDX-License-Identifier: Apache-2.0

/// The members of a JSON object in order, with unique names.
///
/// Names are compared by bytes, as in JSON. Swift's string comparison would treat the composed and
/// the decomposed form of "é" as equal. The order does not affect the equality of objects.
public struct JSONObject: Sendable {
    /// One member.
    public struct Member: Sendable, Hashable {
        /// The name, unescaped.
        public let name: String
        /// Its value.
        public internal(set) var value: JSON
    }

    /// A name as a key, hashed and compared by bytes. Swift gives strings that differ only in the
    /// order of combining marks the same hash, and a server could send thousands of them.
    private struct NameKey: Hashable, Sendable {
        let name: String
        static func == (a: NameKey, b: NameKey) -> Bool { JSONObject.isSame(a.name, b.name) }
        func hash(into hasher: inout Hasher) {
            for byte in name.utf8 { hasher.combine(byte) }
        }
    }

    private var members: [Member] = []
    /// The index of each name; `nil` for few members, where a linear search is faster.
    private var places: [NameKey: Int]?
    private static let mostWithoutPlaces = 24

    /// Creates an empty object.
    public init() {}

    /// The value of a name. Setting `nil` removes the member; use ``JSON/null`` to store a null. A
    /// new name is appended; an existing name keeps its position.
    public subscript(name: String) -> JSON? {
        get { place(of: name).map { members[$0].value } }
        set {
            switch (place(of: name), newValue) {
            case (let place?, let value?): members[place].value = value
            case (let place?, nil): remove(at: place)
            case (nil, let value?): append(Member(name: name, value: value))
            case (nil, nil): break
            }
        }
    }

    /// The names in order.
    public var names: [String] { members.map(\.name) }

    /// The members sorted by the bytes of their names, which is the order of code points.
    package var sortedByName: [Member] {
        members.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    }

    /// Returns the index of a name, or `nil`.
    package func place(of name: String) -> Int? {
        if let places { return places[NameKey(name: name)] }
        return members.firstIndex { JSONObject.isSame($0.name, name) }
    }

    /// Changes the value at an index in place.
    mutating func update<Failure: Error>(
        at place: Int, _ change: (inout JSON) throws(Failure) -> Void
    ) throws(Failure) {
        try change(&members[place].value)
    }

    private mutating func append(_ member: Member) {
        members.append(member)
        if places != nil {
            places?[NameKey(name: member.name)] = members.count - 1
        } else if members.count > JSONObject.mostWithoutPlaces {
            indexPlaces()
        }
    }

    private mutating func remove(at place: Int) {
        members.remove(at: place)
        if places != nil { indexPlaces() }
    }

    private mutating func indexPlaces() {
        var places: [NameKey: Int] = [:]
        places.reserveCapacity(members.count)
        for (place, member) in members.enumerated() { places[NameKey(name: member.name)] = place }
        self.places = places
    }

    private static func isSame(_ a: String, _ b: String) -> Bool {
        a.utf8.count == b.utf8.count && a.utf8.elementsEqual(b.utf8)
    }
}

extension JSONObject: RandomAccessCollection {
    public var startIndex: Int { 0 }
    public var endIndex: Int { members.count }
    public subscript(position: Int) -> Member { members[position] }
}

extension JSONObject: Hashable {
    public static func == (a: JSONObject, b: JSONObject) -> Bool {
        a.count == b.count && a.members.allSatisfy { b[$0.name] == $0.value }
    }

    public func hash(into hasher: inout Hasher) {
        var sum = 0
        for member in members {
            var one = Hasher()
            one.combine(member)
            sum &+= one.finalize()
        }
        hasher.combine(sum)
    }
}

extension JSONObject: ExpressibleByDictionaryLiteral {
    /// Creates an object. If a name is repeated, the last value wins.
    public init(dictionaryLiteral elements: (String, JSON)...) {
        for (name, value) in elements { self[name] = value }
    }
}
