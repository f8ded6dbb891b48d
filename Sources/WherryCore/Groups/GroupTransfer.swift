// Wherry: a group of requests on its way.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem
import WherryTransport

/// A group on its way: a transfer whose parts are transfers. Its members are ordinary ones, which
/// the client knows and the observer hears of; the end of the group is told after theirs.
package final class GroupTransfer: Transfer, @unchecked Sendable {  // guarded by `work`
    private struct Work {
        var machine: GroupMachine
        /// Those that were made and have not ended; their observers hold this transfer.
        var running: [Int: Child] = [:]
        var members: [GroupAnswer.Member?]
        /// How far the members came that have ended, and whether they asked a server.
        var last: [Progress] = []
        var isFromCache = true
        /// Why it failed, and the answer that did it.
        var blame: TransferOutcome?
    }

    private struct Child {
        let transfer: Transfer
        /// Verbs find it at work.
        var isStarted = false
    }

    package let group: RequestGroup
    private let work: Lock<Work>
    /// Whether what members brought is kept until the end.
    private let keepsAnswers: Bool

    init(
        _ group: RequestGroup, client: Client, settings: ClientSettings, keepsAnswers: Bool,
        observer: any TransferObserver, userData: UInt
    ) {
        self.group = group
        self.keepsAnswers = keepsAnswers
        work = Lock(
            Work(
                machine: GroupMachine(group.policy, count: group.count),
                members: Array(repeating: nil, count: keepsAnswers ? group.count : 0)))
        super.init(
            .group, Request(""), client: client, settings: settings, options: settings.options,
            observer: observer, userData: userData)
    }

    package override var method: String { "" }
    package override var url: String { "" }

    package override var progress: Progress {
        let (running, last, machine) = work.withLock { ($0.running.values, $0.last, $0.machine) }
        var sum = Progress(sumOf: running.map(\.transfer.progress) + last)
        sum.endedCount = Int32(clamping: machine.ended)
        sum.memberCount = Int32(clamping: machine.count)
        return sum
    }

    /// What has come so far; where answers are not kept, without members.
    package var answer: GroupAnswer {
        work.withLock { work in
            GroupAnswer(
                members: work.members.map { $0 ?? .failed(Self.cancelledError) },
                isFromCache: Self.isFromCache(work))
        }
    }

    /// Whether all has come from a cache.
    package var isFromCache: Bool { work.withLock { Self.isFromCache($0) } }
    private static func isFromCache(_ work: Work) -> Bool {
        work.isFromCache && work.machine.isOver && work.machine.count > 0
    }

    /// The member that failed first, by the order of adding; `nil` if none did.
    package var firstFailed: Int? { work.withLock { $0.machine.firstFailed } }

    // MARK: Starting

    /// Makes all members; nothing starts. Throws what one of them could not be sent for.
    func prepare() throws(WherryError) {
        do throws(WherryError) {
            for (index, member) in group.members.enumerated() {
                let child = try make(member, index)
                work.withLock { $0.running[index] = Child(transfer: child) }
            }
        } catch {
            abandon()
            throw error
        }
    }

    /// Lets go of members that will never start: they hold this transfer, which holds them.
    func abandon() {
        let members = work.withLock { work in
            defer { work.running = [:] }
            return Array(work.running.values)
        }
        for member in members { (member.transfer as? GroupTransfer)?.abandon() }
    }

    private func make(
        _ member: RequestGroup.Member, _ index: Int
    ) throws(WherryError) -> Transfer {
        do throws(WherryError) {
            return try client.makeMember(
                member, settings: settings, keepsAnswers: keepsAnswers,
                observer: MemberObserver(self, index))
        } catch {
            throw error.with { fields in
                let name = Self.name(of: member, index, group.count)
                fields.message = "\(name) cannot be sent: \(error.message)"
            }
        }
    }

    /// "Request 2 of 5", "Group 1 of 2".
    private static func name(
        of member: RequestGroup.Member, _ index: Int, _ count: Int
    ) -> String {
        switch member.content {
        case .request: "Request \(index + 1) of \(count)"
        case .group: "Group \(index + 1) of \(count)"
        }
    }

    package override func begin(wake: Wake) {
        become(.running, quiet: true)
        noteStart("\(group.count) members", [])
        guard group.count > 0 else { return end() }
        for index in group.members.indices {
            guard let child = work.withLock({ $0.running[index] })?.transfer else { continue }
            do throws(WherryError) {
                try client.start(child)
                let isStopping = work.withLock { work in
                    work.running[index]?.isStarted = true
                    return work.machine.isStopping
                }
                // A verb that came before passed it over.
                if isStopping { child.cancel() }
                if isPaused { align([child]) }
            } catch {
                memberEnded(index, child, TransferOutcome(error: error))
            }
        }
    }

    // MARK: Ending

    fileprivate func memberEnded(_ index: Int, _ child: Transfer, _ outcome: TransferOutcome) {
        var last = child.progress
        last.total = last.total ?? last.completed
        last.bytesPerSecond = nil
        last.remaining = nil
        let hit = isHit(child, outcome)
        let member = keepsAnswers ? Self.member(child, outcome) : nil
        let (action, others) = work.withLock { work -> (GroupMachine.Action, [Transfer]) in
            work.running[index] = nil
            work.last.append(last)
            work.isFromCache = work.isFromCache && hit
            if let member { work.members[index] = member }
            let action = work.machine.memberEnded(index, isFailure: outcome.error != nil)
            if work.machine.firstFailed == index { work.blame = blame(index, child, outcome) }
            return (action, action == .cancelOthers ? Self.started(work) : [])
        }
        emit(.progress(progress))
        switch action {
        case .nothing: break
        case .cancelOthers: for other in others { other.cancel() }
        case .end: end()
        }
    }

    private func isHit(_ child: Transfer, _ outcome: TransferOutcome) -> Bool {
        if let inner = child as? GroupTransfer { return inner.isFromCache }
        return outcome.response.map { $0.isFromCache && !$0.isRevalidated } ?? false
    }

    private static func member(
        _ child: Transfer, _ outcome: TransferOutcome
    ) -> GroupAnswer.Member {
        if let error = outcome.error { return .failed(error) }
        if let inner = child as? GroupTransfer { return .group(inner.answer) }
        if let response = outcome.response { return .response(response) }
        return .failed(WherryError(.internal, "A member of a group ended without an answer"))
    }

    /// The failure of a member as that of the group: it names the member.
    private func blame(
        _ index: Int, _ child: Transfer, _ outcome: TransferOutcome
    ) -> TransferOutcome {
        guard let error = outcome.error else { return outcome }
        var name = Self.name(of: group.members[index], index, group.count)
        if child.kind != .group { name += ", \(child.method) \(child.url)," }
        return TransferOutcome(
            response: outcome.response,
            error: error.with { fields in
                fields.message = "\(name) failed: \(error.message)"
                fields.underlying = [error]
            })
    }

    private func end() {
        let (machine, blame) = work.withLock { ($0.machine, $0.blame) }
        // A cancel that came when all had succeeded changes nothing.
        if machine.wasCancelled, machine.firstFailed != nil || machine.count == 0 {
            return finish(TransferOutcome(error: Self.cancelledError))
        }
        finish(machine.hasFailed ? blame ?? TransferOutcome() : TransferOutcome())
    }

    package override func performCancel(discarding: Bool) {
        let running = work.withLock { work in
            work.machine.cancel()
            return Self.started(work)
        }
        for child in running { child.cancel() }
    }

    package override func applyPause() { align(work.withLock { Self.started($0) }) }

    private static func started(_ work: Work) -> [Transfer] {
        work.running.values.filter(\.isStarted).map(\.transfer)
    }

    /// Brings members in line with the group. Of two verbs at once the later one counts: so it is
    /// looked at again when they have been told.
    private func align(_ children: [Transfer]) {
        var isDone = false
        while !isDone {
            let isPaused = isPaused
            for child in children {
                if isPaused { child.pause() } else { child.resume() }
            }
            isDone = isPaused == self.isPaused
        }
    }
}

/// Hands on what is told of a member, and hears of its end.
private final class MemberObserver: TransferObserver {
    private let parent: GroupTransfer
    private let index: Int

    init(_ parent: GroupTransfer, _ index: Int) {
        self.parent = parent
        self.index = index
    }

    var wake: Wake { parent.observer.wake }

    func willStart(_ transfer: Transfer) throws(WherryError) {
        try parent.observer.willStart(transfer)
    }

    func transfer(_ transfer: Transfer, did event: TransferEvent) {
        parent.observer.transfer(transfer, did: event)
        // Of a group that is a member its own members are told here too.
        guard transfer.observer === self, case .done(let outcome) = event else { return }
        parent.memberEnded(index, transfer, outcome)
    }
}
