// Wherry: the transfers of the agent.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// What the agent's transfers tell, for its own thread to read.
final class AgentMailbox: Sendable {
    enum Letter: Sendable {
        case state(id: String, TransferState, reason: String?)
        case ended(id: String, Progress?, AgentMachine.Ending)
        case waitsForConnection(id: String, Bool)
        /// An upload's stored body, or why it must not be sent.
        case checked(id: String, Result<File, WherryError>)
    }

    private struct State: Sendable {
        var letters: [Letter] = []
        /// Only the newest of each counts.
        var progress: [String: Progress] = [:]
    }
    private let state = Lock(State())
    private let signal: EventFD

    init() throws(SystemError) { signal = try EventFD() }

    /// Readable while something is there.
    var descriptor: Int32 { signal.descriptor }

    func put(_ letter: Letter) {
        state.withLock { $0.letters.append(letter) }
        signal.signal()
    }

    func put(_ progress: Progress, of id: String) {
        state.withLock { $0.progress[id] = progress }
        signal.signal()
    }

    /// Wakes the reader for nothing.
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

/// Hears of one transfer of the agent.
private final class AgentObserver: TransferObserver {
    let id: String
    let mailbox: AgentMailbox
    /// Where an upload's end is written down; `nil` for downloads.
    let folder: StateFolder?
    /// How an upload ends if nothing more of its response arrives.
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
            // Stopped too late: sent again, the server would have it twice.
            if ending.isCancelled { ending = answered.withLock { $0 } ?? ending }
            folder?.note(ending, transfer.progress, of: id)
            mailbox.put(.ended(id: id, transfer.progress, ending))
        case .head(let response):
            // The server has the upload, whatever becomes of the rest of its response.
            guard let folder, (200...299).contains(response.status) else { break }
            var ending = AgentMachine.Ending()
            ending.answer = JobAnswer(response)
            ending.lacksBody = true
            answered.withLock { $0 = ending }
            folder.note(ending, transfer.progress, of: id)
        case .cached, .body, .wantBody, .image, .decision: break
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
        answer = (outcome.response ?? outcome.error?.response).map { JobAnswer($0) }
    }

    init(_ error: WherryError) {
        self.init()
        self.error = JobFailure(error)
        isCancelled = error.reasonWord == .cancelled
    }
}

/// Begins and ends transfers. Used from the agent's thread alone.
final class AgentTransfers {
    /// Exits: checking to stopped, transferring and none; stopped to none; transferring to none.
    private enum Stage {
        /// The stored body of an upload is compared with its seal.
        case checking(JobRecord)
        /// The job is to end, and has not begun to send.
        case stopped
        /// The file is open until the end: the transfer reads it by its descriptor.
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

    /// Begins a job; its end comes by the mailbox, also if it cannot begin.
    func begin(_ record: JobRecord) {
        let id = record.job.id
        guard record.job.kind == .upload else { return start(record, body: nil) }
        stages[id] = .checking(record)
        // Bodies may be large, and the agent answers meanwhile.
        workers.submit { [folder, mailbox] in
            do throws(WherryError) {
                mailbox.put(.checked(id: id, .success(try folder.body(of: record))))
            } catch {
                mailbox.put(.checked(id: id, .failure(error)))
            }
        }
    }

    /// The stored body of an upload was compared with its seal.
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
                throw WherryError(.io, "The job's request is gone")
            }
            if body != nil {
                folder.removeEnding(id)
                wanted.options[.wantHead] = 1
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
                transfer = try client.download(
                    wanted.request(body: nil), to: path, observer: observer)
            }
            stages[id] = .transferring(transfer, body: body)
        } catch {
            mailbox.put(.ended(id: id, nil, AgentMachine.Ending(error)))
        }
    }

    /// Ends a job's transfer, if it has one.
    func stop(_ id: String, discarding: Bool) {
        switch stages[id] {
        case .checking: stages[id] = .stopped
        case .transferring(let transfer, _):
            if discarding { transfer.discard() } else { transfer.cancel() }
        case .stopped, nil: break
        }
    }

    /// A job's transfer has told its end.
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
