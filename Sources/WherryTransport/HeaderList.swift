// Wherry: request headers in libcurl's format.
// SPDX-License-Identifier: Apache-2.0

internal import CCurl
import Glibc

/// An immutable list of request headers in one block of memory.
///
/// It is libcurl's `curl_slist`, built in place: the nodes and their text are adjacent, and the
/// last node points to `rest`, which many requests share. The caller must validate names and
/// values; libcurl does not (SEC-U1).
package final class HeaderList: @unchecked Sendable {  // never changes after init
    private let block: UnsafeMutableRawPointer?
    private let rest: HeaderList?
    let head: UnsafeMutablePointer<curl_slist>?
    /// Whether memory ran out, so that the list must not be sent.
    package let isIncomplete: Bool
    /// Whether the list contains Accept-Encoding, so that the transport does not add it.
    let hasAcceptEncoding: Bool
    let hasUserAgent: Bool
    /// The size of the names and values, with those of `rest`.
    let byteCount: Int

    /// - Parameters:
    ///   - fields: The headers in the order of sending. An empty value is sent as an empty header;
    ///     a `nil` value stops libcurl from sending its own header of that name.
    ///   - rest: The headers that follow.
    package init(_ fields: [(name: String, value: String?)], rest: HeaderList? = nil) {
        self.rest = rest
        hasAcceptEncoding =
            rest?.hasAcceptEncoding == true || Self.contains(fields, "accept-encoding")
        hasUserAgent = rest?.hasUserAgent == true || Self.contains(fields, "user-agent")
        var text = 0
        for field in fields {
            text += field.name.utf8.count + (field.value?.utf8.count ?? 0) + 3
        }
        byteCount = text + (rest?.byteCount ?? 0)
        guard !fields.isEmpty else {
            block = nil
            head = rest?.head
            isIncomplete = rest?.isIncomplete ?? false
            return
        }
        let nodes = fields.count * MemoryLayout<curl_slist>.stride
        guard let memory = malloc(nodes + text) else {
            block = nil
            head = nil
            isIncomplete = true
            return
        }
        isIncomplete = rest?.isIncomplete ?? false
        block = memory
        let list = memory.bindMemory(to: curl_slist.self, capacity: fields.count)
        var cursor = memory + nodes
        for (index, field) in fields.enumerated() {
            let start = cursor
            cursor = Self.copy(field.name, to: cursor)
            switch field.value {
            case nil: cursor = Self.copy(":", to: cursor)
            case "": cursor = Self.copy(";", to: cursor)
            case let value?:
                cursor = Self.copy(": ", to: cursor)
                cursor = Self.copy(value, to: cursor)
            }
            cursor.storeBytes(of: 0, as: UInt8.self)
            cursor += 1
            let next = index + 1 < fields.count ? list + (index + 1) : rest?.head
            (list + index).initialize(
                to: curl_slist(data: start.assumingMemoryBound(to: CChar.self), next: next))
        }
        head = list
    }

    deinit { free(block) }

    /// The lines as sent, for tests and the stub.
    package var lines: [String] {
        var result: [String] = []
        var node = head
        while let current = node {
            if let data = current.pointee.data { result.append(String(cString: data)) }
            node = current.pointee.next
        }
        return result
    }

    /// The headers of the list, including those of `rest`.
    package var fields: [(name: String, value: String?)] {
        lines.map { line in
            let end = line.utf8.firstIndex { $0 == 0x3A || $0 == 0x3B } ?? line.endIndex
            let name = String(line[..<end])
            let rest = line[end...].utf8.dropFirst()
            if rest.isEmpty { return (name, line.utf8.last == 0x3B ? "" : nil) }
            return (name, String(decoding: rest.dropFirst(), as: UTF8.self))
        }
    }

    private static func contains(
        _ fields: [(name: String, value: String?)], _ name: StaticString
    ) -> Bool {
        fields.contains { field in
            field.name.utf8.count == name.utf8CodeUnitCount
                && strcasecmp(
                    field.name, UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self)
                )
                    == 0
        }
    }

    private static func copy(
        _ text: String, to destination: UnsafeMutableRawPointer
    ) -> UnsafeMutableRawPointer {
        var text = text
        return text.withUTF8 { bytes in
            if let base = bytes.baseAddress { memcpy(destination, base, bytes.count) }
            return destination + bytes.count
        }
    }
}
