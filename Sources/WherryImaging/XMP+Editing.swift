// Wherry: removing properties from an XMP packet.
// SPDX-License-Identifier: Apache-2.0

extension XMP {
    /// Whether a packet speaks of GPS anywhere, in any spelling.
    static func mentionsGPS(_ packet: [UInt8]) -> Bool { contains("gps", in: packet) }

    /// Whether a packet speaks of GPS, or is in UTF-16 or UTF-32, which are not searched.
    static func mayMentionGPS(_ packet: [UInt8]) -> Bool {
        packet.contains(0) || mentionsGPS(packet)
    }

    /// Whether bytes contain an ASCII text, in any case.
    static func contains(_ text: String, in bytes: [UInt8]) -> Bool {
        let wanted = text.lowercased().utf8.map { $0 }
        guard let first = wanted.first, bytes.count >= wanted.count else { return false }
        let lower: (UInt8) -> UInt8 = { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
        for start in 0...bytes.count - wanted.count where lower(bytes[start]) == first {
            var matched = 1
            while matched < wanted.count, lower(bytes[start + matched]) == wanted[matched] {
                matched += 1
            }
            if matched == wanted.count { return true }
        }
        return false
    }

    /// Returns a packet without the properties that `isRemoved` selects by namespace and name, whether
    /// they are elements or attributes. All other bytes stay.
    ///
    /// Returns `nil` if the packet is not well-formed, or uses a part of XML that XMP does not need, such
    /// as a document type.
    static func removing(
        _ isRemoved: (String, String) -> Bool, from packet: [UInt8]
    ) -> [UInt8]? {
        var scanner = XMPScanner(packet)
        guard let removed = scanner.ranges(where: isRemoved) else { return nil }
        var rest: [UInt8] = []
        var at = 0
        for range in removed {
            rest += packet[at..<range.lowerBound]
            at = range.upperBound
        }
        return rest + packet[at...]
    }
}

/// A scanner for the elements and attributes of an XMP packet.
private struct XMPScanner {
    private let bytes: [UInt8]
    private var at = 0
    private var open: [Element] = []
    private var prefixes: [(name: Range<Int>, namespace: String)] = []
    private var removed: [Range<Int>] = []

    private struct Element {
        let name: Range<Int>
        /// The number of known prefixes outside the element.
        let prefixes: Int
        /// The start of the element, if it is removed, and no element around it is.
        let removedFrom: Int?
        /// Whether the element is inside a removed one, or is removed.
        let isGone: Bool
    }

    private struct Attribute {
        /// From the space before the name to the quote after the value.
        let range: Range<Int>
        let name: Range<Int>
        let value: Range<Int>
    }

    /// More than any program writes. The limits keep the time of a scan proportional to the size.
    private static let mostLevels = 100
    private static let mostPrefixes = 200
    private static let mostAttributes = 500

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Returns the ranges of the selected elements and attributes in order; `nil` for malformed XML.
    mutating func ranges(where isRemoved: (String, String) -> Bool) -> [Range<Int>]? {
        // UTF-16 has zero bytes.
        guard !bytes.contains(0), String(validating: bytes, as: UTF8.self) != nil else {
            return nil
        }
        var hasElements = false
        while let start = bytes[at...].firstIndex(of: UInt8(ascii: "<")) {
            at = start + 1
            if skips("?") {
                guard skip(past: "?>") else { return nil }
            } else if skips("!--") {
                guard skip(past: "-->") else { return nil }
            } else if skips("![CDATA[") {
                guard !open.isEmpty, skip(past: "]]>") else { return nil }
            } else if skips("/") {
                guard close() else { return nil }
            } else {
                guard !open.isEmpty || !hasElements, element(from: start, isRemoved) else {
                    return nil
                }
                hasElements = true
            }
        }
        return open.isEmpty && hasElements ? removed : nil
    }

    // MARK: Elements

    private mutating func element(from start: Int, _ isRemoved: (String, String) -> Bool) -> Bool {
        guard let name = takeName() else { return false }
        let known = prefixes.count
        var attributes: [Attribute] = []
        while true {
            let space = at
            skipSpaces()
            guard at < bytes.count else { return false }
            if bytes[at] == UInt8(ascii: ">") || bytes[at] == UInt8(ascii: "/") { break }
            guard at > space, attributes.count < Self.mostAttributes,
                let attribute = takeAttribute(from: space)
            else { return false }
            attributes.append(attribute)
        }
        let isClosed = skips("/")
        guard skips(">"), declare(attributes) else { return false }

        let isInside = open.last?.isGone ?? false
        guard let isGone = isSelected(name, isRemoved) else { return false }
        if !isInside, !isGone {
            for attribute in attributes {
                // An attribute without a prefix has no namespace.
                guard bytes[attribute.name].contains(UInt8(ascii: ":")) else { continue }
                guard let isGone = isSelected(attribute.name, isRemoved) else { return false }
                if isGone { removed.append(attribute.range) }
            }
        }
        if isClosed {
            if isGone, !isInside { removed.append(start..<at) }
            prefixes.removeSubrange(known...)
            return true
        }
        guard open.count < Self.mostLevels else { return false }
        open.append(
            Element(
                name: name, prefixes: known, removedFrom: isGone && !isInside ? start : nil,
                isGone: isGone || isInside))
        return true
    }

    private mutating func close() -> Bool {
        guard let name = takeName(), let element = open.popLast(),
            bytes[name].elementsEqual(bytes[element.name])
        else { return false }
        skipSpaces()
        guard skips(">") else { return false }
        prefixes.removeSubrange(element.prefixes...)
        if let start = element.removedFrom { removed.append(start..<at) }
        return true
    }

    // MARK: Names

    /// Adds the declarations of namespaces among the attributes. Returns `false` for those that could
    /// hide a name.
    private mutating func declare(_ attributes: [Attribute]) -> Bool {
        for attribute in attributes {
            let name = bytes[attribute.name]
            guard name.starts(with: "xmlns".utf8) else { continue }
            let prefix = name.dropFirst(5)
            guard prefix.isEmpty || prefix.first == UInt8(ascii: ":") else { continue }
            let namespace = bytes[attribute.value]
            guard prefixes.count < Self.mostPrefixes, !namespace.contains(UInt8(ascii: "&")) else {
                return false
            }
            let start = prefix.isEmpty ? prefix.endIndex : prefix.startIndex + 1
            prefixes.append(
                (start..<prefix.endIndex, String(decoding: namespace, as: UTF8.self)))
        }
        return true
    }

    /// Returns whether a name is selected; `nil` if its prefix is not declared.
    private func isSelected(_ name: Range<Int>, _ isRemoved: (String, String) -> Bool) -> Bool? {
        let colon = bytes[name].firstIndex(of: UInt8(ascii: ":"))
        let prefix = bytes[name.lowerBound..<(colon ?? name.lowerBound)]
        let local = colon.map { $0 + 1 } ?? name.lowerBound
        let text = String(decoding: bytes[local..<name.upperBound], as: UTF8.self)
        if prefix.elementsEqual("xml".utf8) || prefix.elementsEqual("xmlns".utf8) { return false }
        guard let known = prefixes.last(where: { bytes[$0.name].elementsEqual(prefix) }) else {
            return colon == nil ? isRemoved("", text) : nil
        }
        return isRemoved(known.namespace, text)
    }

    // MARK: Characters

    private mutating func takeName() -> Range<Int>? {
        let ends = Array(" \t\r\n<>/=\"'&".utf8)
        let start = at
        while at < bytes.count, !ends.contains(bytes[at]) { at += 1 }
        return at > start ? start..<at : nil
    }

    private mutating func takeAttribute(from space: Int) -> Attribute? {
        guard let name = takeName() else { return nil }
        skipSpaces()
        guard skips("=") else { return nil }
        skipSpaces()
        guard at < bytes.count else { return nil }
        let quote = bytes[at]
        guard quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else { return nil }
        let start = at + 1
        guard let end = bytes[start...].firstIndex(of: quote),
            !bytes[start..<end].contains(UInt8(ascii: "<"))
        else { return nil }
        at = end + 1
        return Attribute(range: space..<at, name: name, value: start..<end)
    }

    private mutating func skipSpaces() {
        while at < bytes.count, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[at]) { at += 1 }
    }

    private mutating func skips(_ text: StaticString) -> Bool {
        let wanted = UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        guard bytes[at...].starts(with: wanted) else { return false }
        at += wanted.count
        return true
    }

    /// Moves behind the next occurrence of a text; returns `false` if there is none.
    private mutating func skip(past text: StaticString) -> Bool {
        let wanted = UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        while at < bytes.count {
            if bytes[at...].starts(with: wanted) {
                at += wanted.count
                return true
            }
            at += 1
        }
        return false
    }
}
