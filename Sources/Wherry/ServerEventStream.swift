// Wherry: the body of an answer, event by event.
// SPDX-License-Identifier: Apache-2.0

extension BodyStream {
    /// The body as server-sent events (`text/event-stream`).
    public var serverEvents: ServerEventStream { ServerEventStream(body: self, maxEventBytes: 1 << 20) }

    /// The body as server-sent events.
    ///
    /// - Parameter maxEventBytes: the longest event; a longer one is the error `too_large`.
    public func serverEvents(maxEventBytes: Int) -> ServerEventStream {
        ServerEventStream(body: self, maxEventBytes: Swift.max(0, maxEventBytes))
    }
}

/// The server-sent events of a body, as they arrive. An event that the end of the body cuts short
/// is none. An event may be 1 MiB long unless said otherwise.
public struct ServerEventStream: AsyncSequence, Sendable {
    public typealias Element = ServerEvent
    public typealias Failure = WherryError

    let body: BodyStream
    let maxEventBytes: Int

    /// The one reader of the events.
    public func makeAsyncIterator() -> Iterator {
        Iterator(
            body: body.makeAsyncIterator(), parser: ServerEventParser(limit: maxEventBytes))
    }

    /// Takes the events in turn.
    public struct Iterator: AsyncIteratorProtocol {
        private var body: BodyStream.Iterator
        private var parser: ServerEventParser
        private var ready: ArraySlice<ServerEvent> = []
        private var isOver = false

        init(body: BodyStream.Iterator, parser: ServerEventParser) {
            self.body = body
            self.parser = parser
        }

        /// How long the server asked to wait before the stream is asked for again; `nil` if it
        /// has not.
        public var retry: Duration? { parser.retry.map { .milliseconds($0) } }

        /// The next event; `nil` after the last.
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
