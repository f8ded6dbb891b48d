// Wherry: the phases of a request.
// SPDX-License-Identifier: Apache-2.0

import WherryCache
import WherryHTTP
import WherryTransport

extension RequestMachine {
    /// The tests contain these exits as a table. callingHook names the hook.
    package enum Phase: Sendable {
        /// Waits for the start. Exits: looking, encoding, callingHook (edit), preparing, building, ended.
        case idle
        /// Looks up the timed cache. Exits: encoding, callingHook (headers), preparing, building, ended.
        case looking
        /// Encodes images. Exits: callingHook (edit), preparing, building, ended.
        case encoding
        /// Waits for the program. Exits depend on the hook.
        indirect case callingHook(PendingHook)
        /// Prepares the body. Exits: preparing (the next step), building, ended.
        case preparing
        /// Builds the exchange. Exits: preparing (a digest), consulting, offline, exchanging,
        /// ended.
        case building
        /// Looks up the HTTP cache. Exits: offline, exchanging, or those of an arrival.
        case consulting
        /// Waits for the network. Exits: exchanging, ended.
        case offline
        /// The exchange is in progress. Exits: saving, settling, callingHook (edit) or building for the
        /// next base URL, or those of an arrival.
        case exchanging
        /// The file of the body is being completed or removed. Exits: settling, checking, ended.
        indirect case saving(Saving)
        /// The HTTP cache examines the result. Exits: callingHook (storeHTTP), applying, or those of an
        /// arrival.
        case settling
        /// The HTTP cache is updated. Exits: consulting (again), or those of an arrival.
        indirect case applying(CacheOutcome, ExchangeResult, Applying)
        /// The request is about to be sent again. Exits: callingHook (edit), preparing, building, ended.
        indirect case resending(RequestResend)
        /// A complete response is checked. Exits: callingHook (retry, headers), choosing, keeping,
        /// ended.
        case checking(Response)
        /// The delay of a retry is chosen. Exits: delaying, callingHook (headers), ended.
        indirect case choosing(Failure)
        /// Waits before a retry. Exits: resending, ended.
        indirect case delaying(Failure)
        /// Waits for the token that another request has asked for. Exits: callingHook (token, headers),
        /// resending, checking, keeping, ended.
        case refreshing(Response)
        /// The timed cache stores the response, or removes its entry. Exits: callingHook (storeTimed,
        /// headers), ended.
        indirect case keeping(TransferOutcome?)
        /// Final.
        case ended
    }

    /// A response, from the network or a cache. It leads to resending, refreshing, callingHook (redirect,
    /// credentials, retry, headers), checking, choosing, keeping, or ended.
    package struct Arrival: Sendable {
        let head: ResponseHead
        let result: ExchangeResult
        let marks: Response.CacheMarks
    }

    /// A failed attempt, with the bytes sent and received in all attempts.
    package struct Failure: Sendable {
        let outcome: TransferOutcome
        let wire: (sent: Int64, received: Int64)
    }

    /// A hook that was called, with what its result needs.
    package enum PendingHook: Sendable {
        /// Exits: preparing, building, looking, ended.
        case edit
        /// Exits: those of an arrival.
        case redirect(RedirectRules.Hop, Arrival)
        /// Exits: resending, refreshing, checking, keeping, callingHook (headers), ended.
        case credentials(Arrival)
        /// Exits: saving, ended.
        case headers(TransferOutcome)
        /// Exits: choosing, delaying, callingHook (headers), ended.
        case retry(Failure)
        /// Exit: applying.
        case storeHTTP(CacheOutcome, ExchangeResult)
        /// Exits: keeping, ended.
        case storeTimed(Response)
        /// Exits: resending, checking, keeping, callingHook (headers), ended.
        case token(Response)
    }

    package enum Saving: Sendable {
        /// The exchange failed, or its body may be truncated.
        case abandoning(ExchangeResult)
        case publishing(ExchangeResult)
        /// The body was in memory.
        case publishingWhole(TransferOutcome)
    }

    package enum Applying: Sendable {
        case response
        /// The body was delivered in pieces.
        case delivered
        /// The program refused, with this message.
        case refused(String)
    }

    /// The report of the response headers. Only those of the final response are reported, once.
    enum HeaderReport: Sendable {
        /// Exits: deferred, reported.
        case pending
        /// Deferred until the end, if the response is final. Exits: reported, pending (another
        /// exchange).
        case deferred
        /// Final.
        case reported
    }

    /// The state of the hook for the response headers.
    enum HeadersHook: Sendable {
        /// The hook was not called. Exit: awaited.
        case none
        /// The body waits for the hook. Exits: all that follow.
        case awaited
        /// Continue as if there were no hook.
        case proceeds
        /// End with this outcome, whatever happens to the exchange.
        case ends(TransferOutcome)
        /// Save the body. Exits: saved, proceeds.
        case saves
        /// The complete body is in this file.
        case saved(path: String)
    }

    /// How a request uses the caches.
    package struct Caches: Sendable {
        /// Whether to look up the timed cache.
        package var looksUp = false
        /// Whether to look up the HTTP cache before each hop.
        package var usesHTTP = false
        /// Whether a response may be stored in the timed cache.
        package var keeps = false

        package init() {}
    }
}
