// Wherry: the agent's transfers.
// SPDX-License-Identifier: Apache-2.0

import WherryCore
import WherryHTTP
import WherrySystem

/// The events of the agent's transfers, queued for the agent's thread.
final class AgentMailbox: Sendable {
    enum Letter: Sendable {
        case state(id: String, TransferState, reason: String?)
        /// The response to a download determines the name of its file.
        case named(id: String, String)
        case ended(id: String, Progress?, AgentMachine.Ending)
        case waitsForConnection(id: String, Bool)
        /// The stored body of an upload, or the reason not to send it.
        case checked(id: String, Result<File, WherryError>)
    }

    private struct State: Sendable {
        var letters: [Letter] = []
        /// The latest progress of each job.
        var progress: [String: Progress] = [:]
    }
    private let state = Lock(State())
    private let signal: EventFD

    init() throws(SystemError) { signal = try EventFD() }

    /// A descriptor that is readable while the mailbox has content.
    var descriptor: Int32 { signal.descriptor }

    func put(_ letter: Letter) {
        state.withLock { $0.letters.append(letter) }
        signal.signal()
    }

    func put(_ progress: Progress, of id: String) {
        state.withLock { $0.progress[id] = progress }
        signal.signal()
    }

    /// Wakes the reader without any content.
    func wake() { signal.signal() }

    func take() -> (progress: [String: Progress], letters: [Letter]) {
        signal.clear()
        return state.withLock { state in
            let taken = (state.progress, state.letters)
            state = State()
            return taken
        }
    }
}

/// Observes one transfer of the agent.
private final class AgentObserver: TransferObserver {
    let id: String
    let mailbox: AgentMailbox
    /// Where to record the end of an upload. `nil` for downloads.
    let folder: StateFolder?
    /// The result of an upload if no more of its response arrives.
    private let answered = Lock<AgentMachine.Ending?>(nil)

    init(_ id: String, _ mailbox: AgentMailbox, _ folder: StateFolder?) {
        self.id = id
        self.mailbox = mailbox
        self.folder = folder
    }

    func transfer(_ transfer: Transfer, waitsForConnection: Bool) {
        mailbox.put(.waitsForConnection(id: id, waitsForConnection))
    }

    func transfer(_ transfer: Transfer, did event: TransferEvent) {
        switch event {
        case .progress(let progress): mailbox.put(progress, of: id)
        case .state(let state, let reason):
            mailbox.put(.state(id: id, state, reason: reason?.rawValue))
        case .done(let outcome):
            var ending = AgentMachine.Ending(outcome)
            // Too late to stop: sending the upload again would duplicate it on the server.
            if ending.isCancelled { ending = answered.withLock { $0 } ?? ending }
            folder?.note(ending, transfer.progress, of: id)
            mailbox.put(.ended(id: id, transfer.progress, ending))
        case .headers(let response):
            guard folder != nil else {
                if [200, 206].contains(response.status) {
                    mailbox.put(.named(id: id, response.suggestedFileName))
                }
                break
            }
            // The server accepted the upload, whatever happens to the rest of the response.
            guard let folder, (200...299).contains(response.status) else { break }
            var ending = AgentMachine.Ending()
            ending.answer = JobResponse(response)
            ending.lacksBody = true
            answered.withLock { $0 = ending }
            folder.note(ending, transfer.progress, of: id)
        case .cached, .body, .wantBody, .image, .preview, .hook: break
        }
    }
}

extension AgentMachine.Ending {
    init(_ outcome: TransferOutcome) {
        self.init()
        error = outcome.error.map { JobFailure($0) }
        isCancelled = outcome.error?.reasonWord == .cancelled
        path = outcome.path
        for (algorithm, bytes) in outcome.digests {
            digests[algorithm.rawValue] = Hex.encode(bytes)
        }
        answer = (outcome.response ?? outcome.error?.response).map { JobResponse($0) }
    }

    init(_ error: WherryError) {
        self.init()
        self.error = JobFailure(error)
        isCancelled = error.reasonWord == .cancelled
    }
}

/// Starts and stops transfers. Use it only on the agent's thread.
final class AgentTransfers {
    /// Transitions: checking to stopped, transferring, and none; stopped to none; transferring to
    /// none.
    private enum Stage {
        /// The upload's stored body is being checked against its seal.
        case checking(JobRecord)
        /// The job was stopped before its transfer started.
        case stopped
        /// The transfer reads the body through this file's descriptor, so the file stays open until
        /// the end.
        case transferring(Transfer, body: File?)
    }
    private let mailbox: AgentMailbox
    private let folder: StateFolder
    private let clock: any Clock
    private var clients: [JobRequest.ClientPart: Client] = [:]
    private var stages: [String: Stage] = [:]
    private let workers = WorkerPool()

    init(_ folder: StateFolder, _ mailbox: AgentMailbox, clock: any Clock) {
        self.folder = folder
        self.mailbox = mailbox
        self.clock = clock
    }

    deinit { workers.close() }

    /// Starts a job. The mailbox receives its end, even if the job cannot start.
    func begin(_ record: JobRecord) {
        let id = record.job.id
        guard record.job.kind == .upload else { return start(record, body: nil) }
        stages[id] = .checking(record)
        // Check the body on a worker: it may be large, and the agent must stay responsive.
        workers.submit { [folder, mailbox] in
            do throws(WherryError) {
                mailbox.put(.checked(id: id, .success(try folder.body(of: record))))
            } catch {
                mailbox.put(.checked(id: id, .failure(error)))
            }
        }
    }

    /// Continues after the check of an upload's stored body.
    func checked(_ id: String, _ result: Result<File, WherryError>) {
        switch (stages[id], result) {
        case (.checking(let record), .success(let body)): start(record, body: body)
        case (.checking, .failure(let error)):
            let ending = AgentMachine.Ending(error)
            folder.note(ending, Progress(), of: id)
            mailbox.put(.ended(id: id, nil, ending))
        default:
            let error = WherryError(.cancelled, "The transfer was cancelled")
            mailbox.put(.ended(id: id, nil, AgentMachine.Ending(error)))
        }
    }

    private func start(_ record: JobRecord, body: File?) {
        let id = record.job.id
        do throws(WherryError) {
            guard var wanted = record.request else {
                throw WherryError(.io, "The job's record has no request")
            }
            if body != nil {
                folder.removeEnding(id)
                wanted.options[.wantHeaders] = 1
            }
            let client = try client(for: wanted.client)
            let observer = AgentObserver(id, mailbox, body == nil ? nil : folder)
            let transfer: Transfer
            if let body {
                transfer = try client.send(
                    wanted.request(body: body.descriptorPath), observer: observer)
            } else {
                guard let path = record.job.path else {
                    throw WherryError(.badPath, "The job has no destination")
                }
                if path.utf8.last == 0x2F { wanted.options[.wantHeaders] = 1 }
                transfer = try client.download(
                    wanted.request(body: nil), to: path, observer: observer)
            }
            stages[id] = .transferring(transfer, body: body)
        } catch {
            mailbox.put(.ended(id: id, nil, AgentMachine.Ending(error)))
        }
    }

    /// Stops a job's transfer, if it has one.
    func stop(_ id: String, discarding: Bool) {
        switch stages[id] {
        case .checking: stages[id] = .stopped
        case .transferring(let transfer, _):
            if discarding { transfer.discard() } else { transfer.cancel() }
        case .stopped, nil: break
        }
    }

    /// Forgets a transfer that has reported its end.
    func ended(_ id: String) { stages[id] = nil }

    private func client(for part: JobRequest.ClientPart) throws(WherryError) -> Client {
        if let known = clients[part] { return known }
        var configuration = Client.Configuration()
        for (option, value) in part.options { configuration.values.options[option] = value }
        for (option, text) in part.texts { configuration.values.texts[option] = text }
        configuration.clock = clock
        let client = try Client(configuration)
        clients[part] = client
        return client
    }
}
