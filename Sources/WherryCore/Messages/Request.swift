// Wherry: requests.
// SPDX-License-Identifier: Apache-2.0

import WherryImaging
@_exported import struct WherrySystem.Bytes
import WherrySystem

/// A request. A value type: sending takes a snapshot, so it can be changed and sent again.
///
/// It is validated when sent, since the client's base URL and settings are known only then.
public struct Request: Sendable {
    /// A name and a value of a query or a form. Names may repeat.
    public struct Pair: Sendable, Hashable {
        /// Unescaped.
        public var name: String
        /// Unescaped.
        public var value: String

        /// The pair as sent in a query; `nil` escapes the name and the value.
        package var written: String?

        /// Creates a pair of unescaped texts.
        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// The storage of a request.
    private struct Fields: Sendable {
        var method: String?
        var url: String
        var bases: [String] = []
        var headers = Headers()
        var parameters = JSONObject()
        var query: [Pair] = []
        var body = Body.none
        var tag: String?
        var acceptedStatus: [Int] = []
        var jsonShape: JSONShape?
        var isStreamed = false
        var collectsRefusals = false
        var bearerToken: String?
        var credentials: Credentials?
        var imageNames: String?
        var jpegType: String?
        var expectedDigest: ExpectedDigest?
        var mirrors: [String] = []
        var computedDigest: DigestAlgorithm?
        var creationMask: UInt32?
        var overrides: [OptionValue] = []
        var decisions: DecisionSet?
        var userInfo: (any Sendable)?
        /// Most requests have no cache settings.
        var caching: CopyOnWrite<RequestCaching>?
        var preview: RequestPreview?
    }

    private var content: CopyOnWrite<Fields>

    /// Returns whether the requests still share their storage, so neither changed; `false` proves
    /// nothing.
    package func isUnchanged(from other: Request) -> Bool {
        content.isUnchanged(from: other.content)
    }

    /// The method, any token; `nil` is GET without parameters and body, else POST (R2).
    public var method: String? {
        get { content.value.method }
        _modify { yield &content.value.method }
    }
    /// The URL: absolute, or relative to the client's base URL.
    public var url: String {
        get { content.value.url }
        _modify { yield &content.value.url }
    }
    /// The names of alternative base URLs of the client (C4). If the connection to one fails, the
    /// next one is tried; a download uses only the first. Empty, the default, uses the unnamed
    /// base. An unknown name fails when the request is sent.
    public var bases: [String] {
        get { content.value.bases }
        _modify { yield &content.value.bases }
    }
    /// The first of `bases`; setting it replaces all of them.
    public var base: String? {
        get { bases.first }
        set { bases = newValue.map { [$0] } ?? [] }
    }
    /// The headers of this request, which override the client's; a `nil` value suppresses one.
    public var headers: Headers {
        get { content.value.headers }
        _modify { yield &content.value.headers }
    }
    /// The parameters, which replace the client's default parameters. One rule applies to both. With GET, HEAD,
    /// and DELETE they go into the query. With other methods they become a JSON body, or fields of a
    /// form or of parts. Beside a body that you made (JSON, bytes, a file, a stream) they go into the
    /// query. Those of the request count for the identifier.
    public var parameters: JSONObject {
        get { content.value.parameters }
        _modify { yield &content.value.parameters }
    }
    /// Pairs that are always appended to the URL's query.
    public var query: [Pair] {
        get { content.value.query }
        _modify { yield &content.value.query }
    }
    /// The body. Default: none. Setting it replaces the previous one.
    public var body: Body {
        get { content.value.body }
        _modify { yield &content.value.body }
    }
    /// A tag for finding and cancelling a group of transfers.
    public var tag: String? {
        get { content.value.tag }
        _modify { yield &content.value.tag }
    }
    /// A value of the program that accompanies the request: in its transfer, in lists and in
    /// callbacks. Wherry does not use it. Default: `nil`.
    public var userInfo: (any Sendable)? {
        get { content.value.userInfo }
        _modify { yield &content.value.userInfo }
    }
    /// Status codes that count as success besides the accepted range.
    public var acceptedStatus: [Int] {
        get { content.value.acceptedStatus }
        _modify { yield &content.value.acceptedStatus }
    }
    /// The required shape of the JSON response. A response that does not match, or is not JSON,
    /// fails with `bad_json_body`, whose message names the path, and is not stored in the timed
    /// cache. `nil`, the default, checks nothing. Applies to successful responses only; not to
    /// HEAD, streams and downloads.
    public var jsonShape: JSONShape? {
        get { content.value.jsonShape }
        _modify { yield &content.value.jsonShape }
    }
    /// Whether the response body is streamed instead of collected.
    package var isStreamed: Bool {
        get { content.value.isStreamed }
        _modify { yield &content.value.isStreamed }
    }
    /// Whether the body of an error response is collected although the response is streamed.
    package var collectsRefusals: Bool {
        get { content.value.collectsRefusals }
        _modify { yield &content.value.collectsRefusals }
    }
    /// The token of `Authorization: Bearer`, unless a header of that name is set; `nil` uses the
    /// client's.
    public var bearerToken: String? {
        get { content.value.bearerToken }
        _modify { yield &content.value.bearerToken }
    }
    /// Whether to send and store cookies in the client's ``Client/cookies``; `nil` uses the
    /// client's setting, which defaults to true. A `Cookie` header of the request overrides the
    /// jar.
    public var usesCookies: Bool? {
        get { value(of: .cookies).map { $0 == 1 } }
        set {
            overrides.removeAll { $0.option == .cookies }
            if let newValue { set(.cookies, newValue ? 1 : 0) }
        }
    }
    /// The credentials, sent only to the origin of the URL; see ``Credentials``. An `Authorization`
    /// header and ``bearerToken`` override them; `nil` uses the client's.
    public var credentials: Credentials? {
        get { content.value.credentials }
        _modify { yield &content.value.credentials }
    }
    package var imageNames: String? {
        get { content.value.imageNames }
        _modify { yield &content.value.imageNames }
    }
    package var jpegType: String? {
        get { content.value.jpegType }
        _modify { yield &content.value.jpegType }
    }
    /// Mirror URLs of a download. Each is tried after the previous one failed permanently, and
    /// resumes the partial file. Requires an expected digest, which verifies the whole file. The
    /// request's parameters and query are not added. Default: none.
    public var mirrors: [String] {
        get { content.value.mirrors }
        _modify { yield &content.value.mirrors }
    }
    package var expectedDigest: ExpectedDigest? {
        get { content.value.expectedDigest }
        _modify { yield &content.value.expectedDigest }
    }
    /// The algorithm of a digest to compute for a download and report.
    package var computedDigest: DigestAlgorithm? {
        get { content.value.computedDigest }
        _modify { yield &content.value.computedDigest }
    }
    /// The umask for a downloaded file; `nil` uses the process's.
    package var creationMask: UInt32? {
        get { content.value.creationMask }
        _modify { yield &content.value.creationMask }
    }
    package var overrides: [OptionValue] {
        get { content.value.overrides }
        _modify { yield &content.value.overrides }
    }
    package var caching: RequestCaching? { content.value.caching?.value }
    /// Changes the cache settings.
    package mutating func setCaching(_ change: (inout RequestCaching) -> Void) {
        var caching = content.value.caching ?? CopyOnWrite(RequestCaching())
        change(&caching.value)
        content.value.caching = caching
    }
    /// What the request was before a transfer showed it to the program; `nil` for every other request.
    package var preview: RequestPreview? {
        get { content.value.preview }
        _modify { yield &content.value.preview }
    }
    package var decisions: DecisionSet? {
        get { content.value.decisions }
        _modify { yield &content.value.decisions }
    }

    /// The body of a request.
    public enum Body: Sendable {
        case none
        /// JSON text, sent unchanged as `application/json`.
        case json(Bytes)
        /// URL-encoded fields.
        case form([Pair])
        case bytes(Bytes, contentType: String?)
        /// A file, opened when the request is sent, and streamed.
        case file(path: String, contentType: String?)
        /// Bytes that the caller writes during the transfer; a `nil` length is sent chunked.
        case stream(length: Int64?, contentType: String?)
        /// The fields, parts and images of a multipart/form-data body.
        case multipart([Part])
    }

    /// A part of a multipart body.
    public struct Part: Sendable {
        package enum Content: Sendable {
            case bytes(Bytes)
            case file(String)
            case stream(Int64)
            case image(ImageSource, Compression)
        }
        package var name: String
        package var content: Content
        package var fileName: String?
        package var contentType: String?
        /// Further headers of the part, except Content-Disposition and Content-Type. RFC 7578 tells
        /// servers to ignore most of them. Default: none.
        public var headers = Headers()
        /// Whether this is a form field, which is sent before other parts.
        package var isFormField = false

        package init(
            name: String, content: Content, fileName: String? = nil, contentType: String? = nil,
            headers: Headers = Headers()
        ) {
            self.headers = headers
            self.name = name
            self.content = content
            self.fileName = fileName
            self.contentType = contentType
        }

        /// Returns a text field.
        public static func field(_ name: String, _ value: String) -> Part {
            Part(name: name, content: .bytes(Bytes(value)))
        }

        /// Returns a file part from bytes; the default type is guessed from the name.
        public static func bytes(
            _ name: String, _ bytes: Bytes, fileName: String? = nil, contentType: String? = nil
        ) -> Part {
            Part(name: name, content: .bytes(bytes), fileName: fileName, contentType: contentType)
        }

        /// Returns a file part, streamed from disk.
        public static func file(
            _ name: String, path: String, fileName: String? = nil, contentType: String? = nil
        ) -> Part {
            Part(name: name, content: .file(path), fileName: fileName, contentType: contentType)
        }

        /// Returns a part of known length that the caller writes during the transfer. Several such
        /// parts are written in their order. A redirect that requires the body again fails.
        public static func stream(
            _ name: String, length: Int64, fileName: String? = nil, contentType: String? = nil
        ) -> Part {
            Part(name: name, content: .stream(length), fileName: fileName, contentType: contentType)
        }
    }

    /// Creates a request for a URL, absolute or relative to a base URL. A `nil` method is chosen by
    /// R2.
    public init(_ url: String, method: String? = nil) {
        content = CopyOnWrite(Fields(method: method, url: url))
    }

    package mutating func set(_ option: Option, _ value: Int64) {
        if let index = overrides.firstIndex(where: { $0.option == option }) {
            overrides[index].value = value
        } else {
            overrides.append(OptionValue(option: option, value: value))
        }
    }


    package func value(of option: Option) -> Int64? {
        overrides.first { $0.option == option }?.value
    }

    /// Validates the parts that become headers (SEC-U1).
    package func checkFields() throws(WherryError) {
        for field in headers.fields { try Headers.check(field.name, field.value) }
        try headers.checkHost()
        if let bearerToken { try TextOption.bearerToken.check(bearerToken, in: .request) }
        if let credentials { try credentials.check() }
        if let jpegType { try TextOption.jpegType.check(jpegType, in: .request) }
    }

    /// The method, chosen by R2 if `nil`.
    package var effectiveMethod: String {
        if let method { return method }
        if case .none = body, parameters.isEmpty { return "GET" }
        return "POST"
    }

    /// Returns the identifier for a base URL, which counts unless the request ignores it (K3).
    package func identifier(base: String?) throws(WherryError) -> String {
        if preview != nil { return try ownForm.identifier(base: base) }
        do {
            return try RequestIdentity.request(
                base: ignoresBase ? nil : base, url: url, method: effectiveMethod,
                parameters: countedParameters.map { .object($0) })
        } catch {
            throw WherryError(.badParameters, error.message)
        }
    }

    /// The request's parameters except those ignored for identifier and cache; `nil` if there are
    /// none.
    package var countedParameters: JSONObject? {
        guard let ignored = caching?.ignored, !ignored.isEmpty else {
            return parameters.isEmpty ? nil : parameters
        }
        var counted = JSONObject()
        for member in parameters where !ignored.contains(member.name) {
            counted[member.name] = member.value
        }
        return counted.isEmpty ? nil : counted
    }

    /// Whether the caller writes a part of the body during the transfer.
    package var isWritten: Bool {
        switch body {
        case .stream: true
        case .multipart(let parts):
            parts.contains { if case .stream = $0.content { true } else { false } }
        default: false
        }
    }

    package var hasImages: Bool {
        guard case .multipart(let parts) = body else { return false }
        return parts.contains { if case .image = $0.content { true } else { false } }
    }
}

extension Request {
    /// The maximum time without a byte in either direction; `nil` uses the client's, zero is
    /// unlimited.
    public var idleTimeout: Duration? {
        get { duration(.idleTimeout) }
        set { set(.idleTimeout, newValue) }
    }
    /// The maximum time for lookup, connection and handshake together; `nil` uses the client's.
    public var connectTimeout: Duration? {
        get { duration(.connectTimeout) }
        set { set(.connectTimeout, newValue) }
    }
    /// The maximum time from the last byte sent to the first received; `nil` uses the client's. A
    /// shorter ``idleTimeout`` also limits this wait, except for downloads.
    public var firstByteTimeout: Duration? {
        get { duration(.firstByteTimeout) }
        set { set(.firstByteTimeout, newValue) }
    }
    /// The maximum time for everything, including redirects and retries.
    public var totalTimeout: Duration? {
        get { duration(.totalTimeout) }
        set { set(.totalTimeout, newValue) }
    }
    /// The maximum number of redirects; 0 returns the redirect response.
    public var maxRedirects: Int? {
        get { value(of: .maxRedirects).map { Int($0) } }
        set { set(.maxRedirects, newValue.map { Int64($0) }) }
    }
    /// Whether to ignore the client's base URL, also for the identifier (C3).
    public var ignoresBase: Bool {
        get { value(of: .ignoreBase) == 1 }
        set { set(.ignoreBase, newValue ? 1 : 0) }
    }
    /// Whether to merge the client's default parameters under the request's (C5). Default: true.
    public var usesDefaultParameters: Bool {
        get { value(of: .defaultParameters) != 0 }
        set { set(.defaultParameters, newValue ? 1 : 0) }
    }
    /// Whether to fail for a content type other than JSON, or an invalid JSON body; `nil` uses the
    /// client's setting, which defaults to false.
    public var wantsJSON: Bool? {
        get { value(of: .jsonOnly).map { $0 == 1 } }
        set { set(.jsonOnly, newValue.map { $0 ? 1 : 0 }) }
    }
    /// The maximum size of a body collected in memory, after decoding.
    public var maxBodyBytes: Int64? {
        get { value(of: .maxBodyBytes) }
        set { set(.maxBodyBytes, newValue) }
    }
    /// Whether a download resumes an existing partial file. Default: true.
    public var resumes: Bool {
        get { value(of: .resume) != 0 }
        set { set(.resume, newValue ? 1 : 0) }
    }
    /// Whether a download replaces an existing file, atomically at its end.
    public var overwrites: Bool {
        get { value(of: .targetExists) == 1 }
        set { set(.targetExists, newValue ? 1 : 0) }
    }

    private func duration(_ option: Option) -> Duration? {
        value(of: option).map { .milliseconds($0) }
    }

    private mutating func set(_ option: Option, _ value: Duration?) {
        set(option, value.map { $0.settingMilliseconds })
    }

    /// Sets an option; `nil` removes the request's own value, so that the client's applies.
    package mutating func set(_ option: Option, _ value: Int64?) {
        if let value {
            set(option, value)
        } else {
            overrides.removeAll { $0.option == option }
        }
    }
}

extension Duration {
    /// Like ``wholeMilliseconds``, but keeps negative values, which settings reject.
    package var settingMilliseconds: Int64 {
        self < .zero ? -max(1, (.zero - self).wholeMilliseconds) : wholeMilliseconds
    }

    /// The duration in milliseconds, rounded up, at least 0; saturates.
    package var wholeMilliseconds: Int64 {
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1000)
        if overflow { return .max }
        return product.addingSaturating((attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
    }
}
