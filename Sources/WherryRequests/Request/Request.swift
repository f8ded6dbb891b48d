// Wherry: requests.
// SPDX-License-Identifier: Apache-2.0

import WherryCache
import WherryHTTP
import WherryImaging
import WherrySystem
@_exported import struct WherrySystem.Bytes

/// An HTTP request. A value type: sending takes a snapshot, so you can change the request and send
/// it again.
///
/// A request is validated when it is sent, since the client's base URL and settings are known only
/// then.
public struct Request: Sendable {
    /// A name and a value of a query or a form. Names may repeat.
    public struct Pair: Sendable, Hashable {
        /// The unescaped name.
        public var name: String
        /// The unescaped value.
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
        var hooks: HookSet?
        var userInfo: (any Sendable)?
        /// Most requests have no cache settings.
        var caching: CopyOnWrite<RequestCaching>?
        var preview: RequestPreview?
    }

    private var content: CopyOnWrite<Fields>

    /// Whether the requests still share their storage, so that neither has changed. `false` proves
    /// nothing.
    package func isUnchanged(from other: Request) -> Bool {
        content.isUnchanged(from: other.content)
    }

    /// The method; any HTTP token is valid. `nil` means GET without parameters and body, otherwise
    /// POST (R2).
    public var method: String? {
        get { content.value.method }
        _modify { yield &content.value.method }
    }
    /// The URL: absolute, or relative to the client's base URL.
    public var url: String {
        get { content.value.url }
        _modify { yield &content.value.url }
    }
    /// The names of the client's base URLs to use. If the connection to one fails, the next one is
    /// tried; a download uses only the first. Empty, the default, uses the unnamed base URL. An
    /// unknown name fails when the request is sent.
    public var bases: [String] {
        get { content.value.bases }
        _modify { yield &content.value.bases }
    }
    /// The first of ``bases``. Setting it replaces all of them.
    public var base: String? {
        get { bases.first }
        set { bases = newValue.map { [$0] } ?? [] }
    }
    /// The headers of this request, which override the client's; a `nil` value suppresses one.
    public var headers: Headers {
        get { content.value.headers }
        _modify { yield &content.value.headers }
    }
    /// The parameters, which override the client's default parameters. With GET, HEAD, and DELETE
    /// they go into the query. With other methods they become a JSON body, or fields of a form or a
    /// multipart body. If the request has its own body (JSON, bytes, a file, or a stream), they go
    /// into the query. The request's own parameters are part of the identifier.
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
    /// A value that the program attaches to the request. It is available in the transfer, in lists,
    /// and in hooks. Wherry does not use it. Default: `nil`.
    public var userInfo: (any Sendable)? {
        get { content.value.userInfo }
        _modify { yield &content.value.userInfo }
    }
    /// Status codes that count as success in addition to the accepted range.
    public var acceptedStatus: [Int] {
        get { content.value.acceptedStatus }
        _modify { yield &content.value.acceptedStatus }
    }
    /// The required shape of the JSON response. A response that does not match, or is not JSON,
    /// fails with `bad_json_body`. The error's message names the path, and the response is not
    /// stored in the timed cache. Applies to successful responses only, and not to HEAD, streams,
    /// and downloads. Default: `nil`, which checks nothing.
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
    /// The token of `Authorization: Bearer`, unless a header of that name is set. `nil` uses the
    /// client's token.
    public var bearerToken: String? {
        get { content.value.bearerToken }
        _modify { yield &content.value.bearerToken }
    }
    /// Whether to send and store cookies in the client's `Client.cookies`. A `Cookie` header of
    /// the request overrides the jar. Default: `nil`, which uses the client's setting.
    public var usesCookies: Bool? {
        get { value(of: .cookies).map { $0 != 0 } }
        set {
            overrides.removeAll { $0.option == .cookies }
            if let newValue { set(.cookies, newValue ? 1 : 0) }
        }
    }
    /// How the request uses cookies. Default: `nil`, which uses the client's setting (C14).
    public var cookieHandling: CookieHandling? {
        get { value(of: .cookies).flatMap { CookieHandling(rawValue: $0) } }
        set {
            overrides.removeAll { $0.option == .cookies }
            if let newValue { set(.cookies, newValue.rawValue) }
        }
    }
    /// The credentials, sent only to the origin of the URL; see ``/WherryHTTP/Credentials``. An `Authorization`
    /// header and ``bearerToken`` override them. `nil` uses the client's credentials.
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
    /// The mirror URLs of a download. Each is tried after the previous one failed permanently, and
    /// resumes the partial file. Requires an expected digest, which verifies the complete file. The
    /// request's parameters and query are not added. Default: none.
    public var mirrors: [String] {
        get { content.value.mirrors }
        _modify { yield &content.value.mirrors }
    }
    package var expectedDigest: ExpectedDigest? {
        get { content.value.expectedDigest }
        _modify { yield &content.value.expectedDigest }
    }
    /// The algorithm of a digest to compute and report for a download.
    package var computedDigest: DigestAlgorithm? {
        get { content.value.computedDigest }
        _modify { yield &content.value.computedDigest }
    }
    /// The umask for a downloaded file. `nil` uses that of the process.
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
    /// The original of a request that a transfer passed to a hook. `nil` for every other
    /// request.
    package var preview: RequestPreview? {
        get { content.value.preview }
        _modify { yield &content.value.preview }
    }
    package var hooks: HookSet? {
        get { content.value.hooks }
        _modify { yield &content.value.hooks }
    }

    /// The body of a request.
    public enum Body: Sendable {
        case none
        /// JSON text, sent unchanged as `application/json`.
        case json(Bytes)
        /// URL-encoded fields.
        case form([Pair])
        case bytes(Bytes, contentType: String?)
        /// A file, opened when the request is sent and streamed from disk.
        case file(path: String, contentType: String?)
        /// Bytes that the caller writes during the transfer. A body with a `nil` length is sent
        /// chunked.
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
        /// The headers of the part other than Content-Disposition and Content-Type. Servers ignore
        /// most of them, as RFC 7578 requires. Default: none.
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

        /// Returns a file part from bytes. The default content type is guessed from the file name.
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
        /// parts are written in order. A redirect that must repeat the body fails.
        public static func stream(
            _ name: String, length: Int64, fileName: String? = nil, contentType: String? = nil
        ) -> Part {
            Part(name: name, content: .stream(length), fileName: fileName, contentType: contentType)
        }
    }

    /// Creates a request for a URL, absolute or relative to a base URL. If `method` is `nil`, the
    /// method is GET without parameters and body, and otherwise POST.
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

    /// Validates the values that become headers (SEC-U1).
    package func checkFields() throws(WherryError) {
        for field in headers.fields { try Headers.check(field.name, field.value) }
        try headers.checkHost()
        if let bearerToken { try TextOption.bearerToken.check(bearerToken, in: .request) }
        if let credentials { try credentials.check() }
        if let jpegType { try TextOption.jpegType.check(jpegType, in: .request) }
    }

    /// The method to send: ``method``, or if it is `nil`, the method according to R2.
    package var effectiveMethod: String {
        if let method { return method }
        if case .none = body, parameters.isEmpty { return "GET" }
        return "POST"
    }

    /// Returns the identifier for a base URL (K3). The base URL has no effect if the request
    /// ignores it.
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

    /// The request's parameters without those that the identifier and the cache ignore. `nil` if
    /// there are none.
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
    /// Whether a download atomically replaces an existing file when it completes. Default: false.
    public var overwrites: Bool {
        get { value(of: .targetExists) == 1 }
        set { set(.targetExists, newValue ? 1 : 0) }
    }

    /// Sets an option. `nil` removes the request's value, so that the client's value applies.
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
}
