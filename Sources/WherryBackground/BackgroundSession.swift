// Wherry: background sessions for downloads and uploads that outlive the program.
// SPDX-License-Identifier: Apache-2.0

import WherryCore
import WherryDownloads
import WherryHTTP
import WherryRequests
import WherrySystem
import WherryTransport

/// Runs downloads and uploads in `wherry-agent`, a process that continues after this one exits. Any
/// later process of the same user finds them again.
///
/// The name identifies the session: all programs that open a session with the same name see the
/// same jobs. Opening a session starts no process. The agent starts with the first job and exits
/// when no work is left. Releasing a session does not affect its jobs.
///
/// All members may be used from any thread. They may block briefly while they wait for the disk or
/// the agent.
public final class BackgroundSession: Sendable {
    /// The name of the session.
    public let name: String
    let folder: StateFolder
    let launcher: AgentLauncher
    let autostart: Bool
    let settings: ClientSettings
    /// The maximum time to wait for a running agent to reply, in nanoseconds of real time.
    private let patience: Int64
    package let workers = WorkerPool()
    let follower: JobFollower

    /// Opens a session, and creates it if necessary: `BackgroundSession("photos") { $0.baseURL =
    /// "https://example.org/" }`.
    ///
    /// - Parameters:
    ///   - name: A file name of at most 100 bytes that does not begin with a dot.
    ///   - configure: Sets the settings of the session's jobs. Hooks and caches have no effect.
    /// - Throws: `bad_argument` for an invalid name. `unsafe_state_dir` if the directory is a link,
    ///   belongs to another user, or is accessible to others. For an invalid setting, the error of
    ///   that setting.
    public convenience init(
        _ name: String, _ configure: (inout Client.Configuration) -> Void = { _ in }
    ) throws(WherryError) {
        var configuration = Client.Configuration()
        configure(&configuration)
        try self.init(name, configuration)
    }

    /// Opens a session with an existing configuration.
    public convenience init(
        _ name: String, _ configuration: Client.Configuration
    ) throws(WherryError) {
        try self.init(name, configuration, patience: .milliseconds(30_000))
    }

    /// - Parameter patience: The maximum time to wait for a running agent to reply, in nanoseconds
    ///   of real time.
    package init(
        _ name: String, _ configuration: Client.Configuration, patience: Int64
    ) throws(WherryError) {
        guard !name.isEmpty, name.utf8.count <= 100, name.utf8.first != 0x2E,
            name.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x2F && $0 != 0x7F })
        else {
            throw WherryError(
                .badArgument,
                "The name of the session is not valid. Use a file name of at most 100 bytes, without spaces and without a leading dot."
            )
        }
        try configuration.check()
        // Jobs cannot store trust settings: without them a job would trust the wrong servers, and
        // records must not contain keys.
        guard configuration.values.trustLists == TrustPolicy() else {
            throw WherryError(
                .badOption,
                "A background session cannot have pins, client certificates, or certificates as bytes: its jobs are stored in files. Use a CA file instead."
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

    /// The absolute path of the folder that contains the session's jobs.
    public var stateDirectory: String { folder.path }

    // MARK: Starting jobs

    /// Starts a background download. When this call returns, the job is recorded on disk and
    /// continues even if this program exits.
    ///
    /// The same URL and path return the same job, even if the job is done but not yet acknowledged.
    /// A job that is paused, interrupted, failed, or cancelled starts again with this request.
    ///
    /// - Parameters:
    ///   - request: The same as for a download of a client. Hooks have no effect.
    ///   - path: The path of the destination file, or of a directory if
    ///     ``/WherryRequests/Request/savesIntoDirectory`` is true. Relative to the working
    ///     directory.
    /// - Returns: The job's id.
    /// - Throws: The immediate errors of a client's download. `busy` while another URL is being
    ///   downloaded to the path. `no_agent` if the agent cannot be started.
    @discardableResult
    public func download(_ request: Request, to path: String) throws(WherryError) -> String {
        try download(request, to: path, keepsFinished: true)
    }

    /// Starts a background download; see the public method.
    ///
    /// - Parameter keepsFinished: Whether a finished job of the same URL and path is returned. If
    ///   false, a new job replaces it, and an existing file is an error as in a client's download.
    package func download(
        _ request: Request, to path: String, keepsFinished: Bool
    ) throws(WherryError) -> String {
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
            // The file may exist because the same job is already done.
            if keepsFinished, error.reasonWord == .exists,
                let known = try finished(wanted, at: path)
            {
                return known
            }
            throw error
        }
        let isNamedLater = target.name == nil || target.existing == .number
        let id = DownloadID(
            session: name, target: target.identity, url: isNamedLater ? url.text : "")
        var job = BackgroundJob(
            id: id.description, kind: .download, url: url.text, path: target.path)
        job.tag = request.tag
        if !keepsFinished { try forgetFinished(job.id) }
        try ask(.start(JobRecord(job: job, request: wanted)))
        return job.id
    }

    /// Removes the record of a job that is done, if there is one.
    private func forgetFinished(_ id: String) throws(WherryError) {
        guard folder.record(id)?.job.state == .done else { return }
        do throws(WherryError) {
            try acknowledge(id)
        } catch {
            // Another program has acknowledged the job.
            guard error.reasonWord == .notFound else { throw error }
        }
    }

    /// Returns the id of the finished job that downloaded this file, if its record still exists.
    private func finished(_ wanted: JobRequest, at path: String) throws(WherryError) -> String? {
        let id = DownloadID(session: name, target: Directory.canonical(path)).description
        guard let record = folder.record(id), record.job.state == .done,
            record.source == JobRecord.source(wanted)
        else { return nil }
        return id
    }

    /// Starts a background upload. When this call returns, the body has been copied: images are
    /// encoded and files are read.
    ///
    /// The agent retries an interrupted upload from its start. Each attempt sends the header
    /// `Idempotency-Key: "<id>"` with the job's id, so that the server can recognize a repeat. A
    /// header of that name in the request or the session takes precedence.
    /// `headers.suppress("Idempotency-Key")` sends none.
    ///
    /// An upload that received a 2xx response is never retried. If the agent died before it
    /// received the complete response, the job is done with the reason `interrupted` and a response
    /// without a body. If nothing could be recorded, the job fails with `interrupted`. If the
    /// stored body has changed, it is not sent, and the job fails with `damaged_job`.
    ///
    /// - Parameter request: A request without a streamed body. All its images must be sent in one
    ///   form.
    /// - Returns: The job's id.
    /// - Throws: The errors of the request, its images, and its files. `needs_queue` for a streamed
    ///   body. `no_agent` if the agent cannot be started. `timeout` if the agent does not reply; it
    ///   may still send the upload, whose id is in the message.
    @discardableResult
    public func upload(_ request: Request) throws(WherryError) -> String {
        for value in request.overrides { try value.option.check(value.value, in: .request) }
        try request.checkFields()
        let options = settings.options.overridden(by: request.overrides)
        try BodyCoding.check(request, settings, options)
        guard request.jsonShape == nil else {
            throw WherryError(
                .badOption,
                "A background upload cannot check the JSON shape of its response. Remove the shape."
            )
        }
        let method = request.effectiveMethod
        try RequestPlanner.check(method: method, body: request.body)
        if request.isWrittenWhileSent {
            throw WherryError(
                .needsQueue,
                "A background upload cannot send a body that is written during the transfer. Use bytes or a file."
            )
        }
        guard options[.separateImages] == 0 || !request.hasImages else {
            throw WherryError(
                .badArgument,
                "A background upload cannot send each image in its own request. Start one upload for each image."
            )
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

    /// Passes an upload with its stored body to the agent. Removes the body if no agent accepted
    /// the job.
    private func handOver(_ record: JobRecord) throws(WherryError) {
        let id = record.job.id
        var isOpen = false
        do throws(WherryError) {
            _ = try exchange(.start(record), isOpen: &isOpen)
        } catch {
            let lock = try? folder.lock()
            defer { withExtendedLifetime(lock) {} }
            // The agent accepted the job, and only its reply was lost.
            if folder.record(id) != nil { return }
            // A running agent that has not replied may still accept the job.
            guard isOpen, lock == nil else {
                folder.removeBody(id)
                throw error
            }
            throw error.with {
                $0.message =
                    "The agent may still send the upload \(id), but did not confirm it. List the jobs before you start it again: \($0.message)"
            }
        }
    }

    /// Stores the body for the agent. Returns the seal that the agent checks it against.
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
                    throw SystemError(22, "store a streamed body")
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

    // MARK: Queries

    /// Returns all jobs of the session, oldest first, including finished jobs that are not
    /// acknowledged.
    ///
    /// If an agent died while running some of them, this call starts a new agent, which continues
    /// them. Set `Client.Configuration.resumesInterruptedJobs` to false to turn this off.
    public func jobs() throws(WherryError) -> [BackgroundJob] {
        let found = try exchange(.list)
        if autostart, found.contains(where: { $0.state == .interrupted }) {
            // If the agent cannot be started, return the jobs as they are.
            guard (try? launcher.start(folder)) != nil else { return found }
            return try exchange(.list)
        }
        return found
    }

    /// Returns a job. `nil` if there is no job with this id, or it was acknowledged.
    public func job(_ id: String) throws(WherryError) -> BackgroundJob? {
        guard BackgroundJob.isID(id) else { return nil }
        return try jobs().first { $0.id == id }
    }

    // MARK: Commands

    /// Pauses a job until any program resumes it. Keeps the partial file. Has no effect on a paused
    /// or finished job.
    ///
    /// - Throws: `not_found` if there is no such job.
    public func pause(_ id: String) throws(WherryError) { try ask(.verb(.pause, id: id)) }

    /// Resumes a paused or interrupted job. Has no effect on a running or finished job.
    public func resume(_ id: String) throws(WherryError) { try ask(.verb(.resume, id: id)) }

    /// Cancels a job and deletes its partial file. Has no effect on a finished job. The record
    /// stays until the job is acknowledged, as for every finished job.
    public func cancel(_ id: String) throws(WherryError) { try ask(.verb(.cancel, id: id)) }

    /// Acknowledges a finished job and removes its record. Succeeds for exactly one caller across
    /// all processes, so act on a result only after this call succeeds.
    ///
    /// - Throws: `not_found` for every caller but the first. `wrong_state` while the job is not
    ///   finished.
    public func acknowledge(_ id: String) throws(WherryError) {
        try ask(.verb(.acknowledge, id: id))
    }

    // MARK: Requests to the agent

    /// The error for an id without a job.
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

    /// Sends a request to the agent. If no agent is running, handles the request in this process
    /// under the lock, unless it needs an agent.
    ///
    /// - Parameter isOpen: Becomes `true` if a request was sent and not answered.
    private func exchange(
        _ request: AgentRequest, isOpen: inout Bool
    ) throws(WherryError) -> [BackgroundJob] {
        let end = SystemClock.shared.now().advanced(by: patience)
        var rest = Int64.milliseconds(1)
        // No job can have an invalid id.
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
                    "Could not reach the agent: another process holds \(folder.path)/\(StateFolder.lockName) and does not respond. End that process."
                )
            }
            // Another process is starting, exiting, or briefly holding the lock.
            Poll.rest(nanoseconds: rest)
            rest = min(rest * 2, .milliseconds(50))
        }
    }

    /// Returns the agent's reply. `nil` if no agent is running, or it exited during the call.
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
                throw WherryError(
                    .timeout, "The agent of \(folder.path) did not respond in time")
            }
        }
    }
}

extension Request {
    /// Whether a caller writes the body, or a part of it, while it is sent.
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
    /// Whether the request can be handled only by an agent.
    fileprivate var needsAgent: Bool {
        switch self {
        case .start, .follow: true
        case .list: false
        case .verb(let verb, _): verb == .resume
        }
    }
}
