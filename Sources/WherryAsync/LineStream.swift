// Wherry: streaming a response body line by line.
// SPDX-License-Identifier: Apache-2.0

extension BodyStream {
    /// The body as lines of text.
    public var lines: LineStream { LineStream(body: self, maxLineBytes: 1 << 20) }

    /// Returns the body as lines of text.
    ///
    /// - Parameter maxLineBytes: The maximum length of a line; a longer one fails with `too_large`.
    public func lines(maxLineBytes: Int) -> LineStream {
        LineStream(body: self, maxLineBytes: Swift.max(0, maxLineBytes))
    }
}

/// The lines of a body, without their terminators (LF or CRLF). Text after the last terminator is a
/// line too; invalid UTF-8 becomes U+FFFD. The default limit is 1 MiB per line.
public struct LineStream: AsyncSequence, Sendable {
    public typealias Element = String
    public typealias Failure = WherryError

    let body: BodyStream
    let maxLineBytes: Int

    /// Creates the reader of the lines. Create only one.
    public func makeAsyncIterator() -> Iterator {
        Iterator(body: body.makeAsyncIterator(), maxLineBytes: maxLineBytes)
    }

    /// Iterates over the lines.
    public struct Iterator: AsyncIteratorProtocol {
        private var body: BodyStream.Iterator
        private let maxLineBytes: Int
        private var piece = Bytes()
        private var position = 0
        private var line: [UInt8] = []
        private var isOver = false

        init(body: BodyStream.Iterator, maxLineBytes: Int) {
            self.body = body
            self.maxLineBytes = maxLineBytes
        }

        /// Returns the next line; `nil` after the last.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(WherryError) -> String? {
            while !isOver {
                if let end = piece[position...].firstIndex(of: UInt8(ascii: "\n")) {
                    try take(upTo: end)
                    position = end + 1
                    if line.last == UInt8(ascii: "\r") { line.removeLast() }
                    return finish()
                }
                try take(upTo: piece.count)
                // Release the current chunk before waiting for more.
                piece = Bytes()
                position = 0
                guard let next = try await body.next(isolation: actor) else {
                    isOver = true
                    return line.isEmpty ? nil : finish()
                }
                piece = next
            }
            return nil
        }

        private mutating func take(upTo end: Int) throws(WherryError) {
            let (count, overflow) = line.count.addingReportingOverflow(end - position)
            guard !overflow, count <= maxLineBytes else {
                isOver = true
                throw WherryError(
                    .tooLarge,
                    "A line of the response is longer than \(maxLineBytes) bytes. Raise maxLineBytes."
                )
            }
            line.append(contentsOf: piece[position..<end])
        }

        private mutating func finish() -> String {
            let text = String(decoding: line, as: UTF8.self)
            line.removeAll(keepingCapacity: true)
            return text
        }
    }
}
