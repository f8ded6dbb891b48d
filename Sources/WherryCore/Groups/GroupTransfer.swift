// Wherry: a group of requests on its way.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem
import WherryTransport

/// A group on its way whose members run at once (R34).
package final class GroupTransfer: CompoundTransfer, @unchecked Sendable {  // guarded by `work`
    private struct Work {
        var machine: GroupMachine
        /// Those that were made and have not ended; their observers hold this transfer.
        var running: [Int: Child] = [:]
        var members: [GroupAnswer.Member?]
        /// How far the members came that have ended.
        var last: Progress?
        /// Whether none of them asked a server.
        var isFromCache = true
        /// Why it failed, and the answer that did it.
        var blame: TransferOutcome?
    }

    private struct Child {
        let transfer: Transfer
        /// Verbs find it at work.
        var isStarted = false
    }

    private let work: Lock<Work>

    override init(
        _ group: RequestGroup, level: Int, client: Client, settings: ClientSettings,
        keepsAnswers: Bool, observer: any TransferObserver, userData: UInt
    ) {
        work = Lock(
            Work(
                machine: GroupMachine(group.policy, count: group.count),
                members: Array(repeating: nil, count: keepsAnswers ? group.count : 0)))
        super.init(
            group, level: level, client: client, settings: settings, keepsAnswers: keepsAnswers,
            observer: observer, userData: userData)
    }

    package override var progress: Progress {
        let (running, last, machine) = work.withLock { ($0.running.values, $0.last, $0.machine) }
        var sum = Progress(sumOf: running.map(\.transfer.progress) + [last].compactMap { $0 })
        sum.endedCount = Int32(clamping: machine.ended)
        sum.memberCount = Int32(clamping: machine.count)
        return sum
    }

    package override var answer: GroupAnswer {
        work.withLock { work in
            GroupAnswer(
                members: work.members.map { $0 ?? .failed(Self.cancelledError) },
                isFromCache: Self.isFromCache(work))
        }
    }

    package override var isFromCache: Bool { work.withLock { Self.isFromCache($0) } }
    private static func isFromCache(_ work: Work) -> Bool {
        work.isFromCache && work.machine.isOver && work.machine.count > 0
    }

    package override var firstFailed: Int? { work.withLock { $0.machine.firstFailed } }

    // MARK: Starting

    override func prepare() throws(WherryError) {
        do throws(WherryError) {
            for (index, member) in group.members.enumerated() {
                let child = try make(member, index, settings: settings)
                work.withLock { $0.running[index] = Child(transfer: child) }
            }
        } catch {
            abandon()
            throw error
        }
    }

    override func abandon() {
        let members = work.withLock { work in
            defer { work.running = [:] }
            return Array(work.running.values)
        }
        for member in members { (member.transfer as? CompoundTransfer)?.abandon() }
    }

    override func name(of index: Int, isGroup: Bool) -> String {
        "\(isGroup ? "Group" : "Request") \(index + 1) of \(group.count)"
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
                // Its own members hold it until they end, and they never begin.
                (child as? CompoundTransfer)?.abandon()
                memberEnded(index, child, TransferOutcome(error: error))
            }
        }
    }

    // MARK: Ending

    override func memberEnded(_ index: Int, _ child: Transfer, _ outcome: TransferOutcome) {
        let last = Self.last(of: child)
        let hit = Self.isHit(child, outcome)
        let member = keepsAnswers ? Self.member(child, outcome) : nil
        let (action, others) = work.withLock { work -> (GroupMachine.Action, [Transfer]) in
            work.running[index] = nil
            work.last = Progress(sumOf: [work.last, last].compactMap { $0 })
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
}
