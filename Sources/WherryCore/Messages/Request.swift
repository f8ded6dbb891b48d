// Wherry: what is to be asked, before a client has joined its own settings to it.
// SPDX-License-Identifier: Apache-2.0

import WherryImaging
@_exported import struct WherrySystem.Bytes
import WherrySystem

/// A request: a plain value. Sending takes a snapshot, so it may be changed and sent again.
///
/// Nothing is judged before the send, where the client's base URL and settings are known.
public struct Request: Sendable {
    /// A name and its value in a query or a form; the same name may come again.
    public struct Pair: Sendable, Hashable {
        /// Unescaped.
        public var name: String
        /// Unescaped.
        public var value: String

        /// The pair as it is sent in a query; `nil` escapes the name and the value.
        package var written: String?

        /// A pair of unescaped texts.
        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// What a request says.
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
        /// Most requests say nothing about caches.
        var caching: CopyOnWrite<RequestCaching>?
    }

    private var content: CopyOnWrite<Fields>

    /// Whether nobody has changed it since it was this one; `false` says nothing.
    package func isUnchanged(from other: Request) -> Bool {
        content.isUnchanged(from: other.content)
    }

    /// Any token; `nil` is GET without parameters and body, else POST (R2).
    public var method: String? {
        get { content.value.method }
        _modify { yield &content.value.method }
    }
    /// Absolute, or relative to the client's base URL.
    public var url: String {
        get { content.value.url }
        _modify { yield &content.value.url }
    }
    /// Names of the client's further base URLs (C4). Where no connection can be made to the first,
    /// the next one is tried, and so on; a download keeps to the first. Empty, the default, takes
    /// the base without a name. An unknown name fails at the send.
    public var bases: [String] {
        get { content.value.bases }
        _modify { yield &content.value.bases }
    }
    /// The first of `bases`; setting it leaves no other.
    public var base: String? {
        get { bases.first }
        set { bases = newValue.map { [$0] } ?? [] }
    }
    /// Fields of this request, which win over the client's; a `nil` value suppresses one.
    public var headers: Headers {
        get { content.value.headers }
        _modify { yield &content.value.headers }
    }
    /// Goes where the method wants it: GET, HEAD and DELETE into the query, others into a JSON
    /// body, or form fields beside parts. Counts for the identifier.
    public var parameters: JSONObject {
        get { content.value.parameters }
        _modify { yield &content.value.parameters }
    }
    /// Always into the query, after what the URL has.
    public var query: [Pair] {
        get { content.value.query }
        _modify { yield &content.value.query }
    }
    /// None by default; setting one replaces the one before.
    public var body: Body {
        get { content.value.body }
        _modify { yield &content.value.body }
    }
    /// A name for a group of transfers, to find and cancel them by.
    public var tag: String? {
        get { content.value.tag }
        _modify { yield &content.value.tag }
    }
    /// Anything of the program's own, which comes back with the request: in its transfer, in lists
    /// and in decisions. Wherry does not look at it. `nil` by default.
    public var userInfo: (any Sendable)? {
        get { content.value.userInfo }
        _modify { yield &content.value.userInfo }
    }
    /// Status codes that count as success beside the accepted range.
    public var acceptedStatus: [Int] {
        get { content.value.acceptedStatus }
        _modify { yield &content.value.acceptedStatus }
    }
    /// The shape that the answer's JSON has to have; another one, and what is no JSON, fails as
    /// `bad_json_body`, whose message names the place, and is not stored in the timed cache. `nil`,
    /// the default, leaves it unread. Only of successes; not of HEAD, streams and downloads.
    public var jsonShape: JSONShape? {
        get { content.value.jsonShape }
        _modify { yield &content.value.jsonShape }
    }
    /// The body of the answer is handed over in pieces and not collected.
    package var isStreamed: Bool {
        get { content.value.isStreamed }
        _modify { yield &content.value.isStreamed }
    }
    /// Of a streamed answer: a body with a status that is no success is collected all the same.
    package var collectsRefusals: Bool {
        get { content.value.collectsRefusals }
        _modify { yield &content.value.collectsRefusals }
    }
    /// Sent as `Authorization: Bearer`, under a field of that name; `nil` sends the client's.
    public var bearerToken: String? {
        get { content.value.bearerToken }
        _modify { yield &content.value.bearerToken }
    }
    /// Whether cookies are sent from the client's ``Client/cookies``, and kept there: `nil` as the client
    /// does, which is yes. A field `Cookie` of the request goes before the jar's.
    public var usesCookies: Bool? {
        get { value(of: .cookies).map { $0 == 1 } }
        set {
            overrides.removeAll { $0.option == .cookies }
            if let newValue { set(.cookies, newValue ? 1 : 0) }
        }
    }
    /// A user name and a password, sent as ``Credentials`` say, to the origin of the URL alone. A
    /// field `Authorization` and ``bearerToken`` go before them; `nil` sends the client's.
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
    /// Other URLs of a download's bytes. They are tried in order, each when the one before has failed
    /// for good, and go on with what has come. A digest must be expected, which proves the whole;
    /// the request's parameters and query are not added to them. None by default.
    public var mirrors: [String] {
        get { content.value.mirrors }
        _modify { yield &content.value.mirrors }
    }
    package var expectedDigest: ExpectedDigest? {
        get { content.value.expectedDigest }
        _modify { yield &content.value.expectedDigest }
    }
    /// A digest of the finished download that is computed and told.
    package var computedDigest: DigestAlgorithm? {
        get { content.value.computedDigest }
        _modify { yield &content.value.computedDigest }
    }
    /// The umask that a download's file gets; `nil` for the process's.
    package var creationMask: UInt32? {
        get { content.value.creationMask }
        _modify { yield &content.value.creationMask }
    }
    package var overrides: [OptionValue] {
        get { content.value.overrides }
        _modify { yield &content.value.overrides }
    }
    package var caching: RequestCaching? { content.value.caching?.value }
    /// Changes what the request says about caches.
    package mutating func setCaching(_ change: (inout RequestCaching) -> Void) {
        var caching = content.value.caching ?? CopyOnWrite(RequestCaching())
        change(&caching.value)
        content.value.caching = caching
    }
    package var decisions: DecisionSet? {
        get { content.value.decisions }
        _modify { yield &content.value.decisions }
    }

    /// The body of a request. Setting one replaces the one before.
    public enum Body: Sendable {
        case none
        /// JSON text, sent as it is, with `application/json`.
        case json(Bytes)
        /// URL-encoded fields.
        case form([Pair])
        case bytes(Bytes, contentType: String?)
        /// A file, opened at the send and streamed.
        case file(path: String, contentType: String?)
        /// Bytes that the caller hands over while it is sent; `nil` length is sent chunked.
        case stream(length: Int64?, contentType: String?)
        /// Fields, parts and pictures of a multipart/form-data body.
        case multipart([Part])
    }

    /// One part of a multipart body.
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
        /// Further fields of the part's head; none by default. RFC 7578 tells servers to pass over
        /// all but a few. Content-Disposition and Content-Type are not given here.
        public var headers = Headers()
        /// Whether this is a form field, which is sent before the parts that are none.
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

        /// A plain field.
        public static func field(_ name: String, _ value: String) -> Part {
            Part(name: name, content: .bytes(Bytes(value)))
        }

        /// Bytes as a file; without a type it is guessed from the name.
        public static func bytes(
            _ name: String, _ bytes: Bytes, fileName: String? = nil, contentType: String? = nil
        ) -> Part {
            Part(name: name, content: .bytes(bytes), fileName: fileName, contentType: contentType)
        }

        /// A file, streamed from disk.
        public static func file(
            _ name: String, path: String, fileName: String? = nil, contentType: String? = nil
        ) -> Part {
            Part(name: name, content: .file(path), fileName: fileName, contentType: contentType)
        }

        /// So many bytes that are handed over while the form is sent; of several such parts those
        /// of the first come first. A redirect that wants them again fails.
        public static func stream(
            _ name: String, length: Int64, fileName: String? = nil, contentType: String? = nil
        ) -> Part {
            Part(name: name, content: .stream(length), fileName: fileName, contentType: contentType)
        }
    }

    /// A request for a URL, absolute or relative to a base URL; `nil` as the method decides by R2.
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

    /// Checks what becomes a field (SEC-U1).
    package func checkFields() throws(WherryError) {
        for field in headers.fields { try Headers.check(field.name, field.value) }
        try headers.checkHost()
        if let bearerToken { try TextOption.bearerToken.check(bearerToken, in: .request) }
        if let credentials { try credentials.check() }
        if let jpegType { try TextOption.jpegType.check(jpegType, in: .request) }
    }

    /// The method, decided by R2 where none was given.
    package var effectiveMethod: String {
        if let method { return method }
        if case .none = body, parameters.isEmpty { return "GET" }
        return "POST"
    }

    /// The identifier against a base URL, which counts unless the request ignores it (K3).
    package func identifier(base: String?) throws(WherryError) -> String {
        do {
            return try RequestIdentity.request(
                base: ignoresBase ? nil : base, url: url, method: effectiveMethod,
                parameters: countedParameters.map { .object($0) })
        } catch {
            throw WherryError(.badParameters, error.message)
        }
    }

    /// The request's own parameters, but for those that do not count for identifier and cache;
    /// `nil` where there are none.
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

    /// Whether the caller hands over bytes of the body while it is sent.
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
    /// Time without a byte in either direction; `nil` takes the client's, zero is none.
    public var idleTimeout: Duration? {
        get { duration(.idleTimeout) }
        set { set(.idleTimeout, newValue) }
    }
    /// Lookup, connection and handshake together; `nil` takes the client's.
    public var connectTimeout: Duration? {
        get { duration(.connectTimeout) }
        set { set(.connectTimeout, newValue) }
    }
    /// From the last byte sent to the first received; `nil` takes the client's. But for downloads
    /// ``idleTimeout`` ends that wait too, where it is shorter.
    public var firstByteTimeout: Duration? {
        get { duration(.firstByteTimeout) }
        set { set(.firstByteTimeout, newValue) }
    }
    /// Everything together, redirects and retries too.
    public var totalTimeout: Duration? {
        get { duration(.totalTimeout) }
        set { set(.totalTimeout, newValue) }
    }
    /// 0 makes a redirect the answer.
    public var maxRedirects: Int? {
        get { value(of: .maxRedirects).map { Int($0) } }
        set { set(.maxRedirects, newValue.map { Int64($0) }) }
    }
    /// Leaves the client's base URL out, and out of the identifier too (C3).
    public var ignoresBase: Bool {
        get { value(of: .ignoreBase) == 1 }
        set { set(.ignoreBase, newValue ? 1 : 0) }
    }
    /// Whether the client's default parameters are merged under these (C5). On by default.
    public var usesDefaultParameters: Bool {
        get { value(of: .defaultParameters) != 0 }
        set { set(.defaultParameters, newValue ? 1 : 0) }
    }
    /// Another content type than JSON, or a body that is none, is an error; `nil` takes the
    /// client's word, which is no by default.
    public var wantsJSON: Bool? {
        get { value(of: .jsonOnly).map { $0 == 1 } }
        set { set(.jsonOnly, newValue.map { $0 ? 1 : 0 }) }
    }
    /// The largest body collected in memory, decoded.
    public var maxBodyBytes: Int64? {
        get { value(of: .maxBodyBytes) }
        set { set(.maxBodyBytes, newValue) }
    }
    /// A download goes on where an earlier one stopped. On by default.
    public var resumes: Bool {
        get { value(of: .resume) != 0 }
        set { set(.resume, newValue ? 1 : 0) }
    }
    /// A download replaces an existing file, at its end and in one step.
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

    /// `nil` takes the request's own value back, so that the client's counts.
    package mutating func set(_ option: Option, _ value: Int64?) {
        if let value {
            set(option, value)
        } else {
            overrides.removeAll { $0.option == option }
        }
    }
}

extension Duration {
    /// As ``wholeMilliseconds``, but negative where it is: no setting takes that.
    package var settingMilliseconds: Int64 {
        self < .zero ? -max(1, (.zero - self).wholeMilliseconds) : wholeMilliseconds
    }

    /// Milliseconds, rounded up, at least 0; saturates.
    package var wholeMilliseconds: Int64 {
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1000)
        if overflow { return .max }
        return product.addingSaturating((attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
    }
}
