// Wherry: the state of a background job.
// SPDX-License-Identifier: Apache-2.0

import WherryCore
import WherryHTTP
import WherrySystem
import WherryTransport

/// A snapshot of a download or an upload of a background session.
public struct BackgroundJob: Sendable, Hashable {
    /// The kind of a job. The raw values are those of `wherry_transfer_kind`.
    public enum Kind: Int32, Sendable {
        case upload = 2
        case download = 3
    }

    /// 32 hexadecimal digits. The id of a download is derived from the session and the destination,
    /// so that starting the same download twice gives one job.
    public let id: String
    /// Whether the job is a download or an upload.
    public let kind: Kind
    /// The URL, at most 2,000 bytes. "?..." replaces the query, which may contain secrets.
    public internal(set) var url: String
    /// The absolute path of a download's destination; once the job is done, the path of the file.
    /// `nil` for uploads.
    public internal(set) var path: String?
    /// The request's tag.
    public internal(set) var tag: String?
    /// The job's state. A job is `interrupted` if its agent died while running it.
    public internal(set) var state: TransferState = .queued
    /// The reason for a restart or a wait: an entry of the table in docs/errors.md.
    public internal(set) var reason: String?
    /// The job's progress.
    public internal(set) var progress = Progress()
    /// The time of the next attempt that the server asked for, in seconds since 1970. `nil` if
    /// there is none. An `interrupted` job keeps the time for the next agent.
    public internal(set) var retryAt: Double?
    /// The time of the first start, in seconds since 1970.
    public internal(set) var startedAt: Double = 0
    /// The time of the last state change, in seconds since 1970.
    public internal(set) var changedAt: Double = 0
    /// The digests of a finished download by algorithm name, such as "sha256", in lowercase
    /// hexadecimal.
    public internal(set) var digests: [String: String] = [:]
    /// The name of an unfinished download's file, if the response determined it. The final name
    /// can differ if that one is taken.
    package internal(set) var fileName: String?
    package var failure: JobFailure?
    package var answer: JobResponse?

    package init(id: String, kind: Kind, url: String, path: String?) {
        self.id = id
        self.kind = kind
        self.url = Self.shownURL(url)
        self.path = path
    }

    /// Returns a URL in the form that jobs show.
    static func shownURL(_ url: String) -> String { HTTPURL.redacted(url).cut(toBytes: 2_000) }

    /// The reason for a failure or a cancellation. `nil` otherwise.
    public var error: WherryError? { failure?.error }
    /// The response of a finished job. For uploads it has at most 64 KiB of the body; for downloads
    /// it has no body. `nil` before the end, and if there was no response.
    public var response: Response? { answer?.response }
    /// The absolute path of a download's file, as far as it is known: the directory with a trailing
    /// slash until the response determines the name. `nil` for uploads.
    package var filePath: String? {
        guard let path, path.utf8.last == 0x2F, let fileName else { return path }
        return path + fileName
    }
    /// Whether the job is finished and only awaits acknowledgement.
    public var isFinal: Bool { state.isFinal }

    // MARK: JSON

    package var json: JSONObject {
        var json = JSONObject()
        json.set("id", id)
        json.set("kind", Int64(kind.rawValue))
        json.set("url", url)
        json.set("path", path)
        json.set("file_name", fileName)
        json.set("tag", tag)
        json.set("state", Int64(state.rawValue))
        json.set("reason", reason)
        json["progress"] = .object(progress.json)
        json["retry_at"] = retryAt.map { .double($0) }
        json["started_at"] = .double(startedAt)
        json["changed_at"] = .double(changedAt)
        if !digests.isEmpty {
            var values = JSONObject()
            for (name, value) in digests.sorted(by: { $0.key < $1.key }) { values.set(name, value) }
            json["digests"] = .object(values)
        }
        json["failure"] = failure.map { .object($0.json) }
        json["answer"] = answer.map { .object($0.json) }
        return json
    }

    /// Parses a job. Returns `nil` if the object is not a valid job.
    package init?(_ json: JSONObject) {
        guard let id = json.text("id"), Self.isID(id),
            let kind = json.integer("kind").flatMap(Int32.init(exactly:)).flatMap(Kind.init),
            let url = json.text("url"),
            let state = json.integer("state").flatMap(Int32.init(exactly:))
                .flatMap(TransferState.init)
        else { return nil }
        self.id = id
        self.kind = kind
        self.url = url
        path = json.text("path")
        // Only a record that could not be read lacks the path.
        guard kind == .upload || path?.utf8.first == 0x2F || state == .failed else { return nil }
        fileName = json.text("file_name")
        tag = json.text("tag")
        self.state = state
        reason = json.text("reason")
        progress = json.object("progress").map { Progress($0) } ?? Progress()
        retryAt = json.number("retry_at")
        startedAt = json.number("started_at") ?? 0
        changedAt = json.number("changed_at") ?? 0
        for member in json.object("digests") ?? [:] {
            if case .string(let value) = member.value { digests[member.name] = value }
        }
        failure = json.object("failure").flatMap { JobFailure($0) }
        answer = json.object("answer").flatMap { JobResponse($0) }
        // Every failed or cancelled job must have an error.
        if state == .failed || state == .cancelled, failure == nil {
            failure = JobFailure(
                WherryError(
                    state == .failed ? .io : .cancelled,
                    "The cause is unknown: the job's record has no error"))
        }
    }

    /// Whether a text is a valid job id, and therefore safe as part of a file name.
    package static func isID(_ text: String) -> Bool {
        text.utf8.count == 32
            && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }
}

/// The error of a job in the form stored in its record.
package struct JobFailure: Sendable, Hashable {
    package var reason: ErrorReason
    package var message: String
    package var httpStatus = 0
    package var osCode: Int32 = 0
    package var curlCode: Int32 = 0
    package var retryAfterMilliseconds: Int64 = -1
    package var partialPath: String?

    package init(_ error: WherryError) {
        let fields = error.fields
        reason = fields.reason
        message = fields.message
        httpStatus = fields.httpStatus
        osCode = fields.osCode
        curlCode = fields.curlCode
        retryAfterMilliseconds = fields.retryAfterMilliseconds
        partialPath = fields.partialPath
    }

    package var error: WherryError {
        WherryError(reason, message).with {
            $0.httpStatus = httpStatus
            $0.osCode = osCode
            $0.curlCode = curlCode
            $0.retryAfterMilliseconds = retryAfterMilliseconds
            $0.partialPath = partialPath
        }
    }

    package var json: JSONObject {
        var json = JSONObject()
        json.set("reason", reason.rawValue)
        json.set("message", message.cut(toBytes: 8_000))
        if httpStatus != 0 { json.set("http_status", Int64(httpStatus)) }
        if osCode != 0 { json.set("os_code", Int64(osCode)) }
        if curlCode != 0 { json.set("curl_code", Int64(curlCode)) }
        if retryAfterMilliseconds >= 0 { json.set("retry_after_ms", retryAfterMilliseconds) }
        json.set("partial_path", partialPath)
        return json
    }

    package init?(_ json: JSONObject) {
        guard let message = json.text("message") else { return nil }
        // A newer version may write reasons that this version does not know.
        reason = json.text("reason").flatMap(ErrorReason.init) ?? .io
        self.message = message
        httpStatus = Int(clamping: json.integer("http_status") ?? 0)
        osCode = Int32(clamping: json.integer("os_code") ?? 0)
        curlCode = Int32(clamping: json.integer("curl_code") ?? 0)
        retryAfterMilliseconds = json.integer("retry_after_ms") ?? -1
        partialPath = json.text("partial_path")
    }
}

/// The final response of a job in the form stored in its record.
package struct JobResponse: Sendable, Hashable {
    /// The maximum number of bytes kept of the headers and of the body.
    package static let mostBytes = 65_536

    package var status: Int
    package var httpVersion: Int
    package var url: String
    package var head: [UInt8]
    package var body: [UInt8]

    package init(_ response: Response) {
        status = response.status
        httpVersion = response.head.httpVersion
        // The query may contain secrets, and the record outlives the job.
        url = HTTPURL.redacted(response.url).cut(toBytes: 8_000)
        let block = response.head.block
        head = block.array(0..<min(block.count, Self.mostBytes))
        body = response.body.array(0..<min(response.body.count, Self.mostBytes))
    }

    package var response: Response {
        Response(
            head: ResponseHead(status: status, httpVersion: httpVersion, block: Bytes(head)),
            body: Bytes(body), url: url)
    }

    package var json: JSONObject {
        var json = JSONObject()
        json.set("status", Int64(status))
        json.set("http_version", Int64(httpVersion))
        json.set("url", url)
        json.set("head", Base64.encode(head))
        if !body.isEmpty { json.set("body", Base64.encode(body)) }
        return json
    }

    package init?(_ json: JSONObject) {
        guard let status = json.integer("status").flatMap(Int.init(exactly:)),
            (100...999).contains(status), let url = json.text("url"),
            let head = Base64.decode(json.text("head") ?? ""), head.count <= Self.mostBytes,
            let body = Base64.decode(json.text("body") ?? ""), body.count <= Self.mostBytes
        else { return nil }
        self.status = status
        httpVersion = Int(clamping: json.integer("http_version") ?? 11)
        self.url = url
        self.head = head
        self.body = body
    }
}

extension Progress {
    package var json: JSONObject {
        var json = JSONObject()
        json.set("completed", completed)
        json.set("total", total)
        if resumedAt != 0 { json.set("resumed_at", resumedAt) }
        if wire != 0 { json.set("wire", wire) }
        json.set("bytes_per_second", bytesPerSecond)
        json.set("remaining_ms", remaining?.wholeMilliseconds)
        if generation != 0 { json.set("generation", Int64(generation)) }
        return json
    }

    package init(_ json: JSONObject) {
        self.init()
        func size(_ name: String) -> Int64? { json.integer(name).map { max(0, $0) } }
        completed = size("completed") ?? 0
        total = size("total")
        resumedAt = size("resumed_at") ?? 0
        wire = size("wire") ?? 0
        bytesPerSecond = size("bytes_per_second")
        remaining = size("remaining_ms").map { .milliseconds($0) }
        generation = Int(clamping: size("generation") ?? 0)
    }
}
