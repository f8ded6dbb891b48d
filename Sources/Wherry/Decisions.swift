// Wherry: questions of a transfer, answered by async closures.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// Answers to what a transfer asks on its way. Without a closure the rules decide.
///
/// The transfer waits for the answer and holds no thread meanwhile; after 30 seconds the rules
/// hold. A closure runs in a task of its own, which is cancelled when the transfer ends. Downloads
/// ask nothing: each of their attempts is made from the request as it was given.
public struct Decisions: Sendable {
    /// Asked before every attempt and after every redirect: returns the request to send, edited
    /// or as it is. Throwing ends the transfer with `refused`, and nothing is sent. After a redirect
    /// that takes the body along another one may be given; a form of parts stays as it was made.
    public var adapt: (@Sendable (Request) async throws -> Request)?

    /// Asked before a redirect is followed, with the answer that redirects and the request that the
    /// rules would send: its URL is the absolute target. What is returned is sent, as it is or with
    /// another URL, method, header or body; `nil` makes that answer the result, and throwing ends the
    /// transfer with `refused` (R19).
    ///
    /// A rewritten request is held to the rules of every redirect: it counts as one, credentials stay
    /// with their origin, from https to http it is `redirect_refused`, and so is the body of the request
    /// before at another origin. It can be given a body of JSON, a form, bytes or a file. Not asked
    /// where the rules follow nothing.
    public var redirect: (@Sendable (Response, Request) async throws -> Request?)?

    /// Asked where a server answers 401 and no credentials are known, or those that are were refused:
    /// returns others, for this request and this origin alone. `nil` makes the 401 the result; throwing
    /// ends the transfer with `refused`. At most eight times for one request.
    public var credentials: (@Sendable (CredentialsQuestion) async throws -> Credentials?)?

    /// What a server that wants credentials says.
    public struct CredentialsQuestion: Sendable {
        /// The 401.
        public let response: Response
        /// What the server calls the place that it guards, to be shown to a person; "" for nothing.
        public let realm: String
        /// How they will be sent: `basic` is the password itself.
        public let scheme: Credentials.Scheme
        /// How often this request has asked before, its answers having been refused.
        public let previousFailures: Int
    }

    /// Asked once, when the head of the answer has come: with status and fields, and without the body,
    /// which waits. What is returned becomes of it; throwing ends the transfer with `refused` (R21).
    ///
    /// Redirects that are followed are not asked about, nor a 401 that credentials or another token
    /// answer, nor a failure that another attempt follows: of an answer that could be one of these, and
    /// of one out of a cache, the question comes at the end, when its body is in memory. Once it was
    /// asked no other attempt follows. `responses`, `bodies` and the heads of streams are told after it.
    public var head: (@Sendable (Response) async throws -> Disposition)?

    /// Asked before an answer of the network goes into a cache, of each that would have it: whether
    /// it does, and with which header fields left out (K13). Throwing ends the transfer with
    /// `refused`. A 304 and an answer to HEAD, which only freshen what is stored, are not asked about.
    /// What is stale is then never validated in the background: the request waits for it.
    public var store: (@Sendable (Response) async throws -> Storing)?

    /// Asked after every failure that another attempt could follow, with the error, its answer in
    /// `error.response`, and how many attempts failed before (R31). Throwing ends the transfer with
    /// `refused`. Not asked of what could not be sent again: a body that is written as it goes, a
    /// stream whose head has been told.
    public var retry: (@Sendable (WherryError, Int) async throws -> Retrying)?

    /// Asked when the client's bearer token, or its want of one, is answered with 401: the token from
    /// now on, or `nil` to let the 401 stand (R32).
    ///
    /// Asked once for all requests that met it, of the first one, while the others wait; then all go
    /// again. At most two tokens for one request, and five questions in half a minute. Requests with
    /// an Authorization of their own do not take part.
    public var token: (@Sendable (Response) async throws -> String?)?

    /// What becomes of an answer whose head has come.
    public enum Disposition: Sendable, Hashable {
        /// It goes on, as if nobody had asked.
        case proceed
        /// The transfer ends with `refused`, and the connection with it; `error.response` has the head.
        case end
        /// The body goes to the file of that path, relative to the working directory, in place of
        /// memory or the stream: `Response.savedPath` tells where, and the body is empty.
        ///
        /// The file appears when it is whole, its content coding undone, as downloads do it and by
        /// the request's settings for them: `existingFile`, `savesIntoDirectory`,
        /// `makesDirectories`, `durability` and `keepsServerTime`. What cannot be written, or is there
        /// already, ends the transfer, and an answer that is cut leaves no file. `maxBodyBytes`, a
        /// limit of memory, does not count. What goes to a file as it comes is stored in no cache. An
        /// answer whose status is refused goes on, and makes no file.
        case save(to: String)
    }

    /// What follows a failure.
    public enum Retrying: Sendable, Hashable {
        /// What `Client.Configuration.maxRetries` and its rules say.
        case standard
        /// Another attempt after the usual wait, whatever the method.
        case again
        /// Another attempt after this time.
        case after(Duration)
        /// None: the failure stands.
        case giveUp
    }

    /// What becomes of an answer that could be stored. What it would have taken the place of is gone
    /// in any case.
    public enum Storing: Sendable, Hashable {
        /// All of it is stored.
        case store
        /// It is stored without the named header fields, whatever their case. In the HTTP cache no
        /// later 304 brings them back, and an answer without a field that its reuse needs is not
        /// stored at all: `Age`, `Cache-Control`, `Content-Encoding`, `Content-Length`,
        /// `Content-Location`, `Content-Range`, `Content-Type`, `Date`, `ETag`, `Expires`,
        /// `Last-Modified`, `Location`, `Vary`.
        case without([String])
        /// It is not.
        case skip
    }

    /// No question is asked until one of the closures is set.
    public init() {}

    /// Edits or refuses every request before it is sent.
    public static func adapting(
        _ adapt: @escaping @Sendable (Request) async throws -> Request
    ) -> Decisions {
        var decisions = Decisions()
        decisions.adapt = adapt
        return decisions
    }

    /// Decides about every redirect.
    public static func redirecting(
        _ redirect: @escaping @Sendable (Response, Request) async throws -> Request?
    ) -> Decisions {
        var decisions = Decisions()
        decisions.redirect = redirect
        return decisions
    }

    /// Gives credentials to servers that ask for them.
    public static func authenticating(
        _ credentials: @escaping @Sendable (CredentialsQuestion) async throws -> Credentials?
    ) -> Decisions {
        var decisions = Decisions()
        decisions.credentials = credentials
        return decisions
    }

    /// Decides about every answer when its head has come.
    public static func judgingHeads(
        _ head: @escaping @Sendable (Response) async throws -> Disposition
    ) -> Decisions {
        var decisions = Decisions()
        decisions.head = head
        return decisions
    }

    /// Decides about everything that could be stored.
    public static func storing(
        _ store: @escaping @Sendable (Response) async throws -> Storing
    ) -> Decisions {
        var decisions = Decisions()
        decisions.store = store
        return decisions
    }

    /// Decides about every failure.
    public static func retrying(
        _ retry: @escaping @Sendable (WherryError, Int) async throws -> Retrying
    ) -> Decisions {
        var decisions = Decisions()
        decisions.retry = retry
        return decisions
    }

    /// Gets a new bearer token when the old one is refused.
    public static func refreshingToken(
        _ token: @escaping @Sendable (Response) async throws -> String?
    ) -> Decisions {
        var decisions = Decisions()
        decisions.token = token
        return decisions
    }

    /// What is to be asked.
    var set: DecisionSet {
        var set: DecisionSet = []
        if adapt != nil { set.insert(.adapt) }
        if redirect != nil { set.insert(.redirect) }
        if retry != nil { set.insert(.retry) }
        if credentials != nil { set.insert(.credentials) }
        if head != nil { set.insert(.head) }
        if store != nil { set.insert(.store) }
        if token != nil { set.insert(.token) }
        return set
    }
}

extension Client {
    /// Who answers the questions of requests started afterwards; `nil`, the default, asks none.
    ///
    /// A request sent with decisions of its own takes only those. While there are any, `perform`
    /// throws `state`, since it could not wait for them.
    public func setDecisions(_ decisions: Decisions?) throws(WherryError) {
        extras.withLock { $0 = decisions }
        try update { values throws(WherryError) in values.decisions = decisions?.set ?? [] }
    }

    /// The closures for a request: its own, else the client's.
    func decisions(_ own: Decisions?, for request: inout Request) -> Decisions? {
        if let own { request.decisions = own.set }
        return own ?? extras.withLock { $0 as? Decisions }
    }
}

/// Runs the closures for the questions of one transfer.
final class DecisionResponder: Sendable {
    private struct State {
        /// The task of the question being answered; a transfer asks one at a time.
        var task: Task<Void, Never>?
        var isStopped = false
    }
    private let decisions: Decisions
    private let state = Lock(State())

    init(_ decisions: Decisions) { self.decisions = decisions }

    /// Answers in a task; letting go of the question lets the rules decide.
    func answer(_ decision: Decision) {
        let task = Task { [decisions] in
            let answer = await Self.answer(decision.kind, decisions)
            do {
                try decision.answer(answer)
            } catch {
                // Too late: the time for it was over, or the transfer has ended.
            }
        }
        let isStopped = state.withLock { state in
            state.task = task
            return state.isStopped
        }
        if isStopped { task.cancel() }
    }

    private static func answer(
        _ kind: Decision.Kind, _ decisions: Decisions
    ) async -> Decision.Answer {
        do {
            switch kind {
            case .adapt(let request):
                guard let adapt = decisions.adapt else { return .standard }
                return .adapted(try await adapt(request))
            case .redirect(let response, let next):
                guard let redirect = decisions.redirect else { return .standard }
                return try await redirect(response, next).map { .adapted($0) } ?? .follow(false)
            case .credentials(let response, let realm, let scheme, let before):
                guard let credentials = decisions.credentials else { return .standard }
                let question = Decisions.CredentialsQuestion(
                    response: response, realm: realm, scheme: scheme, previousFailures: before)
                return try await credentials(question).map { .credentials($0) } ?? .standard
            case .store(let response):
                guard let store = decisions.store else { return .standard }
                switch try await store(response) {
                case .store: return .store(true, without: [])
                case .without(let names): return .store(true, without: names)
                case .skip: return .store(false, without: [])
                }
            case .head(let response, let place):
                guard let head = decisions.head else { return .standard }
                switch try await head(response) {
                case .proceed: return .standard
                case .end: return .refuse("The answer was refused when its head had come")
                case .save(let path):
                    do throws(WherryError) {
                        return .save(try place.target(path))
                    } catch {
                        return .fail(error)
                    }
                }
            case .retry(let error, let retries):
                guard let retry = decisions.retry else { return .standard }
                switch try await retry(error, retries) {
                case .standard: return .standard
                case .again: return .again(true, after: nil)
                case .after(let wait):
                    return .again(true, after: .milliseconds(max(0, wait.settingMilliseconds)))
                case .giveUp: return .again(false, after: nil)
                }
            case .token(let response):
                guard let token = decisions.token else { return .standard }
                return .token(try await token(response))
            case .next, .respond: return .standard
            }
        } catch let error as WherryError {
            return .refuse(error.message)
        } catch {
            return .refuse("The request was refused: \(error)")
        }
    }

    /// The transfer has ended: nobody needs an answer.
    func stop() {
        let task = state.withLock { state in
            state.isStopped = true
            return state.task
        }
        task?.cancel()
    }
}
