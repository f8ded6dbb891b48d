// Wherry: a request that stands alone, with its client's settings in it.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem
import WherryTransport

/// What a background job asks for, as it is kept: everything that another process needs to do the
/// same as this one would.
package struct JobRequest: Sendable, Hashable {
    /// What one client is made of; jobs with an equal one share it.
    package struct ClientPart: Sendable, Hashable {
        package var options: [Option: Int64] = [:]
        package var texts: [TextOption: String] = [:]
    }

    package var method: String
    /// Absolute, with the whole query.
    package var url: String
    package var mirrors: [String] = []
    package var headers: [Headers.Field] = []
    package var bearerToken: String?
    package var tag: String?
    /// Those that differ from the default and count on a request.
    package var options: [Option: Int64] = [:]
    package var client = ClientPart()
    package var acceptedStatus: [Int] = []
    package var expected: ExpectedDigest?
    package var computed: DigestAlgorithm?
    /// Of an upload's body.
    package var contentType: String?
    /// Of the program that started it.
    package var umask: UInt32?

    /// A request as this client would send it, joined and merged.
    ///
    /// - Parameters:
    ///   - settings: those of the session.
    ///   - options: `settings` with the request's own.
    package init(
        _ request: Request, method: String, url: HTTPURL, mirrors: [HTTPURL],
        settings: ClientSettings, options: OptionTable
    ) throws(WherryError) {
        self.method = method
        self.url = url.text
        self.mirrors = mirrors.map(\.text)
        tag = request.tag
        acceptedStatus = request.acceptedStatus
        expected = request.expectedDigest
        computed = request.computedDigest
        umask = Directory.umask()
        for option in Option.allCases where options[option] != option.defaultValue {
            switch option {
            case .defaultParameters, .ignoreBase, .autostart, .agentIdle, .debug, .httpCache,
                .cacheMaxBytes, .cacheMemoryBytes, .decisionTimeout, .sendLanguages:
                // Done with here, or of no meaning where nobody looks on.
                break
            default:
                if option.scope.contains(.request) {
                    self.options[option] = options[option]
                } else {
                    client.options[option] = options[option]
                }
            }
        }
        for option in TextOption.allCases where option.isOfClients {
            client.texts[option] = settings.text(option)
        }
        // The agent has another environment, and no name of the application.
        if settings.text(.appName) != nil { client.texts[.userAgent] = settings.userAgent }
        for option in [TextOption.caFile, .crlFile, .caDirectory] {
            guard let paths = client.texts[option] else { continue }
            do {
                // Of folders there may be several.
                var absolute: [String] = []
                for path in option == .caDirectory ? paths.split(separator: ":").map({ String($0) }) : [paths] {
                    absolute.append(try Directory.absolute(path))
                }
                client.texts[option] = absolute.joined(separator: ":")
            } catch {
                throw WherryError(error)
            }
        }
        guard request.credentials == nil else {
            throw WherryError(
                .badOption,
                "A job in the background keeps no passwords: send a field or a bearer token")
        }
        bearerToken = request.bearerToken ?? settings.text(.bearerToken)
        let own = request.headers
        for field in settings.ownFields where !own.contains(field.name) {
            // The request's token wins over the client's field.
            if request.bearerToken != nil, Headers.areEqual(field.name, "Authorization") {
                continue
            }
            headers.append(field)
        }
        headers += own.fields
    }

    /// Names the job to the server, unless the program has set or removed the field itself.
    ///
    /// The value is a string by RFC 9651, as draft-ietf-httpapi-idempotency-key-header demands.
    mutating func addIdempotencyKey(_ id: String) {
        let name = "Idempotency-Key"
        guard !headers.contains(where: { Headers.areEqual($0.name, name) }) else { return }
        headers.append(Headers.Field(name: name, value: "\"\(id)\""))
    }

    /// What identifies the partial file of a download.
    var identity: DownloadIdentity {
        DownloadIdentity(url: url, ownHost: Headers(fields: headers)["Host"])
    }

    /// The request to send.
    ///
    /// - Parameter body: the path of an upload's body.
    package func request(body: String?) -> Request {
        var request = Request(url, method: method)
        request.mirrors = mirrors
        request.headers = Headers(fields: headers)
        request.bearerToken = bearerToken
        request.tag = tag
        request.acceptedStatus = acceptedStatus
        request.expectedDigest = expected
        request.computedDigest = computed
        request.creationMask = umask
        for (option, value) in options { request.set(option, value) }
        request.set(.wantProgress, Int64(1))
        if let body { request.body = .file(path: body, contentType: contentType) }
        return request
    }

    // MARK: JSON

    package var json: JSONObject {
        var json = JSONObject()
        json.set("method", method)
        json.set("url", url)
        if !mirrors.isEmpty { json["mirrors"] = .array(mirrors.map { .string($0) }) }
        if !headers.isEmpty {
            json["headers"] = .array(
                headers.map { .array([.string($0.name), $0.value.map { .string($0) } ?? .null]) })
        }
        json.set("bearer", bearerToken)
        json.set("tag", tag)
        json["options"] = Self.json(options)
        json["client_options"] = Self.json(client.options)
        var texts = JSONObject()
        for (option, text) in client.texts.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            texts.set("\(option.rawValue)", text)
        }
        json["client_texts"] = .object(texts)
        if !acceptedStatus.isEmpty {
            json["accepted"] = .array(acceptedStatus.map { .integer(Int64($0)) })
        }
        if let expected {
            json.set("digest_kind", expected.algorithm.rawValue)
            json.set("digest", Hex.encode(expected.value))
        }
        json.set("computed", computed?.rawValue)
        json.set("content_type", contentType)
        json.set("umask", umask.map { Int64($0) })
        return json
    }

    private static func json(_ options: [Option: Int64]) -> JSON {
        var object = JSONObject()
        for (option, value) in options.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            object.set("\(option.rawValue)", value)
        }
        return .object(object)
    }

    /// `nil` for what no session writes; what it names is judged again when it is sent.
    package init?(_ json: JSONObject) {
        guard let method = json.text("method"), let url = json.text("url") else { return nil }
        self.method = method
        self.url = url
        for value in json.list("mirrors") {
            guard case .string(let text) = value else { return nil }
            mirrors.append(text)
        }
        for value in json.list("headers") {
            guard case .array(let pair) = value, pair.count == 2, case .string(let name) = pair[0]
            else { return nil }
            switch pair[1] {
            case .string(let text): headers.append(Headers.Field(name: name, value: text))
            case .null: headers.append(Headers.Field(name: name, value: nil))
            default: return nil
            }
        }
        bearerToken = json.text("bearer")
        tag = json.text("tag")
        guard let options = Self.options(json.object("options"), in: .request),
            let clientOptions = Self.options(json.object("client_options"), in: .build)
        else { return nil }
        self.options = options
        client.options = clientOptions
        for member in json.object("client_texts") ?? [:] {
            guard let number = Int32(member.name), let option = TextOption(rawValue: number),
                case .string(let text) = member.value, (try? option.check(text, in: .build)) != nil
            else { return nil }
            client.texts[option] = text
        }
        for value in json.list("accepted") {
            guard case .integer(let status) = value, (100...999).contains(status) else {
                return nil
            }
            acceptedStatus.append(Int(status))
        }
        if let digest = json.text("digest") {
            guard let algorithm = json.text("digest_kind").flatMap(DigestAlgorithm.init(rawValue:)),
                let expected = try? ExpectedDigest(algorithm, text: digest)
            else { return nil }
            self.expected = expected
        }
        computed = json.text("computed").flatMap(DigestAlgorithm.init(rawValue:))
        contentType = json.text("content_type")
        umask = json.integer("umask").map { UInt32(truncatingIfNeeded: $0) & 0o777 }
    }

    private static func options(_ json: JSONObject?, in place: Option.Scope) -> [Option: Int64]? {
        var options: [Option: Int64] = [:]
        for member in json ?? [:] {
            guard let number = Int32(member.name), let option = Option(rawValue: number),
                case .integer(let value) = member.value,
                (try? option.check(value, in: place)) != nil
            else { return nil }
            options[option] = value
        }
        return options
    }
}

/// A background job with all that its agent needs, as it lies in its file.
package struct JobRecord: Sendable, Hashable {
    /// Of the file's form. Another one is left alone.
    package static let version: Int64 = 1
    /// More than so many bytes are not written, read or sent.
    package static let mostBytes = 1 << 20

    package var job: BackgroundJob
    /// What it asks for; gone with its secrets once the job is over.
    package var request: JobRequest?
    /// Of the whole URL, which the job itself does not show.
    package var source: String
    /// How often its agent died while it was at it, and nothing came meanwhile.
    package var crashes: Int64 = 0
    /// How many bytes there were when it was last begun.
    package var bytesBefore: Int64 = 0
    /// How long the job waits in all until ``BackgroundJob/retryAt``, in milliseconds.
    package var wait: Int64?
    /// What an upload's stored body is checked by.
    package var seal: BodySeal?
    /// What the last agent left of an upload; found when the record is read, not kept.
    package var remains = Remains.all
    /// The record could not be read, and stands for the file as it is; not kept.
    package var isDamaged = false

    /// What an agent that died left of an upload which its record calls unfinished.
    package enum Remains: Sendable, Hashable {
        /// The body: the upload had no end.
        case all
        /// How it ended.
        case ending(AgentMachine.Ending, Progress)
        /// Only that it ended.
        case nothing
    }

    package init(job: BackgroundJob, request: JobRequest) {
        self.job = job
        self.request = request
        source = Self.source(request)
    }

    /// Stands for a record that cannot be read.
    init(damaged job: BackgroundJob) {
        self.job = job
        source = ""
        isDamaged = true
    }

    /// What tells one URL from another: SHA-256 of method and URL.
    package static func source(_ request: JobRequest) -> String {
        Hex.encode(Digest.hash(of: request.method + " " + request.url, .sha256))
    }

    package var json: JSONObject {
        var json = JSONObject()
        json.set("version", Self.version)
        json["job"] = .object(job.json)
        json["request"] = request.map { .object($0.json) }
        json.set("source", source)
        json.set("crashes", crashes)
        json.set("bytes_before", bytesBefore)
        json.set("wait_ms", wait)
        json["body"] = seal.map { .object($0.json) }
        return json
    }

    /// `nil` for what is no record of this version.
    package init?(_ json: JSONObject) {
        guard json.integer("version") == Self.version,
            let job = json.object("job").flatMap({ BackgroundJob($0) }),
            let source = json.text("source")
        else { return nil }
        self.job = job
        self.source = source
        if let object = json.object("request") {
            guard let request = JobRequest(object) else { return nil }
            self.request = request
        }
        guard request != nil || job.isFinal else { return nil }
        crashes = max(0, json.integer("crashes") ?? 0)
        bytesBefore = max(0, json.integer("bytes_before") ?? 0)
        wait = json.integer("wait_ms").map { max(0, $0) }
        if let object = json.object("body") {
            guard let seal = BodySeal(object) else { return nil }
            self.seal = seal
        }
    }

    /// The record as text; `too_large` beyond ``mostBytes``.
    package func text() throws(WherryError) -> [UInt8] {
        let text: [UInt8]
        do {
            text = try JSON.object(json).printed()
        } catch {
            throw WherryError(.badParameters, error.message)
        }
        guard text.count <= Self.mostBytes else {
            throw WherryError(
                .tooLarge,
                "A background job's request may have \(Self.mostBytes) bytes, and this one has \(text.count)"
            )
        }
        return text
    }

    /// Reads a record; `nil` for what is none.
    package static func parse(_ text: [UInt8]) -> JobRecord? {
        object(text).flatMap { JobRecord($0) }
    }

    /// The members of a record's text; `nil` if it is no JSON object.
    static func object(_ text: [UInt8]) -> JSONObject? {
        let limits = JSONLimits(bytes: mostBytes)
        guard case .object(let json)? = try? JSON.parse(text, limits: limits) else { return nil }
        return json
    }
}

extension TextOption {
    /// Whether it makes one client different from another, for jobs that have an absolute URL.
    fileprivate var isOfClients: Bool {
        switch self {
        case .baseURL, .appName, .appVersion, .storageName, .storageDirectory, .agentPath, .stateDirectory,
            .bearerToken, .tag, .imageNames, .jpegType, .netrc:
            false
        default: true
        }
    }
}
