// Wherry: chains with steps from a closure.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

extension RequestGroup {
    /// The next step of a chain.
    public enum Step: Sendable {
        /// Send this request.
        case request(Request)
        /// Send this group, which counts as one step.
        case group(RequestGroup)
        /// Continue with the next added member, or end if there is none.
        case next
        /// End the chain successfully.
        case stop
    }

    /// Creates a chain whose steps a closure chooses.
    ///
    ///     let chain = RequestGroup { previous in
    ///         guard let login = previous?.response else { return .request(Request("login")) }
    ///         ...
    ///     }
    ///     let steps = try await client.send(chain).responses
    ///
    /// - Parameter next: Called before the first step, unless a member was added, with `nil`, and
    ///   after each step with its result. Runs in a new task that is cancelled with the chain, with
    ///   the timeout of a hook. A thrown error ends the chain: a `WherryError` unchanged,
    ///   anything else as `refused`.
    public init(chain next: @escaping @Sendable (GroupResult.Member?) async throws -> Step) {
        self.init(.chain)
        self.next = ChainSteps(next: next)
    }
}

/// The closure of a chain, stored in its group.
struct ChainSteps: Sendable {
    let next: @Sendable (GroupResult.Member?) async throws -> RequestGroup.Step

    func resolution(after previous: GroupResult.Member?) async -> HookCall.Resolution {
        do {
            switch try await next(previous) {
            case .request(let request):
                return .next(RequestGroup.Member(content: .request(request), userData: 0))
            case .group(let group):
                return .next(RequestGroup.Member(content: .group(group), userData: 0))
            case .next: return .standard
            case .stop: return .stop
            }
        } catch let error as WherryError {
            return .fail(error)
        } catch {
            return .refuse("The program stopped the chain: \(error)")
        }
    }
}
