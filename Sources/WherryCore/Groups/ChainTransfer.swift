// Wherry: a running chain of requests.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherryRequests
import WherrySystem
import WherryTransport

/// A running chain. Runs one step at a time, and asks a hook for the next steps after each one
/// (R35).
package final class ChainTransfer: CompoundTransfer, @unchecked Sendable {  // guarded by `work`
    private struct Work {
        /// Added steps that have not begun, in reverse order.
        var waiting: [RequestGroup.Member]
        /// The current step. Pause and cancel act on it once it is started; it retains this object.
        var current: Transfer?
        var isStarted = false
        /// The step to begin next. It begins after the start of the previous step has returned,
        /// even if that step has already ended, so that many short steps need no deep stack.
        var next: RequestGroup.Member?
        var isAdvancing = false
        /// The number of steps that began, and that ended.
        var begun = 0
        var ended = 0
        var members: [GroupResult.Member] = []
        /// The combined progress of the completed steps.
        var sum: Progress?
        var isFromCache = true
        var firstFailed: Int?
        var isOver = false
        var hookCall: WeakHookCall?
        var wasCancelled = false
    }

    private struct WeakHookCall {
        weak var call: HookCall?
    }

    private let work: Lock<Work>

    override init(
        _ group: RequestGroup, level: Int, client: Client, settings: ClientSettings,
        keepsResults: Bool, observer: any TransferObserver, userData: UInt
    ) {
        work = Lock(Work(waiting: group.members.reversed()))
        super.init(
            group, level: level, client: client, settings: settings, keepsResults: keepsResults,
            observer: observer, userData: userData)
    }

    /// The progress of the steps known so far.
    package override var progress: Progress {
        let (sum, current, ended, count) = work.withLock { work in
            let rest = work.waiting.count + (work.next == nil ? 0 : 1)
            return (work.sum, work.current, work.ended, work.begun + rest)
        }
        var progress = Progress(sumOf: [sum, current?.progress].compactMap { $0 })
        progress.endedCount = Int32(clamping: ended)
        progress.memberCount = Int32(clamping: count)
        return progress
    }

    package override var result: GroupResult {
        work.withLock { GroupResult(members: $0.members, isFromCache: Self.isFromCache($0)) }
    }
    package override var isFromCache: Bool { work.withLock { Self.isFromCache($0) } }
    private static func isFromCache(_ work: Work) -> Bool {
        work.isFromCache && work.isOver && work.ended > 0
    }
    package override var firstFailed: Int? { work.withLock { $0.firstFailed } }

    override func name(of index: Int, isGroup: Bool) -> String {
        isGroup ? "Step \(index + 1), a group," : "Step \(index + 1)"
    }

    // MARK: Steps

    override func prepare() throws(WherryError) {
        // The other steps are created when they begin, with the settings of that time.
        guard let first = group.members.first else { return }
        let transfer = try make(first, 0, settings: settings)
        work.withLock { work in
            work.waiting.removeLast()
            work.current = transfer
            work.begun = 1
        }
    }

    override func abandon() {
        let current = work.withLock { work in
            defer { work.current = nil }
            return work.current
        }
        (current as? CompoundTransfer)?.abandon()
    }

    package override func begin(wake: Wake) {
        become(.running, quiet: true)
        noteStart("\(group.count) steps", [])
        guard let first = work.withLock({ $0.current }) else { return ask(nil) }
        work.withLock { $0.isAdvancing = true }
        if !first.tellsMoves { observer.transfer(self, isMoving: true) }
        start(first, 0)
        advance()
    }

    private func start(_ child: Transfer, _ index: Int) {
        do throws(WherryError) {
            try client.start(child)
            let isStopping = work.withLock { work in
                if work.current === child { work.isStarted = true }
                return work.wasCancelled
            }
            // Applies a pause or cancel that arrived before the step was started.
            if isStopping { child.cancel() }
            if isPaused { align([child]) }
        } catch {
            // Its members retain it until they end, but they never begin.
            (child as? CompoundTransfer)?.abandon()
            memberEnded(index, child, TransferOutcome(error: error))
        }
    }

    /// Begins steps while there is a next one. The caller has set `isAdvancing`.
    private func advance() {
        while true {
            let step = work.withLock { work -> (member: RequestGroup.Member, index: Int)? in
                guard let next = work.next else {
                    work.isAdvancing = false
                    return nil
                }
                work.next = nil
                work.begun += 1
                return (next, work.begun - 1)
            }
            guard let step else { return }
            do throws(WherryError) {
                let child = try make(step.member, step.index, settings: client.settings)
                work.withLock { work in
                    work.current = child
                    work.isStarted = false
                }
                // Poll a child that does not report its progress.
                observer.transfer(self, isMoving: !child.tellsMoves)
                start(child, step.index)
            } catch {
                work.withLock { $0.firstFailed = step.index }
                end(TransferOutcome(error: error))
            }
        }
    }

    /// Sets the next step.
    private func goOn(_ member: RequestGroup.Member) {
        let mayAdvance = work.withLock { work in
            work.next = member
            defer { work.isAdvancing = true }
            return !work.isAdvancing
        }
        if mayAdvance { advance() }
    }

    override func memberMoves(_ index: Int, isMoving: Bool) {
        observer.transfer(self, isMoving: isMoving)
    }

    override func memberEnded(_ index: Int, _ child: Transfer, _ outcome: TransferOutcome) {
        let last = Self.last(of: child)
        let isHit = Self.isHit(child, outcome)
        let member = Self.member(child, outcome)
        let wasCancelled = work.withLock { work in
            work.current = nil
            work.isStarted = false
            work.ended += 1
            work.sum = Progress(sumOf: [work.sum, last].compactMap { $0 })
            work.isFromCache = work.isFromCache && isHit
            if keepsResults { work.members.append(member) }
            if outcome.error != nil { work.firstFailed = index }
            return work.wasCancelled
        }
        observer.transfer(self, isMoving: false)
        emit(.progress(progress))
        if wasCancelled { return end(TransferOutcome(error: Self.cancelledError)) }
        if outcome.error != nil { return end(blame(index, child, outcome)) }
        ask(member)
    }

    // MARK: Next steps

    /// Asks the hook for the steps after `previous`; `nil` at the beginning.
    private func ask(_ previous: GroupResult.Member?) {
        become(.waiting, quiet: true)
        let call = HookCall(.next(previous)) { [self] resolution in
            work.withLock { $0.hookCall = nil }
            take(resolution)
        }
        let wasCancelled = work.withLock { work in
            work.hookCall = WeakHookCall(call: call)
            return work.wasCancelled
        }
        // The cancel came before the call was registered.
        if wasCancelled { return call.expire() }
        let clock = client.transport.clock
        let time = clock.now().advanced(by: .milliseconds(options[.hookTimeout]))
        client.transport.schedule(at: time) { [weak call] in call?.expire() }
        emit(.hook(call))
    }

    private func take(_ resolution: HookCall.Resolution) {
        guard !work.withLock({ $0.wasCancelled }) else {
            return end(TransferOutcome(error: Self.cancelledError))
        }
        become(.running, quiet: true)
        switch resolution {
        case .next(let member): goOn(member)
        case .stop: end(TransferOutcome())
        case .fail(let error): end(TransferOutcome(error: error))
        case .refuse(let message): end(TransferOutcome(error: WherryError(.refused, message)))
        case .standard, .adapted, .follow, .credentials, .store, .again, .save, .token:
            let next = work.withLock { $0.waiting.popLast() }
            if let next { goOn(next) } else { end(TransferOutcome()) }
        }
    }

    private func end(_ outcome: TransferOutcome) {
        work.withLock { work in
            work.isOver = true
            work.waiting = []
        }
        finish(outcome)
    }

    package override func performCancel(discarding: Bool) {
        let (current, call) = work.withLock { work in
            work.wasCancelled = true
            return (work.isStarted ? work.current : nil, work.hookCall?.call)
        }
        call?.expire()
        current?.cancel()
    }

    package override func applyPriority(_ priority: Int8) {
        work.withLock { $0.current }?.applyPriority(priority)
    }

    package override func applyPause() {
        let current = work.withLock { $0.isStarted ? $0.current : nil }
        if let current { align([current]) }
    }
}
