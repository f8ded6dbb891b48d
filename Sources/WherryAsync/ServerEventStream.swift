// Wherry: streaming server-sent events.
// SPDX-License-Identifier: Apache-2.0

extension BodyStream {
    /// The body as server-sent events (`text/event-stream`).
    public var serverEvents: ServerEventStream {
        ServerEventStream(body: self, maxEventBytes: 1 << 20)
    }

    /// Returns the body as server-sent events.
    ///
    /// - Parameter maxEventBytes: The maximum size of an event; a larger one fails with
    ///   `too_large`.
    public func serverEvents(maxEventBytes: Int) -> ServerEventStream {
        ServerEventStream(body: self, maxEventBytes: Swift.max(0, maxEventBytes))
    }
}

/// The server-sent events of a body, as they arrive. An event truncated by the end of the body is
/// ignored. The default limit is 1 MiB per event.
public struct ServerEventStream: AsyncSequence, Sendable {
    public typealias Element = ServerEvent
    public typealias Failure = WherryError

    let body: BodyStream
    let maxEventBytes: Int

    /// Creates the reader of the events. Create only one.
    public func makeAsyncIterator() -> Iterator {
        Iterator(
            body: body.makeAsyncIterator(), parser: ServerEventParser(limit: maxEventBytes))
    }

    /// Iterates over the events.
    public struct Iterator: AsyncIteratorProtocol {
        private var body: BodyStream.Iterator
        private var parser: ServerEventParser
        private var ready: ArraySlice<ServerEvent> = []
        private var isOver = false

        init(body: BodyStream.Iterator, parser: ServerEventParser) {
            self.body = body
            self.parser = parser
        }

        /// The server's reconnection time; `nil` if not sent.
        public var retry: Duration? { parser.retry.map { .milliseconds($0) } }

        /// Returns the next event; `nil` after the last.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(WherryError) -> ServerEvent? {
            while ready.isEmpty && !isOver {
                guard let piece = try await body.next(isolation: actor) else {
                    isOver = true
                    break
                }
                var events: [ServerEvent] = []
                do throws(WherryError) {
                    try parser.feed(piece, &events)
                } catch {
                    isOver = true
                    throw error
                }
                ready = events[...]
            }
            return ready.popFirst()
        }
    }
}
