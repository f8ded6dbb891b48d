// Wherry: a transfer whose parts are transfers.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem
import WherryTransport

/// What groups and chains have in common: members that are ordinary transfers, which the client
/// knows and the observer hears of. The end of the whole is told after theirs.
package class CompoundTransfer: Transfer, @unchecked Sendable {  // subclasses guard what they add
    package let group: RequestGroup
    /// Whether what members brought is kept until the end.
    let keepsAnswers: Bool
    /// How deep it stands in others.
    let level: Int

    init(
        _ group: RequestGroup, level: Int, client: Client, settings: ClientSettings,
        keepsAnswers: Bool, observer: any TransferObserver, userData: UInt
    ) {
        self.group = group
        self.level = level
        self.keepsAnswers = keepsAnswers
        super.init(
            .group, Request(""), client: client, settings: settings, options: settings.options,
            observer: observer, userData: userData)
    }

    package override final var method: String { "" }
    package override final var url: String { "" }
    package override final var tellsMoves: Bool { true }

    /// What has come so far; where answers are not kept, without members.
    package var answer: GroupAnswer { GroupAnswer(members: [], isFromCache: false) }
    /// Whether all has come from a cache.
    package var isFromCache: Bool { false }
    /// The member that failed first, by the order of adding; `nil` if none did.
    package var firstFailed: Int? { nil }

    /// Makes what is sent first; nothing starts. Throws what a member could not be sent for.
    func prepare() throws(WherryError) {}
    /// Lets go of members that will never start: they hold this transfer, which holds them.
    func abandon() {}
    /// A member's progress is another, and goes on changing where it is moving.
    func memberMoves(_ index: Int, isMoving: Bool) {}
    /// A member has ended, and the observer has heard of it.
    func memberEnded(_ index: Int, _ child: Transfer, _ outcome: TransferOutcome) {}
    /// "Request 2 of 5".
    func name(of index: Int, isGroup: Bool) -> String { "" }

    // MARK: For subclasses

    final func make(
        _ member: RequestGroup.Member, _ index: Int, settings: ClientSettings
    ) throws(WherryError) -> Transfer {
        do throws(WherryError) {
            return try client.makeMember(
                member, of: self, settings: settings, observer: MemberObserver(self, index))
        } catch {
            let name = name(of: index, isGroup: member.isGroup)
            throw error.with { $0.message = "\(name) cannot be sent: \(error.message)" }
        }
    }

    /// How far a member came that has ended.
    static func last(of child: Transfer) -> Progress {
        var last = child.progress
        last.total = last.total ?? last.completed
        last.bytesPerSecond = nil
        last.remaining = nil
        return last
    }

    static func isHit(_ child: Transfer, _ outcome: TransferOutcome) -> Bool {
        if let inner = child as? CompoundTransfer { return inner.isFromCache }
        return outcome.response.map { $0.isFromCache && !$0.isRevalidated } ?? false
    }

    static func member(_ child: Transfer, _ outcome: TransferOutcome) -> GroupAnswer.Member {
        if let error = outcome.error { return .failed(error) }
        if let inner = child as? CompoundTransfer { return .group(inner.answer) }
        if let response = outcome.response { return .response(response) }
        return .failed(WherryError(.internal, "A member of a group ended without an answer"))
    }

    /// The failure of a member as that of the whole: it names the member.
    final func blame(
        _ index: Int, _ child: Transfer, _ outcome: TransferOutcome
    ) -> TransferOutcome {
        guard let error = outcome.error else { return outcome }
        var name = name(of: index, isGroup: child.kind == .group)
        if child.kind != .group { name += ", \(child.method) \(child.url)," }
        return TransferOutcome(
            response: outcome.response,
            error: error.with { fields in
                fields.message = "\(name) failed: \(error.message)"
                fields.underlying = [error]
            })
    }
}

/// Hands on what is told of a member, and hears of its end.
private final class MemberObserver: TransferObserver {
    private let parent: CompoundTransfer
    private let index: Int

    init(_ parent: CompoundTransfer, _ index: Int) {
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

    func transfer(_ transfer: Transfer, isMoving: Bool) {
        parent.memberMoves(index, isMoving: isMoving)
    }
}
