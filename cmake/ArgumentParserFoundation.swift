// Wherry: replaces the one file of swift-argument-parser that imports Foundation.
// SPDX-License-Identifier: Apache-2.0

extension Error {
    func describe() -> String { String(describing: self) }
}

/// Encodes the description of a command for `--experimental-dump-help`: text, numbers, and booleans in
/// arrays and objects.
enum JSONEncoder {
    static func encode(_ value: some Encodable) -> String {
        let root = Node()
        guard (try? root.set(value)) != nil else { return "" }
        return root.text(indentation: "")
    }
}

private final class Node: Encoder {
    private enum Content {
        case scalar(String)
        case array([Node])
        case object([String: Node])
    }

    private var content = Content.scalar("null")
    let codingPath: [any CodingKey] = []
    let userInfo: [CodingUserInfoKey: Any] = [:]

    func set(_ value: some Encodable) throws {
        switch value {
        case let text as String: content = .scalar(Self.quoted(text))
        case let flag as Bool: content = .scalar("\(flag)")
        case let number as any BinaryInteger: content = .scalar("\(number)")
        default: try value.encode(to: self)
        }
    }

    func addElement() -> Node {
        let node = Node()
        if case .array(let nodes) = content { content = .array(nodes + [node]) }
        return node
    }

    func addMember(_ key: any CodingKey) -> Node {
        let node = Node()
        guard case .object(var members) = content else { return node }
        members[key.stringValue] = node
        content = .object(members)
        return node
    }

    var count: Int {
        if case .array(let nodes) = content { nodes.count } else { 0 }
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        content = .object([:])
        return KeyedEncodingContainer(Members(node: self))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        content = .array([])
        return Elements(node: self)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { Single(node: self) }

    func text(indentation: String) -> String {
        let inner = indentation + "  "
        switch content {
        case .scalar(let text): return text
        case .array(let nodes):
            let lines = nodes.map { inner + $0.text(indentation: inner) }
            return "[\n" + lines.joined(separator: ",\n") + "\n\(indentation)]"
        case .object(let members):
            let lines = members.sorted { $0.key < $1.key }.map { key, node in
                "\(inner)\(Self.quoted(key)) : \(node.text(indentation: inner))"
            }
            return "{\n" + lines.joined(separator: ",\n") + "\n\(indentation)}"
        }
    }

    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": quoted += "\\\(scalar)"
            case "\n": quoted += "\\n"
            case "\u{0}"..<" ":
                let digits = String(scalar.value, radix: 16)
                quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}

private struct Members<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let node: Node
    let codingPath: [any CodingKey] = []

    func encodeNil(forKey key: Key) {}
    func encode(_ value: some Encodable, forKey key: Key) throws {
        try node.addMember(key).set(value)
    }
    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type, forKey key: Key
    ) -> KeyedEncodingContainer<NestedKey> {
        node.addMember(key).container(keyedBy: type)
    }
    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        node.addMember(key).unkeyedContainer()
    }
    func superEncoder() -> any Encoder { node }
    func superEncoder(forKey key: Key) -> any Encoder { node.addMember(key) }
}

private struct Elements: UnkeyedEncodingContainer {
    let node: Node
    let codingPath: [any CodingKey] = []
    var count: Int { node.count }

    func encodeNil() { _ = node.addElement() }
    func encode(_ value: some Encodable) throws { try node.addElement().set(value) }
    func nestedContainer<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        node.addElement().container(keyedBy: type)
    }
    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
        node.addElement().unkeyedContainer()
    }
    func superEncoder() -> any Encoder { node.addElement() }
}

private struct Single: SingleValueEncodingContainer {
    let node: Node
    let codingPath: [any CodingKey] = []

    func encodeNil() {}
    func encode(_ value: some Encodable) throws { try node.set(value) }
}
