// Wherry: downloads and uploads that outlive the program.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem
import WherryTransport

/// Hands downloads and uploads over to `wherry-agent`, a process that goes on when this one is gone,
/// and finds them again from any later one of the same user.
///
/// A session is known by its name: every program that opens one of that name sees the same jobs.
/// Opening it starts nothing; the agent starts with the first job and leaves when nothing is to be
/// done. Every member may be used from any thread and blocks it for a moment, for the disk and the
/// agent. A session that is let go of changes nothing for its jobs.
public final class BackgroundSession: Sendable {
    /// What it was opened by.
    public let name: String
    let folder: StateFolder
    let launcher: AgentLauncher
    let autostart: Bool
    let settings: ClientSettings
    /// How long a call waits for an agent that is there, in nanoseconds of real time.
    private let patience: Int64
    package let workers = WorkerPool()
    let follower: JobFollower

    /// Opens a session, and makes it if it is not there:
    /// `BackgroundSession("photos") { $0.baseURL = "https://example.org/" }`.
    ///
    /// - Parameters:
    ///   - name: a file name of at most 100 bytes that does not begin with a dot.
    ///   - configure: settings for its jobs; decisions and caches do not count for them.
    /// - Throws: `bad_argument` for the name; `unsafe_state_dir` if its folder is a link, another
    ///   user's, or open to others; what is wrong with a setting.
    public convenience init(
        _ name: String, _ configure: (inout Client.Configuration) -> Void = { _ in }
    ) throws(WherryError) {
        var configuration = Client.Configuration()
        configure(&configuration)
        try self.init(name, configuration)
    }

    /// Opens a session with a configuration that was filled before.
    public convenience init(
        _ name: String, _ configuration: Client.Configuration
    ) throws(WherryError) {
        try self.init(name, configuration, patience: .milliseconds(30_000))
    }

    /// - Parameter patience: how long a call waits for an agent that is there, in nanoseconds of
    ///   real time.
    package init(
        _ name: String, _ configuration: Client.Configuration, patience: Int64
    ) throws(WherryError) {
        guard !name.isEmpty, name.utf8.count <= 100, name.utf8.first != 0x2E,
            name.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x2F && $0 != 0x7F })
        else {
            throw WherryError(
                .badArgument,
                "A session's name is a file name of at most 100 bytes without spaces that does not begin with a dot"
            )
        }
        try configuration.check()
        // A job that forgot them would trust whom its program does not; and keys stay out of records.
        guard configuration.values.trustLists == TrustPolicy() else {
            throw WherryError(
                .badOption,
                "A background session cannot have pins, client certificates and certificates as bytes: its jobs are kept in files; trust a CA file instead"
            )
        }
        guard configuration.values.credentials.isEmpty, configuration.proxyCredentials == nil,
            configuration.netrc?.isEmpty != false
        else {
            throw WherryError(
                .badOption,
                "A background session cannot have credentials or a .netrc file: its jobs store no passwords. Send a header or a bearer token."
            )
        }
        self.name = name
        self.patience = patience
        settings = try ClientSettings(configuration.values)
        let options = configuration.values.options
        autostart = options[.autostart] == 1
        launcher = AgentLauncher(
            path: settings.text(.agentPath), autostart: autostart, idle: options[.agentIdle])
        let path: String
        if let given = settings.text(.stateDirectory) {
            path = given
        } else {
            path = try StateFolder.path(of: name)
        }
        folder = try StateFolder.open(path)
        follower = JobFollower(folder, launcher)
    }

    deinit {
        follower.close()
        workers.close()
    }

    /// The folder in which the session's jobs are kept; absolute.
    public var stateDirectory: String { folder.path }

    // MARK: Starting

    /// Hands a download over. It has a record on disk when this returns, and goes on whatever
    /// becomes of this program.
    ///
    /// The same URL and path again is the same job, also while it is done and not acknowledged. One
    /// that is paused, interrupted or over begins again with this request.
    ///
    /// - Parameters:
    ///   - request: as for a download of a client; the answer is a file, so nobody is asked
    ///     anything on the way.
    ///   - path: of the file to be; of a directory with the option for it. Relative to the working
    ///     directory.
    /// - Returns: the job's id.
    /// - Throws: what is known at once, as a client's download does; `busy` while another URL is
    ///   downloaded to that path; `no_agent` if the agent cannot be started.
    @discardableResult
    public func download(_ request: Request, to path: String) throws(WherryError) -> String {
        let (options, url, mirrors) = try RequestPlanner.download(request, settings: settings)
        let wanted = try JobRequest(
            request, method: "GET", url: url, mirrors: mirrors, settings: settings, options: options
        )
        let target: DownloadTarget
        do {
            target = try Client.target(
                path,
                suggestedName: SuggestedFileName.choose(
                    contentDisposition: String?.none, url: url.text),
                options: options, hasDigest: DownloadPolicy(request, options).expected != nil)
        } catch {
            // The same job may be done already, and its file is what is in the way.
            if error.reasonWord == .exists, let known = try finished(wanted, at: path) {
                return known
            }
            throw error
        }
        let isNamedLater = target.name == nil || target.existing == .number
        let id = DownloadID(
            session: name, target: target.identity, url: isNamedLater ? url.text : "")
        var job = BackgroundJob(
            id: id.description, kind: .download, url: url.text, path: target.identity)
        job.tag = request.tag
        try ask(.start(JobRecord(job: job, request: wanted)))
        return job.id
    }

    /// The id of the job that has brought this file already, if it is still known.
    private func finished(_ wanted: JobRequest, at path: String) throws(WherryError) -> String? {
        let absolute: String
        do {
            absolute = try Directory.absolute(path)
        } catch {
            throw WherryError(error)
        }
        let id = DownloadID(session: name, target: absolute).description
        guard let record = folder.record(id), record.job.state == .done,
            record.source == JobRecord.source(wanted)
        else { return nil }
        return id
    }

    /// Hands an upload over. Its body is copied when this returns: pictures encoded, files read.
    ///
    /// The agent retries an interrupted upload from its start. So that the server can recognize it, each
    /// attempt has the field `Idempotency-Key: "<id>"` with the job's id; a field of that name in the
    /// request or the session wins; `headers.suppress("Idempotency-Key")` sends none. An upload that
    /// the server has answered with 2xx is never retried. If its agent died before it had the whole
    /// response, the job is done with the reason `interrupted` and a response without its body; if
    /// nothing could be recorded, it fails with `interrupted`.
    /// A stored body that has changed since is not sent: the job fails with `damaged_job`.
    ///
    /// - Parameter request: with any body but one that is handed over while it is sent, and pictures
    ///   in one form.
    /// - Returns: the job's id.
    /// - Throws: what is wrong with request, pictures and files; `needs_queue` for a streamed body;
    ///   `no_agent` if the agent cannot be started; `timeout` if it does not answer, and then it may
    ///   carry the upload out all the same: the message has its id.
    @discardableResult
    public func upload(_ request: Request) throws(WherryError) -> String {
        for value in request.overrides { try value.option.check(value.value, in: .request) }
        try request.checkFields()
        let options = settings.options.overridden(by: request.overrides)
        try BodyCoding.check(request, settings, options)
        guard request.jsonShape == nil else {
            throw WherryError(
                .badOption, "Nobody reads the answer to an upload in the background for its shape")
        }
        let method = request.effectiveMethod
        try RequestPlanner.check(method: method, body: request.body)
        if request.isWrittenWhileSent {
            throw WherryError(
                .needsQueue, "A body that is handed over while it is sent cannot go on without you")
        }
        guard options[.separateImages] == 0 || !request.hasImages else {
            throw WherryError(
                .badArgument, "A background upload is one request; start one for each picture")
        }
        let url = try RequestPlanner.url(
            of: request, method: method, settings: settings, options: options)
        var wanted = try JobRequest(
            request, method: method, url: url, mirrors: [], settings: settings, options: options)
        let body = try UploadEngine.encodedBody(
            of: request, method: method, settings: settings, options: options, workers: workers)
        wanted.contentType = body.contentType
        let id: String
        do {
            id = try SystemRandom.hex(byteCount: 16)
        } catch {
            throw WherryError(error)
        }
        var job = BackgroundJob(id: id, kind: .upload, url: url.text, path: nil)
        job.tag = request.tag
        wanted.addIdempotencyKey(id)
        let seal: BodySeal
        do throws(WherryError) {
            seal = try keep(body.body, for: id)
        } catch {
            folder.removeBody(id)
            throw error
        }
        job.progress.total = seal.length
        var record = JobRecord(job: job, request: wanted)
        record.seal = seal
        try handOver(record)
        return id
    }

    /// Hands over an upload whose body is kept, and removes the body if nobody has taken it.
    private func handOver(_ record: JobRecord) throws(WherryError) {
        let id = record.job.id
        var isOpen = false
        do throws(WherryError) {
            _ = try exchange(.start(record), isOpen: &isOpen)
        } catch {
            let lock = try? folder.lock()
            defer { withExtendedLifetime(lock) {} }
            // It was taken, and only the answer is missing.
            if folder.record(id) != nil { return }
            // An agent that has not answered may take it yet. Without an agent nobody does.
            guard isOpen, lock == nil else {
                folder.removeBody(id)
                throw error
            }
            throw error.with {
                $0.message += "; it may carry the upload \(id) out all the same"
            }
        }
    }

    /// Writes the body where the agent finds it, and returns what the agent checks it by.
    private func keep(_ body: ExchangeBody, for id: String) throws(WherryError) -> BodySeal {
        let file = try folder.makeBody(id)
        do throws(SystemError) {
            var count: Int64 = 0
            switch body {
            case .none: break
            case .bytes(let bytes):
                try file.write(bytes, 0..<bytes.count, at: 0)
                count = Int64(bytes.count)
            case .source(let source):
                guard let source = source as? SegmentedBody else {
                    throw SystemError(22, "keep a body that is streamed")
                }
                try source.write(to: file)
                count = source.length ?? 0
            }
            try file.synchronizeData()
            return try BodySeal(of: file, length: count)
        } catch {
            throw WherryError(error)
        }
    }

    // MARK: Looking

    /// Every job of the session, oldest first; also those that are over and not acknowledged.
    ///
    /// If an agent died at some of them, a new one is started and they go on, unless the session was
    /// opened without that.
    public func jobs() throws(WherryError) -> [BackgroundJob] {
        let found = try exchange(.list)
        if autostart, found.contains(where: { $0.state == .interrupted }) {
            // What cannot be started is told as it is.
            guard (try? launcher.start(folder)) != nil else { return found }
            return try exchange(.list)
        }
        return found
    }

    /// One job; `nil` if there is none of that id, or it has been acknowledged.
    public func job(_ id: String) throws(WherryError) -> BackgroundJob? {
        guard BackgroundJob.isID(id) else { return nil }
        return try jobs().first { $0.id == id }
    }

    // MARK: Verbs

    /// Stops a job until it is resumed, by whatever program; what it has is kept. Without effect on
    /// one that is paused or over.
    ///
    /// - Throws: `not_found` if there is no such job.
    public func pause(_ id: String) throws(WherryError) { try ask(.verb(.pause, id: id)) }

    /// Lets a paused or interrupted job go on. Without effect on one that runs or is over.
    public func resume(_ id: String) throws(WherryError) { try ask(.verb(.resume, id: id)) }

    /// Ends a job and deletes what it had brought. Without effect on one that is over. Its record
    /// stays until it is acknowledged, as that of every job that is over.
    public func cancel(_ id: String) throws(WherryError) { try ask(.verb(.cancel, id: id)) }

    /// Claims a job that is over, and removes its record: succeeds for exactly one caller in all
    /// processes. So act on an end after this has succeeded.
    ///
    /// - Throws: `not_found` for all but the first; `wrong_state` while it is not over.
    public func acknowledge(_ id: String) throws(WherryError) {
        try ask(.verb(.acknowledge, id: id))
    }

    // MARK: Asking

    /// What is thrown for an id without a job.
    package static func noJob(_ id: String) -> WherryError {
        WherryError(
            .notFound,
            "There is no background job \"\(id.cut(toBytes: 200))\" in the session: no job has this id, or it was acknowledged. List the jobs."
        )
    }

    func ask(_ request: AgentRequest) throws(WherryError) { _ = try exchange(request) }

    private func exchange(_ request: AgentRequest) throws(WherryError) -> [BackgroundJob] {
        var isOpen = false
        return try exchange(request, isOpen: &isOpen)
    }

    /// Asks the agent; without one does it here, under the lock, unless it takes an agent.
    ///
    /// - Parameter isOpen: true once a question went out that nobody has answered.
    private func exchange(
        _ request: AgentRequest, isOpen: inout Bool
    ) throws(WherryError) -> [BackgroundJob] {
        let end = SystemClock.shared.now().advanced(by: patience)
        var rest = Int64.milliseconds(1)
        // An id that no job can have needs no answer.
        if case .verb(_, let id) = request, !BackgroundJob.isID(id) { throw Self.noJob(id) }
        while true {
            if let jobs = try talk(request, until: end, isOpen: &isOpen) { return jobs }
            if case .verb(_, let id) = request, !folder.hasRecord(id) { throw Self.noJob(id) }
            if request.needsAgent {
                try launcher.start(folder)
            } else if let lock = try folder.lock() {
                defer { withExtendedLifetime(lock) {} }
                return try LocalAgent.answer(request, folder)
            }
            guard SystemClock.shared.now() < end else {
                throw WherryError(
                    .busy,
                    "Another process holds \(folder.path)/\(StateFolder.lockName) and answers nobody"
                )
            }
            // One is starting, leaving, or at work for a moment.
            Poll.rest(nanoseconds: rest)
            rest = min(rest * 2, .milliseconds(50))
        }
    }

    /// The agent's answer; `nil` if there is none, or it left meanwhile.
    private func talk(
        _ request: AgentRequest, until end: Instant, isOpen: inout Bool
    ) throws(WherryError) -> [BackgroundJob]? {
        guard var link = try AgentLink(folder) else { return nil }
        isOpen = true
        guard try link.send(request, until: end) else { return nil }
        var jobs: [BackgroundJob] = []
        while true {
            switch try link.next(until: end) {
            case .reply(.ok):
                isOpen = false
                return jobs
            case .reply(.job(let job)): jobs.append(job)
            case .reply(.failed(let failure)):
                isOpen = false
                throw failure.error
            case .reply(.gone): continue
            case .closed: return nil
            case .timeout, .interrupted:
                throw WherryError(.timeout, "The agent of \(folder.path) does not answer")
            }
        }
    }
}

extension Request {
    /// Whether a caller writes its body, or a part of it, while it is sent.
    fileprivate var isWrittenWhileSent: Bool {
        switch body {
        case .stream: true
        case .multipart(let parts):
            parts.contains { if case .stream = $0.content { true } else { false } }
        default: false
        }
    }
}

extension AgentRequest {
    /// Whether only an agent can do it.
    fileprivate var needsAgent: Bool {
        switch self {
        case .start, .follow: true
        case .list: false
        case .verb(let verb, _): verb == .resume
        }
    }
}
