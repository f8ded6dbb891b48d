// Wherry: the base class of groups and chains.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherryRequests
import WherrySystem
import WherryTransport

/// The base class of groups and chains. Their members are ordinary transfers that the client
/// manages and the observer sees. The end of the group is reported after the end of its members.
package class CompoundTransfer: Transfer, @unchecked Sendable {  // subclasses guard what they add
    package let group: RequestGroup
    /// Whether to keep the results of members until the end.
    let keepsResults: Bool
    /// The nesting depth within other groups.
    let level: Int

    init(
        _ group: RequestGroup, level: Int, client: Client, settings: ClientSettings,
        keepsResults: Bool, observer: any TransferObserver, userData: UInt
    ) {
        self.group = group
        self.level = level
        self.keepsResults = keepsResults
        var request = Request("")
        request.userInfo = group.userInfo
        super.init(
            .group, request, client: client, settings: settings, options: settings.options,
            observer: observer, userData: userData)
    }

    package override final var method: String { "" }
    package override final var url: String { "" }
    package override final var tellsMoves: Bool { true }

    /// The results so far; without members if results are not kept.
    package var result: GroupResult { GroupResult(members: [], isFromCache: false) }
    /// Whether all results came from a cache.
    package var isFromCache: Bool { false }
    /// The first failed member, in the order of adding; `nil` if none failed.
    package var firstFailed: Int? { nil }

    /// Creates the members to send first, without starting them. Throws if a member cannot be sent.
    func prepare() throws(WherryError) {}
    /// Releases members that will never start, to break the reference cycle with this object.
    func abandon() {}
    /// Handles new progress of a member. `isMoving`: whether it keeps changing.
    func memberMoves(_ index: Int, isMoving: Bool) {}
    /// Handles the end of a member, which the observer has already received.
    func memberEnded(_ index: Int, _ child: Transfer, _ outcome: TransferOutcome) {}
    /// Returns a name such as "Request 2 of 5".
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

    /// Returns the final progress of a completed member.
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

    static func member(_ child: Transfer, _ outcome: TransferOutcome) -> GroupResult.Member {
        if let error = outcome.error { return .failed(error) }
        if let inner = child as? CompoundTransfer { return .group(inner.result) }
        if let response = outcome.response { return .response(response) }
        return .failed(WherryError(.internal, "A member of a group ended without a response"))
    }

    /// Returns the failure of a member as the failure of the group, with the member's name.
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

/// Forwards the events of a member, and handles its end.
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
        // The events of nested members pass through here too.
        guard transfer.observer === self, case .done(let outcome) = event else { return }
        parent.memberEnded(index, transfer, outcome)
    }

    func transfer(_ transfer: Transfer, isMoving: Bool) {
        parent.memberMoves(index, isMoving: isMoving)
    }
}
