// Wherry: an answer, whole.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem
import WherryTransport

/// An answer with its status, fields, body and measurements. Copies share everything.
public struct Response: Sendable {
    /// A redirect that was followed on the way.
    public struct Redirect: Sendable, Hashable {
        /// The URL that redirected.
        public let url: String
        /// Its status.
        public let status: Int
        /// The header fields of the redirect response.
        public let headers: Headers

        package init(url: String, status: Int, head: ResponseHead?) {
            self.url = url
            self.status = status
            headers = head.map { Response.headers($0) } ?? Headers()
        }
    }

    /// An informational response (1xx) that came before the final one.
    public struct Informational: Sendable {
        /// Its status, such as 103.
        public let status: Int
        /// Its header fields.
        public let headers: Headers
    }

    /// How long each step took, and what moved. Lengths, not running sums; zero where a step did
    /// not happen.
    public struct Metrics: Sendable, Hashable {
        /// Waiting for a free connection.
        public var queued = Duration.zero
        /// Looking the host's name up.
        public var lookup = Duration.zero
        /// Connecting, after the lookup.
        public var connect = Duration.zero
        /// The TLS handshake, after connecting.
        public var tls = Duration.zero
        /// From the start to the first byte of the answer.
        public var firstByte = Duration.zero
        /// From the start to the last byte.
        public var total = Duration.zero
        /// Bytes on the wire, heads included, over all hops.
        public var sentBytes: Int64 = 0
        /// Bytes received on the wire, heads included, over all hops.
        public var receivedBytes: Int64 = 0
        /// 10, 11 or 20; 0 where none was spoken.
        public var httpVersion = 0
        /// How many redirects were followed.
        public var redirects = 0
        /// The number of attempts after the first one, those with a new token included.
        public var retries = 0
        /// No new connection was needed.
        public var isReused = false
        /// The address that answered; "" where nobody was asked.
        public var remoteAddress = ""
    }

    private final class Storage: Sendable {
        let head: ResponseHead
        let url: String
        let redirects: [Redirect]
        let metrics: ExchangeMetrics
        let retries: Int
        let isLengthUnverified: Bool
        let marks: CacheMarks
        let savedPath: String?

        init(
            head: ResponseHead, url: String, redirects: [Redirect], metrics: ExchangeMetrics,
            retries: Int, isLengthUnverified: Bool, marks: CacheMarks, savedPath: String? = nil
        ) {
            self.savedPath = savedPath
            self.head = head
            self.url = url
            self.redirects = redirects
            self.metrics = metrics
            self.retries = retries
            self.isLengthUnverified = isLengthUnverified
            self.marks = marks
        }
    }

    /// What caches had to do with an answer.
    package struct CacheMarks: OptionSet, Sendable {
        package let rawValue: UInt8
        package init(rawValue: UInt8) { self.rawValue = rawValue }
        package static let stored = CacheMarks(rawValue: 1)
        package static let unchanged = CacheMarks(rawValue: 2)
        package static let stale = CacheMarks(rawValue: 4)
        package static let revalidated = CacheMarks(rawValue: 8)
    }

    private let storage: Storage
    /// The decoded body; empty if it was streamed or written to a file.
    public let body: Bytes
    /// The pictures of the upload that this answers, in the order of adding; those that were skipped
    /// have an error. Empty for other answers.
    public package(set) var images: [ImageOutcome] = []

    package init(
        head: ResponseHead, body: Bytes, url: String, redirects: [Redirect] = [],
        metrics: ExchangeMetrics = ExchangeMetrics(), retries: Int = 0,
        isLengthUnverified: Bool = false, marks: CacheMarks = []
    ) {
        storage = Storage(
            head: head, url: url, redirects: redirects, metrics: metrics, retries: retries,
            isLengthUnverified: isLengthUnverified, marks: marks)
        self.body = body
    }

    /// The same answer with more marks.
    package func marked(_ marks: CacheMarks) -> Response {
        Response(
            head: head, body: body, url: url, redirects: redirects, metrics: storage.metrics,
            retries: storage.retries, isLengthUnverified: isLengthUnverified,
            marks: storage.marks.union(marks))
    }

    /// The same answer without its body.
    package var bodiless: Response { Response(storage, Bytes()) }

    /// The same answer, its body having gone to a file.
    package func saved(at path: String) -> Response {
        var saved = Response(
            Storage(
                head: head, url: url, redirects: redirects, metrics: storage.metrics,
                retries: storage.retries, isLengthUnverified: isLengthUnverified,
                marks: storage.marks, savedPath: path), body)
        saved.images = images
        return saved
    }

    private init(_ storage: Storage, _ body: Bytes) {
        self.storage = storage
        self.body = body
    }

    package var head: ResponseHead { storage.head }
    /// Bytes on the wire, over all hops and attempts.
    package var wire: (sent: Int64, received: Int64) {
        (storage.metrics.sent, storage.metrics.received)
    }
    package var remoteAddress: String { storage.metrics.remoteAddress }

    /// The HTTP status.
    public var status: Int { storage.head.status }
    /// Where the answer came from, after redirects.
    public var url: String { storage.url }
    /// The informational responses (1xx) that the server sent before this one, such as 103 Early
    /// Hints, in the order of arrival. Those before a redirect or an earlier attempt are not included.
    public var informational: [Informational] {
        storage.head.interim.map { head in
            Informational(
                status: head.status,
                headers: Headers(
                    fields: head.fields.map { Headers.Field(name: $0.name, value: $0.value) }))
        }
    }
    /// The redirects that were followed, first one first.
    public var redirects: [Redirect] { storage.redirects }
    /// Whether a cache gave the answer.
    public var isFromCache: Bool { storage.marks.contains(.stored) }
    /// Whether the body is the one that a stored answer had, which was told before this one
    /// (``CachePolicy/thenNetwork``).
    public var isUnchanged: Bool { storage.marks.contains(.unchanged) }
    /// Whether a stored answer is older than it should be: served since the origin failed, or since
    /// a policy, the request or the answer itself allows it (K17).
    public var isStale: Bool { storage.marks.contains(.stale) }
    /// Whether the server has just confirmed a stored answer, with 304: the body is the stored one,
    /// the fields are those of both (K15).
    public var isRevalidated: Bool { storage.marks.contains(.revalidated) }
    /// Whether the body may have been cut: over TLS, it has no length, and its connection ended
    /// without close_notify (SEC-R4). An error with `requiresVerifiedLength`.
    public var isLengthUnverified: Bool { storage.isLengthUnverified }

    /// All fields in order. A value is read as UTF-8, and as ISO-8859-1 where it is not UTF-8.
    public var headers: Headers { Self.headers(storage.head) }

    private static func headers(_ head: ResponseHead) -> Headers {
        Headers(fields: head.fields.map { Headers.Field(name: $0.name, value: $0.value) })
    }

    /// The value of the first field of that name, whatever its case: UTF-8, or ISO-8859-1 where it
    /// is not UTF-8.
    public func header(_ name: String) -> String? { storage.head[name] }

    /// The charset that Content-Type names, in lower case.
    public var charset: String? { header("content-type").flatMap { MediaType($0)?.charset } }

    /// The body as text of the ``charset``; as UTF-8 where there is none, or one that the system
    /// does not know. What is no text of it becomes U+FFFD (R13).
    public var text: String {
        charset.flatMap { body.text(charset: $0) } ?? body.text
    }

    /// What the first of several ways that succeeds makes of this answer, tried in order (R13).
    ///
    /// - Throws: what the last one threw.
    public func first<Value>(
        of way: @escaping (Response) throws -> Value, _ others: (Response) throws -> Value...
    ) throws -> Value {
        let ways = [way] + others
        for way in ways.dropLast() {
            if let value = try? way(self) { return value }
        }
        return try ways[others.count](self)
    }

    /// The body as JSON. An empty body, or one space, is a null (R12).
    public func json() throws(WherryError) -> JSON {
        do {
            return try JSON.parse(body: body)
        } catch {
            throw WherryError(
                .badJSONBody, "The answer of \(HTTPURL.redacted(url)) is not JSON: \(error.message)"
            ).with {
                $0.httpStatus = status
                $0.response = self
            }
        }
    }

    /// The absolute path of the file that the body was saved to, where the question about the head
    /// was answered so (R21); `nil` where it was not. The ``body`` is empty then.
    public var savedPath: String? { storage.savedPath }

    /// A file name for the body: from Content-Disposition, else the URL, else "download". Never a
    /// path (D19).
    public var suggestedFileName: String {
        SuggestedFileName.choose(contentDisposition: header("content-disposition"), url: url)
    }

    /// How long each step took, and what moved.
    public var metrics: Metrics {
        let raw = storage.metrics
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
        metrics.redirects = storage.redirects.count
        metrics.retries = storage.retries
        metrics.isReused = raw.isReused
        metrics.remoteAddress = raw.remoteAddress
        return metrics
    }
}
