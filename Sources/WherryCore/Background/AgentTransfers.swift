// Wherry: the transfers of the agent.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// What the agent's transfers tell, for its own thread to read.
final class AgentMailbox: Sendable {
    enum Letter: Sendable {
        case state(id: String, TransferState, reason: String?)
        case ended(id: String, Progress?, AgentMachine.Ending)
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

    init(_ id: String, _ mailbox: AgentMailbox) {
        self.id = id
        self.mailbox = mailbox
    }

    func transfer(_ transfer: Transfer, did event: TransferEvent) {
        switch event {
        case .progress(let progress): mailbox.put(progress, of: id)
        case .state(let state, let reason):
            mailbox.put(.state(id: id, state, reason: reason?.rawValue))
        case .done(let outcome):
            mailbox.put(.ended(id: id, transfer.progress, AgentMachine.Ending(outcome)))
        case .head, .cached, .body, .wantBody, .image, .decision: break
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
    }
}

/// Begins and ends transfers. Used from the agent's thread alone.
final class AgentTransfers {
    private let mailbox: AgentMailbox
    private let folder: StateFolder
    private let clock: any Clock
    private var clients: [JobRequest.ClientPart: Client] = [:]
    private var running: [String: Transfer] = [:]

    init(_ folder: StateFolder, _ mailbox: AgentMailbox, clock: any Clock) {
        self.folder = folder
        self.mailbox = mailbox
        self.clock = clock
    }

    /// Begins a job; its end comes by the mailbox, also if it cannot begin.
    func begin(_ record: JobRecord) {
        let id = record.job.id
        do throws(WherryError) {
            guard let wanted = record.request else {
                throw WherryError(.io, "The job's request is gone")
            }
            let client = try client(for: wanted.client)
            let observer = AgentObserver(id, mailbox)
            switch record.job.kind {
            case .download:
                guard let path = record.job.path else {
                    throw WherryError(.badPath, "The job has no destination")
                }
                running[id] = try client.download(
                    wanted.request(body: nil), to: path, observer: observer)
            case .upload:
                running[id] = try client.send(
                    wanted.request(body: folder.bodyPath(id)), observer: observer)
            }
        } catch {
            mailbox.put(.ended(id: id, nil, AgentMachine.Ending(error)))
        }
    }

    /// Ends a job's transfer, if it has one.
    func stop(_ id: String, discarding: Bool) {
        guard let transfer = running[id] else { return }
        if discarding { transfer.discard() } else { transfer.cancel() }
    }

    /// A job's transfer has told its end.
    func ended(_ id: String) { running[id] = nil }

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
