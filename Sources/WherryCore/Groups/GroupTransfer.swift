// Wherry: a running group of requests.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherryRequests
import WherrySystem
import WherryTransport

/// A running group whose members run concurrently (R34).
package final class GroupTransfer: CompoundTransfer, @unchecked Sendable {  // guarded by `work`
    private struct Work {
        var machine: GroupMachine
        /// The members that have not ended; their observers retain this object.
        var running: [Int: Child] = [:]
        var members: [GroupResult.Member?]
        /// The progress of the completed members, plus the last reported progress of the others.
        var sum = ProgressSum()
        /// The members with new progress, and those whose progress keeps changing: at most as many
        /// as there are connections, whatever the size of the group.
        var changed: Set<Int> = []
        var moving: Set<Int> = []
        /// The number of times that the progress was read.
        var looks = 0
        /// Whether no member contacted a server.
        var isFromCache = true
        /// Why the group failed, and the response that caused it.
        var blame: TransferOutcome?
        /// Whether a thread reports the ends of members. One thread at a time does, so that no
        /// progress overtakes a later one.
        var isReporting = false
    }

    private struct Child {
        let transfer: Transfer
        /// The progress of the member that is included in the sum.
        var told: Progress
        /// The number of the read that updated the progress.
        var look = 0
        /// Whether pause and cancel can act on the member.
        var isStarted = false
    }

    private let work: Lock<Work>

    override init(
        _ group: RequestGroup, level: Int, client: Client, settings: ClientSettings,
        keepsResults: Bool, observer: any TransferObserver, userData: UInt
    ) {
        work = Lock(
            Work(
                machine: GroupMachine(group.policy, count: group.count),
                members: Array(repeating: nil, count: keepsResults ? group.count : 0)))
        super.init(
            group, level: level, client: client, settings: settings, keepsResults: keepsResults,
            observer: observer, userData: userData)
    }

    package override var progress: Progress {
        let (look, others) = work.withLock { work in
            work.looks += 1
            let others = work.moving.union(work.changed).compactMap { index in
                work.running[index].map { (index, $0.transfer) }
            }
            work.changed = []
            return (work.looks, others)
        }
        let news = others.map { ($0, $1.progress) }
        return work.withLock { work in
            for (index, progress) in news {
                // Another thread may have read a later progress of this member, or its end.
                guard let before = work.running[index], before.look < look else { continue }
                work.sum.remove(before.told)
                work.sum.add(progress)
                work.running[index]?.told = progress
                work.running[index]?.look = look
            }
            var sum = work.sum.progress
            sum.endedCount = Int32(clamping: work.machine.ended)
            sum.memberCount = Int32(clamping: work.machine.count)
            return sum
        }
    }

    package override var result: GroupResult {
        work.withLock { work in
            GroupResult(
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
                let told = child.progress
                work.withLock { work in
                    work.running[index] = Child(transfer: child, told: told)
                    work.sum.add(told)
                    if !child.tellsMoves { work.moving.insert(index) }
                }
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
                // Applies a pause or cancel that arrived before the member was started.
                if isStopping { child.cancel() }
                if isPaused { align([child]) }
            } catch {
                // The members of a nested group retain it until they end, but they never begin.
                (child as? CompoundTransfer)?.abandon()
                memberEnded(index, child, TransferOutcome(error: error))
            }
        }
    }

    // MARK: Ending

    override func memberMoves(_ index: Int, isMoving: Bool) {
        let isMoving = work.withLock { work in
            work.changed.insert(index)
            if isMoving { work.moving.insert(index) } else { work.moving.remove(index) }
            return !work.moving.isEmpty
        }
        observer.transfer(self, isMoving: isMoving)
    }

    override func memberEnded(_ index: Int, _ child: Transfer, _ outcome: TransferOutcome) {
        let last = Self.last(of: child)
        let hit = Self.isHit(child, outcome)
        let member = keepsResults ? Self.member(child, outcome) : nil
        let (others, isMoving, mayReport) = work.withLock { work -> ([Transfer], Bool, Bool) in
            if let before = work.running.removeValue(forKey: index)?.told {
                work.sum.remove(before)
            }
            work.sum.add(last)
            work.changed.remove(index)
            work.moving.remove(index)
            work.isFromCache = work.isFromCache && hit
            if let member { work.members[index] = member }
            let action = work.machine.memberEnded(index, isFailure: outcome.error != nil)
            if work.machine.firstFailed == index { work.blame = blame(index, child, outcome) }
            let mayReport = !work.isReporting
            work.isReporting = true
            return (
                action == .cancelOthers ? Self.started(work) : [], !work.moving.isEmpty, mayReport
            )
        }
        observer.transfer(self, isMoving: isMoving)
        if mayReport { reportEnds() }
        for other in others { other.cancel() }
    }

    /// Reports the progress after members have ended, and ends the group after its last member.
    private func reportEnds() {
        while true {
            let told = progress
            emit(.progress(told))
            let (isDone, isOver) = work.withLock { work in
                // Otherwise, a member has ended since the progress was read.
                let isDone = Int(told.endedCount) == work.machine.ended
                work.isReporting = !isDone
                return (isDone, work.machine.isOver)
            }
            if isDone { return isOver ? end() : () }
        }
    }

    private func end() {
        let (machine, blame) = work.withLock { ($0.machine, $0.blame) }
        // A cancel after all members succeeded has no effect.
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

    package override func applyPriority(_ priority: Int8) {
        // In the order of adding, which decides between equal priorities.
        let members = work.withLock { work in
            group.members.indices.compactMap { work.running[$0]?.transfer }
        }
        for member in members { member.applyPriority(priority) }
    }

    package override func applyPause() { align(work.withLock { Self.started($0) }) }

    private static func started(_ work: Work) -> [Transfer] {
        work.running.values.filter(\.isStarted).map(\.transfer)
    }
}
