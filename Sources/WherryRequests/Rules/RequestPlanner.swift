// Wherry: the combination of a request with its client's settings.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherrySystem
import WherryTransport

/// The body of a request in the form that the transport sends.
package struct PreparedBody: Sendable {
    package var body = ExchangeBody.none
    package var contentType: String?
    /// Whether the body can be sent a second time, after a redirect.
    package var isReplayable = true
    /// The digest of the whole body, if requested and known.
    package var digest: Headers.Field?
    /// The digest that Digest authentication with `auth-int` covers.
    package var integrity: (algorithm: DigestAlgorithm, value: [UInt8])?
    /// The content coding applied by the client (R37); `nil` keeps the header of the request.
    package var coding: Inflater.Coding?
    /// The length before compression, if the body was compressed in memory.
    package var plainLength: Int64?
    /// Whether the content coding has been decided and applied.
    package var isCodingSettled = false

    package init(
        _ body: ExchangeBody = .none, contentType: String? = nil, isReplayable: Bool = true
    ) {
        self.body = body
        self.contentType = contentType
        self.isReplayable = isReplayable
    }
}

/// Combines requests and settings. Pure functions, except that bodies open their files.
package enum RequestPlanner {
    // MARK: URL

    /// Returns the absolute URL with all query parameters (C2, R4, R6).
    package static func url(
        of request: Request, method: String, settings: ClientSettings, options: OptionTable,
        near known: HTTPURL? = nil
    ) throws(WherryError) -> HTTPURL {
        // The URL of a preview already contains the parameters.
        let request = request.ownForm
        let base = try settings.base(named: request.base)
        var url = try target(request.url, base: base, options: options, near: known)
        guard
            !request.parameters.isEmpty || !request.query.isEmpty
                || !settings.values.parameters.isEmpty
        else { return url }
        let parameters = queryParameters(request, method: method, settings, options)
        if !parameters.isEmpty {
            url = url.appendingQuery(try encode(parameters, options))
        }
        if !request.query.isEmpty { url = url.appendingQuery(encode(request.query)) }
        do {
            try HTTPURL.checkLength(of: url.text)
        } catch {
            throw WherryError(.badURL, error.message)
        }
        return url
    }

    /// Returns the URL without parameters. A relative URL is resolved against the base URL.
    package static func target(
        _ text: String, base: HTTPURL?, options: OptionTable, near known: HTTPURL? = nil
    ) throws(WherryError) -> HTTPURL {
        let url: HTTPURL
        do {
            if let base, options[.ignoreBase] == 0 {
                url = try base.resolving(text)
            } else if let known, let quick = known.sibling(text) {
                url = quick
            } else {
                url = try HTTPURL(text)
            }
        } catch {
            throw WherryError(.badURL, error.message)
        }
        guard url.origin.isSecure || options[.httpsOnly] == 0 else {
            throw WherryError(
                .httpsOnly,
                "Could not send a request to \(url.origin.text): only https is allowed. "
                    + OptionAdvice.httpsOnly.text)
        }
        return url
    }

    private static func queryParameters(
        _ request: Request, method: String, _ settings: ClientSettings, _ options: OptionTable
    ) -> JSONObject {
        guard putsParametersIntoQuery(request, method: method) else { return JSONObject() }
        return merged(request, settings, options)
    }

    /// Returns whether parameters go into the query (R4): with GET, HEAD and DELETE, and if the
    /// caller supplied the body. Otherwise they become a JSON body or form fields.
    package static func putsParametersIntoQuery(_ request: Request, method: String) -> Bool {
        if takesQuery(method) { return true }
        return switch request.body {
        case .none, .form, .multipart: false
        case .json, .bytes, .file, .stream: true
        }
    }

    /// Returns whether the method puts its parameters into the query (R4).
    package static func takesQuery(_ method: String) -> Bool {
        method == "GET" || method == "HEAD" || method == "DELETE"
    }

    /// Returns the client's default parameters, overridden by those of the request (C5).
    package static func merged(
        _ request: Request, _ settings: ClientSettings, _ options: OptionTable
    ) -> JSONObject {
        guard options[.defaultParameters] == 1, !settings.values.parameters.isEmpty else {
            return request.parameters
        }
        var merged = settings.values.parameters
        for member in request.parameters { merged[member.name] = member.value }
        return merged
    }

    package static func encoding(_ options: OptionTable) -> ParameterEncoding {
        var encoding = ParameterEncoding()
        switch options[.arrayStyle] {
        case 1: encoding.arrays = .repeated
        case 2: encoding.arrays = .indexed
        default: encoding.arrays = .brackets
        }
        if options[.memberStyle] == 1 { encoding.members = .dots }
        if options[.boolStyle] == 1 { encoding.bools = .words }
        return encoding
    }

    private static func encode(
        _ parameters: JSONObject, _ options: OptionTable
    ) throws(WherryError) -> String {
        do {
            return try encoding(options).encode(.object(parameters))
        } catch {
            throw WherryError(.badParameters, error.message)
        }
    }

    /// Encodes the pairs in order; pairs given in encoded form stay as they are.
    private static func encode(_ pairs: [Request.Pair]) -> String {
        pairs.map {
            $0.written
                ?? ParameterEncoding.escaped($0.name) + "=" + ParameterEncoding.escaped($0.value)
        }.joined(separator: "&")
    }

    // MARK: Body

    /// Returns the body of a request without images.
    package static func body(
        of request: Request, method: String, settings: ClientSettings, options: OptionTable,
        workers: WorkerPool
    ) throws(WherryError) -> PreparedBody {
        switch request.body {
        case .none:
            guard !takesQuery(method) else { return PreparedBody() }
            let parameters = merged(request, settings, options)
            guard !parameters.isEmpty else { return PreparedBody() }
            return PreparedBody(
                .bytes(try json(.object(parameters))), contentType: "application/json")
        case .json(let bytes):
            return PreparedBody(.bytes(bytes), contentType: "application/json")
        case .form(let pairs):
            let parameters = takesQuery(method) ? JSONObject() : merged(request, settings, options)
            return PreparedBody(
                .bytes(try form(parameters, pairs, options)),
                contentType: "application/x-www-form-urlencoded")
        case .bytes(let bytes, let type):
            return PreparedBody(.bytes(bytes), contentType: type)
        case .file(let path, let type):
            return try file(path, type, workers)
        case .stream, .multipart:
            throw WherryError(.internal, "This body is prepared by its transfer")
        }
    }

    /// Returns the text of a form: first the parameters, then the fields.
    package static func form(
        _ parameters: JSONObject, _ pairs: [Request.Pair], _ options: OptionTable
    ) throws(WherryError) -> Bytes {
        let text = parameters.isEmpty ? "" : try encode(parameters, options)
        let fields = encode(pairs)
        return Bytes(text + (text.isEmpty || fields.isEmpty ? "" : "&") + fields)
    }

    private static func file(
        _ path: String, _ type: String?, _ workers: WorkerPool
    ) throws(WherryError) -> PreparedBody {
        let body = try segmented([.file(path: path)], workers: workers)
        return PreparedBody(.source(body), contentType: type ?? "application/octet-stream")
    }

    /// Returns a body made of bytes and files. Opens the files.
    package static func segmented(
        _ segments: [BodySegment], workers: WorkerPool
    ) throws(WherryError) -> SegmentedBody {
        do {
            return try SegmentedBody(segments, workers: workers)
        } catch {
            throw WherryError(error)
        }
    }

    package static func json(_ value: JSON) throws(WherryError) -> Bytes {
        do {
            return Bytes(try value.printed())
        } catch {
            throw WherryError(.badParameters, error.message)
        }
    }

    // MARK: Fields

    /// The headers that a hook added for one origin, with lower-case names. Headers that the
    /// request already had are not included.
    package struct AddedFields: Sendable {
        package let origin: Origin
        private var fields: [(name: String, value: String)] = []

        package init(for origin: Origin) { self.origin = origin }

        package mutating func add(_ name: String, _ value: String) {
            fields.append((name.asciiLowercased, value))
        }

        func contains(_ name: String, _ value: String?) -> Bool {
            fields.contains { $0.name == name && $0.value == value }
        }
    }

    /// The headers that may be sent after a redirect to another origin (SEC-U3).
    private static let safeNames: Set<String> = [
        "accept", "accept-language", "accept-encoding", "user-agent", "content-type",
        "content-encoding", "range",
        "if-range", "if-match", "if-none-match", "if-modified-since", "if-unmodified-since",
        "cache-control", "expect",
    ]

    /// Returns the headers to send: those of the request, of the client, and built-in ones. A name
    /// in the request replaces all headers of that name from the other two (C9). Repeated names are
    /// all sent.
    ///
    /// - Parameters:
    ///   - coding: The content coding of the body; replaces any other `Content-Encoding`.
    ///   - authorization: The value of `Authorization`; replaces any other.
    ///   - cookies: The cookies of the jar for this URL. A `Cookie` header of the request takes
    ///     precedence.
    ///   - mergesCookies: Whether to send them in addition to a `Cookie` header of the request.
    ///   - withholdsCredentials: Whether to leave out headers that another origin must not see.
    ///   - withholdsHost: Whether to leave out `Host`, which names the first origin. No option
    ///     turns this off.
    ///   - added: Headers of the request to send to this origin even so.
    ///   - lostBody: Whether a redirect removed the body: headers that describe the body are left
    ///     out (RFC 9110 section 15.4).
    ///   - closes: Whether to send `Connection: close`. HTTP/2 has no such header; libcurl leaves
    ///     it out there.
    package static func fields(
        of request: Request, contentType: String?, hasBody: Bool, settings: ClientSettings,
        extra: [Headers.Field] = [], coding: Inflater.Coding? = nil, authorization: String? = nil,
        cookies: String? = nil, mergesCookies: Bool = false, withholdsCredentials: Bool = false,
        withholdsHost: Bool = false, added: AddedFields? = nil, lostBody: Bool = false,
        closes: Bool = false
    ) throws(WherryError) -> HeaderList {
        var own: [(name: String, value: String?)] = []
        if let authorization { own.append(("Authorization", authorization)) }
        if !request.headers.isEmpty { try request.headers.checkHost() }
        for field in request.headers.fields {
            try Headers.check(field.name, field.value)
            if authorization != nil, Headers.areEqual(field.name, "Authorization") { continue }
            if coding != nil, Headers.areEqual(field.name, "Content-Encoding") { continue }
            own.append((field.name, field.value))
        }
        if let coding { own.append(("Content-Encoding", coding.rawValue)) }
        if closes { own.append(("Connection", "close")) }
        func has(_ name: String) -> Bool { own.contains { Headers.areEqual($0.name, name) } }
        if let token = request.bearerToken, !has("Authorization") {
            try TextOption.bearerToken.check(token, in: .request)
            own.append(("Authorization", "Bearer \(token)"))
        }
        // Another origin does not receive the caller's cookies, but may receive those of the jar.
        var isJar = false
        if mergesCookies, !withholdsCredentials, let jar = cookies,
            let index = own.firstIndex(where: {
                Headers.areEqual($0.name, "Cookie") && $0.value != nil
            })
        {
            own[index].value = CookieHandling.merge(own: own[index].value ?? "", jar: jar)
        } else if let cookies, withholdsCredentials || !has("Cookie") {
            own.removeAll { Headers.areEqual($0.name, "Cookie") }
            own.append(("Cookie", cookies))
            isJar = true
        }
        // Suppress the client's header if the request names another user.
        if authorization == nil, request.credentials != nil, !has("Authorization") {
            own.append(("Authorization", nil))
        }
        // Without this header, libcurl labels every body as a form, even an empty one.
        if hasBody || expectsContent(request.method), !has("Content-Type"),
            !settings.fields.contains(where: { Headers.areEqual($0.name, "Content-Type") })
        {
            if let contentType,
                let violation = FieldRules.violation(
                    value: contentType, of: "the content type")
            {
                throw WherryError(.badHeader, violation.message)
            }
            own.append(("Content-Type", contentType))
        }
        // With `Expect`, a server that does not know 100-continue would delay each upload by a
        // second.
        if hasBody { own.append(("Expect", nil)) }
        for field in extra where !has(field.name) { own.append((field.name, field.value)) }
        let dropsHost = withholdsHost && request.ownHost(settings) != nil
        guard withholdsCredentials || lostBody || dropsHost else {
            if own.isEmpty { return settings.headerList }
            if !settings.fields.contains(where: { has($0.name) }) {
                return HeaderList(own, rest: settings.headerList)
            }
            let rest = settings.fields.filter { !has($0.name) }
            return HeaderList(own + rest.map { ($0.name, $0.value) })
        }
        func mayGo(_ name: String) -> Bool {
            Self.mayGo(name, withholdsCredentials: withholdsCredentials, lostBody: lostBody)
                && !(dropsHost && name == "host")
        }
        var kept: [(String, String?)] = own.filter { field in
            let name = field.name.asciiLowercased
            if name == "authorization", authorization != nil { return true }
            if name == "cookie", isJar { return true }
            if name == "connection", closes { return true }
            if lostBody && bodyNames.contains(name) { return false }
            return mayGo(name) || added?.contains(name, field.value) == true
        }
        for field in settings.fields where !has(field.name) && mayGo(field.name.asciiLowercased) {
            kept.append((field.name, field.value))
        }
        // Suppress libcurl's default, as above.
        if lostBody { kept.append(("Content-Type", nil)) }
        return HeaderList(kept)
    }

    /// Returns whether a header may be sent after a redirect. The name is in lower case.
    static func mayGo(_ name: String, withholdsCredentials: Bool, lostBody: Bool) -> Bool {
        if lostBody && isAboutBody(name) { return false }
        return !withholdsCredentials || safeNames.contains(name)
    }

    /// Returns whether a header describes the request body. The name is in lower case.
    static func isAboutBody(_ name: String) -> Bool { bodyNames.contains(name) }

    /// Returns whether libcurl sends a `Content-Type` with this method even without a body.
    private static func expectsContent(_ method: String?) -> Bool {
        switch method {
        case "POST", "PUT", "PATCH": true
        default: false
        }
    }

    /// The headers that describe the request body.
    private static let bodyNames: Set<String> = [
        "content-type", "content-encoding", "content-language", "content-location",
        "content-length", "content-md5", "content-digest", "repr-digest", "digest", "last-modified",
    ]

    /// Checks the method (SEC-U1), and that a HEAD request has no body. The body of a HEAD request
    /// has no meaning (RFC 9110 section 9.3.2), and many servers wait for it or do not read it.
    package static func check(method: String, body: Request.Body) throws(WherryError) {
        // Skip the check of each letter for the most common methods.
        if method == "GET" || method == "POST" { return }
        if let violation = FieldRules.violation(method: method) {
            throw WherryError(.badMethod, violation.message)
        }
        guard method == "HEAD" else { return }
        guard case .none = body else {
            throw WherryError(.badMethod, "A HEAD request cannot have a body")
        }
    }

    // MARK: The exchange

    package static func exchange(
        method: String, url: HTTPURL, headers: HeaderList, body: ExchangeBody,
        settings: ClientSettings, options: OptionTable, deadline: Instant
    ) -> ExchangeRequest {
        var exchange = ExchangeRequest(method: method, url: url, headers: headers, body: body)
        exchange.timeouts.connect = .milliseconds(options[.connectTimeout])
        exchange.timeouts.idle = .milliseconds(options[.idleTimeout])
        exchange.timeouts.firstByte = .milliseconds(options[.firstByteTimeout])
        exchange.deadline = deadline
        exchange.userAgent = settings.userAgent
        exchange.httpVersion = Int32(options[.httpVersion])
        exchange.options = TransportOptions(options)
        if options[.retryUnsafeMethods] == 1 { exchange.mayRepeat = true }
        if options[.keepAlive] == 0 { exchange.ownConnection = true }
        exchange.priority = Int8(clamping: options[.priority])
        exchange.decoding =
            switch options[.compressed] {
            case 0: .identity
            case 1: .gzip
            default: .all
            }
        return exchange
    }

    /// Returns the parameters of the client and the request as form fields (U9).
    package static func formFields(
        of request: Request, _ settings: ClientSettings, _ options: OptionTable
    ) throws(WherryError) -> [(name: String, value: String?)] {
        do {
            let parameters = merged(request, settings, options)
            return try encoding(options).fields(parameters)
        } catch {
            throw WherryError(.badParameters, error.message)
        }
    }
}
