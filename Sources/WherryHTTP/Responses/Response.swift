// Wherry: responses.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem
import WherryTransport

/// A response with status, headers, body and metrics. Copies share storage.
public struct Response: Sendable {
    /// A redirect that was followed.
    public struct Redirect: Sendable, Hashable {
        /// The URL that redirected.
        public let url: String
        /// The status of the redirect response.
        public let status: Int
        /// The headers of the redirect response.
        public let headers: Headers

        package init(url: String, status: Int, head: ResponseHead?) {
            self.url = url
            self.status = status
            headers = head.map { Response.headers($0) } ?? Headers()
        }
    }

    /// An informational response (1xx) that preceded the final one.
    public struct Informational: Sendable {
        /// The status of the informational response, such as 103.
        public let status: Int
        /// The headers of the informational response.
        public let headers: Headers
    }

    /// The duration of each step, and the number of bytes transferred. A duration is zero for a
    /// step that did not happen.
    public struct Metrics: Sendable, Hashable {
        /// The wait for a free connection.
        public var queued = Duration.zero
        /// The name lookup.
        public var lookup = Duration.zero
        /// The connection, after the lookup.
        public var connect = Duration.zero
        /// The TLS handshake, after the connection.
        public var tls = Duration.zero
        /// The time from the start to the first byte of the response.
        public var firstByte = Duration.zero
        /// The time from the start to the last byte.
        public var total = Duration.zero
        /// The bytes sent over the network, including headers, redirects and retries.
        public var sentBytes: Int64 = 0
        /// The bytes received over the network, including headers, redirects and retries.
        public var receivedBytes: Int64 = 0
        /// The HTTP version: 10, 11, or 20. 0 if HTTP was not used.
        public var httpVersion = 0
        /// The number of redirects followed.
        public var redirects = 0
        /// The number of attempts after the first one for each URL, for any reason: a retry, a 401
        /// challenge, a refreshed token, the next base URL, or a cache validation.
        public var retries = 0
        /// Whether the connection was reused.
        public var isReused = false
        /// The address of the server; "" if no server was contacted.
        public var remoteAddress = ""

        package init() {}
    }

    private struct Fields: Sendable {
        var head: ResponseHead
        var body: Bytes
        var url: String
        var redirects: [Redirect]
        var metrics: ExchangeMetrics
        var retries: Int
        var isLengthUnverified: Bool
        var marks: CacheMarks
        var savedPath: String?
        var images: [ImageOutcome] = []
    }

    /// How caches contributed to a response.
    @usableFromInline package struct CacheMarks: OptionSet, Sendable {
        @usableFromInline package let rawValue: UInt8
        @inlinable package init(rawValue: UInt8) { self.rawValue = rawValue }
        @inlinable package static var stored: Self { Self(rawValue: 1) }
        @inlinable package static var unchanged: Self { Self(rawValue: 2) }
        @inlinable package static var stale: Self { Self(rawValue: 4) }
        @inlinable package static var revalidated: Self { Self(rawValue: 8) }
    }

    private var content: CopyOnWrite<Fields>

    /// The decoded body. Empty if it was streamed or written to a file.
    public var body: Bytes { content.value.body }
    /// The images of an upload in the order in which they were added. Skipped images have an error.
    /// Empty for other responses.
    public package(set) var images: [ImageOutcome] {
        get { content.value.images }
        set { content.value.images = newValue }
    }

    package init(
        head: ResponseHead, body: Bytes, url: String, redirects: [Redirect] = [],
        metrics: ExchangeMetrics = ExchangeMetrics(), retries: Int = 0,
        isLengthUnverified: Bool = false, marks: CacheMarks = []
    ) {
        content = CopyOnWrite(
            Fields(
                head: head, body: body, url: url, redirects: redirects, metrics: metrics,
                retries: retries, isLengthUnverified: isLengthUnverified, marks: marks))
    }

    /// Returns a copy with more marks.
    package func marked(_ marks: CacheMarks) -> Response {
        var copy = self
        copy.content.value.marks.formUnion(marks)
        return copy
    }

    /// A copy without the body.
    package var bodiless: Response {
        var copy = self
        copy.content.value.body = Bytes()
        copy.content.value.images = []
        return copy
    }

    /// Returns a copy whose body was saved to a file.
    package func saved(at path: String) -> Response {
        var copy = self
        copy.content.value.savedPath = path
        return copy
    }

    package var head: ResponseHead { content.value.head }
    /// The bytes sent and received over the network, including redirects and retries.
    package var wire: (sent: Int64, received: Int64) {
        (content.value.metrics.sent, content.value.metrics.received)
    }
    package var remoteAddress: String { content.value.metrics.remoteAddress }

    /// The HTTP status.
    public var status: Int { content.value.head.status }
    /// The URL of the response, after redirects.
    public var url: String { content.value.url }
    /// The informational responses (1xx) that the server sent before this one, such as 103 Early
    /// Hints, in the order of arrival. Excludes those of redirects and of earlier attempts.
    public var informational: [Informational] {
        content.value.head.interim.map { head in
            Informational(
                status: head.status,
                headers: Headers(
                    fields: head.fields.map { Headers.Field(name: $0.name, value: $0.value) }))
        }
    }
    /// The redirects followed, in order.
    public var redirects: [Redirect] { content.value.redirects }
    /// Whether the response came from a cache.
    public var isFromCache: Bool { content.value.marks.contains(.stored) }
    /// Whether the body equals that of the stored response that was returned before
    /// (`CachePolicy.thenNetwork`).
    public var isUnchanged: Bool { content.value.marks.contains(.unchanged) }
    /// Whether a stored response was returned after its expiry: because the origin failed, or
    /// because the policy, the request or the response allows it (K17).
    public var isStale: Bool { content.value.marks.contains(.stale) }
    /// Whether the server has just confirmed a stored response with 304: the body is the stored
    /// one, and the headers are merged (K15).
    public var isRevalidated: Bool { content.value.marks.contains(.revalidated) }
    /// Whether the body may be truncated (SEC-R4): it has no length, and its TLS connection ended
    /// without close_notify, or its HTTP/2 stream ended before the request was sent completely.
    /// With the option `requireVerifiedLength` such a response is an error.
    public var isLengthUnverified: Bool { content.value.isLengthUnverified }

    /// All headers in order. A value is decoded as UTF-8, or as ISO-8859-1 if it is not UTF-8.
    public var headers: Headers { Self.headers(content.value.head) }

    private static func headers(_ head: ResponseHead) -> Headers {
        Headers(fields: head.fields.map { Headers.Field(name: $0.name, value: $0.value) })
    }

    /// Returns the value of the first header with a name (case-insensitive). Decoded as UTF-8, or
    /// as ISO-8859-1 if it is not UTF-8.
    public func header(_ name: String) -> String? { content.value.head[name] }

    /// The charset from Content-Type, in lower case.
    public var charset: String? { header("content-type").flatMap { MediaType($0)?.charset } }

    /// The body as text, decoded with the ``charset``, or as UTF-8 if the charset is missing or
    /// unsupported. Invalid sequences become U+FFFD (R13).
    public var text: String {
        charset.flatMap { body.text(charset: $0) } ?? body.text
    }

    /// Tries the conversions in order and returns the result of the first one that succeeds (R13).
    ///
    /// - Throws: The error of the last conversion.
    public func first<Value>(
        of way: @escaping (Response) throws -> Value, _ others: (Response) throws -> Value...
    ) throws -> Value {
        let ways = [way] + others
        for way in ways.dropLast() {
            if let value = try? way(self) { return value }
        }
        return try ways[others.count](self)
    }

    /// Parses the body as JSON. An empty body, or a single space, is null (R12).
    public func json() throws(WherryError) -> JSON {
        do {
            return try JSON.parse(body: body)
        } catch {
            throw WherryError(
                .badJSONBody,
                "Could not parse the response of \(HTTPURL.redacted(url)): \(error.message)"
            ).with {
                $0.httpStatus = status
                $0.response = self
            }
        }
    }

    /// The absolute path of the file that contains the body, if the callback for response headers
    /// chose to save it (R21). The ``body`` is empty then. Otherwise `nil`.
    public var savedPath: String? { content.value.savedPath }

    /// A file name for the body, from Content-Disposition, or else from the URL, or else
    /// "download". Never contains a path (D19).
    public var suggestedFileName: String {
        SuggestedFileName.choose(contentDisposition: header("content-disposition"), url: url)
    }

    /// The duration of each step, and the number of bytes transferred.
    public var metrics: Metrics {
        let raw = content.value.metrics
        var metrics = Metrics()
        metrics.queued = .microseconds(raw.queued)
        metrics.lookup = .microseconds(raw.lookup)
        metrics.connect = .microseconds(max(0, raw.connect - raw.lookup))
        metrics.tls = .microseconds(raw.tls == 0 ? 0 : max(0, raw.tls - raw.connect))
        metrics.firstByte = .microseconds(raw.firstByte)
        metrics.total = .microseconds(raw.total)
        metrics.sentBytes = raw.sent
        metrics.receivedBytes = raw.received
        metrics.httpVersion = Int(raw.httpVersion)
        metrics.redirects = content.value.redirects.count
        metrics.retries = content.value.retries
        metrics.isReused = raw.isReused
        metrics.remoteAddress = raw.remoteAddress
        return metrics
    }
}
