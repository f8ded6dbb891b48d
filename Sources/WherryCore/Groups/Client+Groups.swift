// Wherry: the start of request groups.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherryRequests

extension Client {
    /// Starts a group. Throws if an error of any member is detectable before the start; no member
    /// is started then.
    ///
    /// - Parameters:
    ///   - keepsResults: Whether the transfer's `result` contains the responses of the members.
    ///   - willBegin: Called before the first event, once the start can no longer fail.
    package func send(
        _ group: RequestGroup, keepsResults: Bool, observer: any TransferObserver,
        userData: UInt = 0, willBegin: (CompoundTransfer) -> Void = { _ in }
    ) throws(WherryError) -> CompoundTransfer {
        do throws(WherryError) {
            let transfer = try makeGroup(
                group, level: 1, settings: settings, keepsResults: keepsResults, observer: observer,
                userData: userData)
            do throws(WherryError) {
                try start(transfer) { _ in willBegin(transfer) }
            } catch {
                transfer.abandon()
                throw error
            }
            return transfer
        } catch {
            note(.error, .refused, [.everybody("Group can not be started:\(error.message)")]) {
                $0.reason = error.reason
                $0.error = error
            }
            throw error
        }
    }

    private func makeGroup(
        _ group: RequestGroup, level: Int, settings: ClientSettings, keepsResults: Bool,
        observer: any TransferObserver, userData: UInt
    ) throws(WherryError) -> CompoundTransfer {
        let transfer: CompoundTransfer =
            group.policy == .chain
            ? ChainTransfer(
                group, level: level, client: self, settings: settings, keepsResults: keepsResults,
                observer: observer, userData: userData)
            : GroupTransfer(
                group, level: level, client: self, settings: settings, keepsResults: keepsResults,
                observer: observer, userData: userData)
        try transfer.prepare()
        return transfer
    }

    /// Creates the transfer of a member without starting it.
    func makeMember(
        _ member: RequestGroup.Member, of parent: CompoundTransfer, settings: ClientSettings,
        observer: any TransferObserver
    ) throws(WherryError) -> Transfer {
        switch member.content {
        case .request(let request):
            return try makeTransfer(
                request, settings: settings, observer: observer, userData: member.userData)
        case .group(let group):
            // The depth of chain steps is known only now.
            guard parent.level + group.depth <= RequestGroup.mostDepth else { throw .tooDeepGroups }
            return try makeGroup(
                group, level: parent.level + 1, settings: settings,
                keepsResults: parent.keepsResults, observer: observer, userData: member.userData)
        }
    }
}
