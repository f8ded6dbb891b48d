// Wherry: a request as a curl command.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherrySystem
import WherryTransport

/// A shell command that sends a request with curl (L9).
package struct CurlCommand {
    /// The command, with line breaks between the options.
    package private(set) var text = ""
    private var words: [String] = []
    /// The command that produces the body, if the body does not fit into an argument.
    private var producer = ""
    /// The content encoding of the body.
    private var coding: Inflater.Coding?
    /// `nil` reveals all secrets.
    private let secrets: Secrets?

    /// Builds the command. Sends nothing, and opens no file.
    ///
    /// - Parameter revealing: Whether to show secrets instead of `***`.
    /// - Throws: The errors that sending the request would throw immediately.
    package init(
        _ request: Request, settings: ClientSettings, workers: WorkerPool, revealing: Bool,
        isDownload: Bool = false
    ) throws(WherryError) {
        secrets = revealing ? nil : settings.secrets
        var options = settings.options.overridden(by: request.overrides)
        if isDownload, options[.httpVersion] == 0 { options[.httpVersion] = 11 }
        let method = request.effectiveMethod
        try RequestPlanner.check(method: method, body: request.body)
        try request.checkFields()
        let url = try RequestPlanner.url(
            of: request, method: method, settings: settings, options: options)
        let body = try Self.body(of: request, method, settings, options, workers)
        coding = try Self.coding(of: body, request, settings, options, workers)
        addConnection(settings, options, isSecure: url.origin.isSecure)
        if method == "HEAD" {
            words.append("--head")
        } else if method != "GET" || body.hasContent {
            add("--request", method)
        }
        if let credentials = settings.credentials(
            of: request, at: url.origin, isRequestedOrigin: true)
        {
            addCredentials(credentials)
        }
        add("--url", shown(url.text))
        try addFields(of: request, method, url, body, settings, options)
        try addBody(of: request, method, body, settings, options)
        text = producer + "curl " + words.joined(separator: " \\\n  ")
    }

    // MARK: Arguments

    private mutating func add(_ option: String, _ value: String) {
        words.append(option + " " + Self.quoted(value))
    }

    /// Quotes a word for the shell, whatever it contains.
    static func quoted(_ word: String) -> String {
        let isPlain =
            !word.isEmpty
            && word.utf8.allSatisfy { byte in
                switch byte {
                case 0x2B...0x3A, 0x40...0x5A, 0x5F, 0x61...0x7A: true
                default: false
                }
            }
        guard !isPlain else { return word }
        var quoted = "'"
        for scalar in word.unicodeScalars {
            if scalar == "'" {
                quoted += "'\\''"
            } else {
                quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "'"
    }

    private func shown(_ text: String) -> String { secrets?.text(text) ?? text }

    private func shown(_ name: String, _ value: String) -> String {
        secrets?.field(name, value) ?? value
    }

    /// Returns a proxy's URL with credentials redacted, even if it has no scheme.
    private func shownProxy(_ proxy: String) -> String {
        guard secrets != nil, !proxy.contains("://"), let at = proxy.lastIndex(of: "@") else {
            return shown(proxy)
        }
        return Secrets.mask + proxy[at...]
    }

    // MARK: Connection

    private mutating func addConnection(
        _ settings: ClientSettings, _ options: OptionTable, isSecure: Bool
    ) {
        words.append("--globoff")
        if options[.maxRedirects] > 0 {
            words.append("--location --max-redirs \(options[.maxRedirects])")
        }
        if options[.keepAuthAcrossHosts] == 1 { words.append("--location-trusted") }
        switch options[.httpVersion] {
        case 11: words.append("--http1.1")
        case 20: words.append("--http2")
        default: break
        }
        if options[.insecure] == 1 { words.append("--insecure") }
        if let file = settings.text(.caFile) { add("--cacert", file) }
        let given = settings.values.proxies
        let proxy = (isSecure ? given.https : given.http) ?? given.all
        if let proxy, !proxy.isEmpty {
            add("--proxy", shownProxy(proxy))
            if let credentials = settings.text(.proxyCredentials) {
                let user = credentials.prefix { $0 != ":" }
                add("--proxy-user", secrets == nil ? credentials : "\(user):\(Secrets.mask)")
            }
        } else if proxy != nil, settings.text(.unixSocket) == nil {
            add("--noproxy", "*")
        }
        if let hosts = settings.text(.noProxy) { add("--noproxy", hosts) }
        for host in (try? ResolvedHost.all(in: settings.text(.resolve) ?? "")) ?? [] {
            add("--resolve", host.text)
        }
        if let name = settings.text(.interface) { add("--interface", name) }
        if let path = settings.text(.unixSocket) { add("--unix-socket", path) }
    }

    private mutating func addCredentials(_ credentials: Credentials) {
        switch credentials.scheme {
        case .any: words.append("--anyauth")
        case .basic: words.append("--basic")
        case .digest: words.append("--digest")
        }
        let password = secrets == nil ? credentials.password : Secrets.mask
        add("--user", "\(credentials.user):\(password)")
    }

    // MARK: Headers

    private mutating func addFields(
        of request: Request, _ method: String, _ url: HTTPURL, _ body: Content,
        _ settings: ClientSettings, _ options: OptionTable
    ) throws(WherryError) {
        let list = try RequestPlanner.fields(
            of: request, contentType: body.type, hasBody: body.hasContent, settings: settings,
            coding: coding, closes: options[.keepAlive] == 0)
        let exchange = RequestPlanner.exchange(
            method: method, url: url, headers: list, body: .none, settings: settings,
            options: options, deadline: .never)
        var fields = list.fields
        func has(_ name: String) -> Bool { fields.contains { Headers.areEqual($0.name, name) } }
        for own in exchange.ownFields where !has(own.name) {
            fields.append((own.name, own.value))
        }
        // curl sets the header with its boundary.
        if case .parts = body {
            fields.removeAll { Headers.areEqual($0.name, "Content-Type") && $0.value == nil }
        }
        for field in fields {
            switch field.value {
            case nil: add("--header", field.name + ":")
            case "": add("--header", field.name + ";")
            case let value?: add("--header", "\(field.name): \(shown(field.name, value))")
            }
        }
        if options[.compressed] > 0 { words.append("--compressed") }
    }

    // MARK: Body

    /// The form in which curl receives the body.
    private enum Content {
        case none
        case bytes(Bytes, type: String?)
        case file(String, type: String?)
        case stream(type: String?)
        case parts([Request.Part])

        var hasContent: Bool { if case .none = self { false } else { true } }
        var type: String? {
            switch self {
            case .none, .parts: nil
            case .bytes(_, let type), .file(_, let type), .stream(let type): type
            }
        }
    }

    private static func body(
        of request: Request, _ method: String, _ settings: ClientSettings, _ options: OptionTable,
        _ workers: WorkerPool
    ) throws(WherryError) -> Content {
        switch request.body {
        case .multipart(let parts): return .parts(parts)
        case .file(let path, let type):
            return .file(path, type: type ?? "application/octet-stream")
        case .stream(_, let type): return .stream(type: type)
        case .none, .form, .json, .bytes:
            let prepared = try RequestPlanner.body(
                of: request, method: method, settings: settings, options: options,
                workers: workers)
            guard case .bytes(let bytes) = prepared.body else { return .none }
            return .bytes(bytes, type: prepared.contentType)
        }
    }

    /// Returns the content encoding of the body. A file, which is not opened, counts as large.
    private static func coding(
        of body: Content, _ request: Request, _ settings: ClientSettings, _ options: OptionTable,
        _ workers: WorkerPool
    ) throws(WherryError) -> Inflater.Coding? {
        let prepared: PreparedBody
        switch body {
        case .none, .parts: return nil
        case .bytes(let bytes, let type): prepared = PreparedBody(.bytes(bytes), contentType: type)
        case .file(_, let type):
            prepared = PreparedBody(.source(StreamedBody()), contentType: type)
        case .stream(let type):
            guard case .stream(let length, _) = request.body else { return nil }
            prepared = PreparedBody(.source(StreamedBody(length: length)), contentType: type)
        }
        switch try BodyCoding.plan(prepared, of: request, settings, options, workers: workers) {
        case .nothing: return nil
        case .whole(let bytes, let coding):
            let coded = Deflater.code(bytes, coding)
            return coded?.count ?? .max < bytes.count ? coding : nil
        case .streamed(_, let coding): return coding
        }
    }

    /// The command that compresses its input. No common tool produces HTTP's deflate format.
    private var coder: String? {
        switch coding {
        case nil: nil
        case .gzip: "gzip --no-name"
        case .deflate:
            "python3 -c 'import sys, zlib; sys.stdout.buffer.write(zlib.compress(sys.stdin.buffer.read()))'"
        }
    }

    private mutating func addBody(
        of request: Request, _ method: String, _ body: Content, _ settings: ClientSettings,
        _ options: OptionTable
    ) throws(WherryError) {
        switch body {
        case .none:
            // These methods send `Content-Length: 0`.
            if ["POST", "PUT", "PATCH"].contains(method) { add("--data-raw", "") }
        case .bytes(let bytes, let type): addBytes(redacted(bytes, type))
        case .file(let path, _):
            guard let coder else { return add("--data-binary", "@" + path) }
            producer = "\(coder) <\(Self.quoted(path)) | "
            add("--data-binary", "@-")
        case .stream:
            producer = coder.map { $0 + " | " } ?? ""
            add("--data-binary", "@-")
        case .parts(let parts):
            if !RequestPlanner.takesQuery(method) {
                for field in try RequestPlanner.formFields(of: request, settings, options) {
                    addField(field.name, field.value ?? "")
                }
            }
            for part in parts { addPart(part) }
        }
    }

    /// Returns the body with secrets redacted.
    private func redacted(_ bytes: Bytes, _ type: String?) -> Bytes {
        guard let secrets, !bytes.isEmpty else { return bytes }
        let media = type.flatMap { MediaType($0) }
        if media?.isJSON == true, let value = try? JSON.parse(body: bytes) {
            return Bytes(secrets.json(value).description)
        }
        if media?.essence == "application/x-www-form-urlencoded" {
            return Bytes(secrets.text(bytes.text))
        }
        return Bytes(Secrets.mask)
    }

    private mutating func addBytes(_ bytes: Bytes) {
        // An argument cannot contain a NUL, or more than 128 KiB.
        if bytes.count < 100_000, !bytes.contains(0),
            let text = String(validating: bytes, as: UTF8.self)
        {
            guard let coder else { return add("--data-raw", text) }
            producer = "printf '%s' \(Self.quoted(text)) | \(coder) | "
            return add("--data-binary", "@-")
        }
        var escapes = ""
        escapes.reserveCapacity(bytes.count * 5)
        for byte in bytes {
            let octal = String(byte, radix: 8)
            escapes += "\\0" + String(repeating: "0", count: 3 - octal.count) + octal
        }
        producer = "printf '%b' '\(escapes)' | " + (coder.map { $0 + " | " } ?? "")
        add("--data-binary", "@-")
    }

    private mutating func addField(_ name: String, _ value: String) {
        add("--form-string", "\(name)=\(shown(name, value))")
    }

    private mutating func addPart(_ part: Request.Part) {
        switch part.content {
        case .file(let path): addFile(part, path)
        case .image(let source, _):
            if case .file(let path) = source {
                addFile(part, path)
            } else {
                addFile(part, "image")
            }
        case .stream: addFile(part, "-")
        case .bytes(let bytes):
            let text = String(validating: bytes, as: UTF8.self)
            if part.fileName == nil, part.contentType == nil, let text {
                return addField(part.name, text)
            }
            let isShown = secrets == nil && text != nil && !bytes.contains(0)
            var word = "\(part.name)=\(Self.formQuoted(isShown ? text ?? "" : Secrets.mask))"
            addTo(&word, part)
            add("--form", word)
        }
    }

    private mutating func addFile(_ part: Request.Part, _ path: String) {
        var word = "\(part.name)=@\(Self.formQuoted(path))"
        addTo(&word, part)
        add("--form", word)
    }

    private func addTo(_ word: inout String, _ part: Request.Part) {
        if let name = part.fileName { word += ";filename=\(Self.formQuoted(name))" }
        if let type = part.contentType { word += ";type=\(type)" }
        for field in part.headers.fields {
            let value = shown(field.name, field.value ?? "")
            word += ";headers=\(Self.formQuoted("\(field.name): \(value)"))"
        }
    }

    /// Quotes a value inside the argument of --form.
    private static func formQuoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            if scalar == "\"" || scalar == "\\" { quoted += "\\" }
            quoted.unicodeScalars.append(scalar)
        }
        return quoted + "\""
    }
}
