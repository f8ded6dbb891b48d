// Wherry: a self-contained request of a background job.
// SPDX-License-Identifier: Apache-2.0

import WherryCore
import WherryDownloads
import WherryHTTP
import WherryRequests
import WherrySystem
import WherryTransport

/// The request of a background job in the form stored in its record. Contains everything that
/// another process needs to send the same request.
package struct JobRequest: Sendable, Hashable {
    /// The settings that define a client. Jobs with equal settings share a client.
    package struct ClientPart: Sendable, Hashable {
        package var options: [Option: Int64] = [:]
        package var texts: [TextOption: String] = [:]
    }

    package var method: String
    /// The absolute URL with the complete query.
    package var url: String
    package var mirrors: [String] = []
    package var headers: [Headers.Field] = []
    package var bearerToken: String?
    package var tag: String?
    /// The request options that differ from the default.
    package var options: [Option: Int64] = [:]
    package var client = ClientPart()
    package var acceptedStatus: [Int] = []
    package var expected: ExpectedDigest?
    package var computed: DigestAlgorithm?
    /// The content type of an upload's body.
    package var contentType: String?
    /// The umask of the program that started the job.
    package var umask: UInt32?

    /// Creates a self-contained request from a request and the session's settings.
    ///
    /// - Parameters:
    ///   - settings: The session's settings.
    ///   - options: The session's options, overridden by those of the request.
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
                .cacheMaxBytes, .cacheMemoryBytes, .imageMemoryBytes, .hookTimeout,
                .sendLanguages:
                // Already applied here, or without effect in the background.
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
        // The agent has a different environment and does not know the application's name.
        if settings.text(.appName) != nil { client.texts[.userAgent] = settings.userAgent }
        for option in [TextOption.caFile, .crlFile, .caDirectory] {
            guard let paths = client.texts[option] else { continue }
            do {
                // `caDirectory` may list several folders.
                var absolute: [String] = []
                for path in option == .caDirectory
                    ? paths.split(separator: ":").map({ String($0) }) : [paths]
                {
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
                "A background job cannot have credentials: its record stores no passwords. Send a header or a bearer token."
            )
        }
        bearerToken = request.bearerToken ?? settings.text(.bearerToken)
        let own = request.headers
        for field in settings.ownFields where !own.contains(field.name) {
            // The request's bearer token takes precedence over the client's header.
            if request.bearerToken != nil, Headers.areEqual(field.name, "Authorization") {
                continue
            }
            headers.append(field)
        }
        headers += own.fields
    }

    /// Adds an Idempotency-Key header, unless the program has set or suppressed that header.
    ///
    /// The value is an RFC 9651 string, as draft-ietf-httpapi-idempotency-key-header requires.
    mutating func addIdempotencyKey(_ id: String) {
        let name = "Idempotency-Key"
        guard !headers.contains(where: { Headers.areEqual($0.name, name) }) else { return }
        headers.append(Headers.Field(name: name, value: "\"\(id)\""))
    }

    /// The identity of a download's partial file.
    var identity: DownloadIdentity {
        DownloadIdentity(url: url, ownHost: Headers(fields: headers)["Host"])
    }

    /// Returns the request to send.
    ///
    /// - Parameter body: The path of an upload's body.
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

    /// Parses a request. Returns `nil` if no session writes it. The URLs and headers are validated
    /// again before sending.
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

/// A background job with everything that the agent needs, in the form stored in its file.
package struct JobRecord: Sendable, Hashable {
    /// The version of the file format. Files of other versions are not changed.
    package static let version: Int64 = 1
    /// The maximum size of a record in bytes, on disk and in messages.
    package static let mostBytes = 1 << 20

    package var job: BackgroundJob
    /// The job's request. Removed with its secrets once the job is finished.
    package var request: JobRequest?
    /// The digest of the method and the complete URL, which the job itself does not show.
    package var source: String
    /// The number of crashes in a row without progress while an agent was running this job.
    package var crashes: Int64 = 0
    /// The number of bytes present when the transfer last started.
    package var bytesBefore: Int64 = 0
    /// The total wait until ``BackgroundJob/retryAt``, in milliseconds.
    package var wait: Int64?
    /// The seal of an upload's stored body.
    package var seal: BodySeal?
    /// What the last agent left of an upload. Computed on load and not stored.
    package var remains = Remains.all
    /// Whether the record could not be read and is only a placeholder for the file. Not stored.
    package var isDamaged = false

    /// What a dead agent left of an upload whose record says that it is unfinished.
    package enum Remains: Sendable, Hashable {
        /// The body: the upload did not end.
        case all
        /// The result of the upload.
        case ending(AgentMachine.Ending, Progress)
        /// No result: the upload ended, but the result is unknown.
        case nothing
    }

    package init(job: BackgroundJob, request: JobRequest) {
        self.job = job
        self.request = request
        source = Self.source(request)
    }

    /// Creates a placeholder for a record that cannot be read.
    init(damaged job: BackgroundJob) {
        self.job = job
        source = ""
        isDamaged = true
    }

    /// Returns the SHA-256 digest of the method and the URL, which identifies the source.
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

    /// Parses a record. Returns `nil` if the object is not a valid record of this version.
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

    /// Returns the record as JSON text. Throws `too_large` above ``mostBytes``.
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
                "The request of the background job is too large: it has \(text.count) bytes, and the limit is \(Self.mostBytes). Shorten its URL or headers."
            )
        }
        return text
    }

    /// Parses the text of a record. Returns `nil` if it is not a valid record.
    package static func parse(_ text: [UInt8]) -> JobRecord? {
        object(text).flatMap { JobRecord($0) }
    }

    /// Parses the text of a record as a JSON object. Returns `nil` if it is not one.
    static func object(_ text: [UInt8]) -> JSONObject? {
        let limits = JSONLimits(bytes: mostBytes)
        guard case .object(let json)? = try? JSON.parse(text, limits: limits) else { return nil }
        return json
    }
}

extension TextOption {
    /// Whether the option is part of a client's identity, for jobs with an absolute URL.
    fileprivate var isOfClients: Bool {
        switch self {
        case .baseURL, .appName, .appVersion, .storageName, .storageDirectory, .agentPath,
            .stateDirectory,
            .bearerToken, .tag, .imageNames, .jpegType, .netrc:
            false
        default: true
        }
    }
}
