// Wherry: chains, whose steps are told on the way.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

extension RequestGroup {
    /// What follows a step of a chain.
    public enum Step: Sendable {
        /// This request.
        case request(Request)
        /// This group, which counts as one step.
        case group(RequestGroup)
        /// The next of those that were added, or the end where none is left.
        case next
        /// The end: the chain is done.
        case stop
    }

    /// A chain whose steps a closure tells (R35).
    ///
    ///     let chain = RequestGroup { previous in
    ///         guard let login = previous?.response else { return .request(Request("login")) }
    ///         ...
    ///     }
    ///     let steps = try await client.send(chain).responses
    ///
    /// - Parameter next: asked before the first step, unless one was added, and after each, with
    ///   what that brought; `nil` before the first. It runs in a task of its own, which is
    ///   cancelled with the chain, and has as long as a decision has. What it throws ends the
    ///   chain: a `WherryError` as it is, anything else as `refused`.
    public init(chain next: @escaping @Sendable (GroupAnswer.Member?) async throws -> Step) {
        self.init(.chain)
        self.next = ChainSteps(next: next)
    }
}

/// The closure of a chain, as its group carries it.
struct ChainSteps: Sendable {
    let next: @Sendable (GroupAnswer.Member?) async throws -> RequestGroup.Step

    func answer(to previous: GroupAnswer.Member?) async -> Decision.Answer {
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
            return .refuse("The chain was ended: \(error)")
        }
    }
}
