// Wherry: the events and actions of a request.
// SPDX-License-Identifier: Apache-2.0

import WherryCache
import WherryDownloads
import WherryHTTP
import WherrySystem
import WherryTransport

/// An event of a request's life. An event that does not fit the machine's phase is ignored.
///
/// Large values of rare events are `indirect`, so that the frequent ones are moved fast.
package enum RequestEvent: Sendable {
    /// The transfer starts.
    case start
    /// The caller cancels the transfer.
    case cancel
    /// The caller pauses or resumes the transfer.
    case pause(Bool)
    /// The caller changes the priority.
    case priority(Int8)
    /// An action failed, so that the transfer cannot continue.
    case failed(WherryError)

    // Before an exchange
    /// The timed cache was looked up; `nil` if it has no usable response.
    case lookedUp(Response?)
    /// The timed cache has a response that the request does not accept.
    indirect case foundTooLarge(Response, TransportError)
    /// The images are encoded.
    indirect case encoded(PreparedBody)
    /// A step of the preparation is done.
    indirect case prepared(RequestPreparation, PreparedBody)
    /// The credentials need this digest of the body.
    case lacksIntegrity(DigestAlgorithm)
    /// The next exchange is ready.
    case built
    /// The HTTP cache has no usable response, and the exchange is ready.
    case planned
    /// The HTTP cache has this response. With it, what a 401 response demands.
    indirect case cached(ExchangeResult, Response.CacheMarks, Authentication.Step?)
    /// The HTTP cache has no response, and the request must not use the network.
    case gatewayTimeout
    /// A network reaches the host, or the wait is not needed.
    case reachable
    /// The sent body was rewound, or cannot be.
    case rewound(Bool)

    // An exchange
    /// The headers of a response have arrived. `challenge` says what a 401 response demands, and
    /// `mayBeReplaced` whether a cached response may replace this one.
    case head(ResponseHead, challenge: Authentication.Step?, mayBeReplaced: Bool)
    /// A piece of the body is about to be delivered.
    case piece(Int)
    /// The exchange has ended.
    case ended(ExchangeResult)
    /// The HTTP cache leaves the result as it is.
    indirect case unchanged(ExchangeResult)
    /// The HTTP cache has examined a result. `deliveredBytes` is the size of a body that was delivered
    /// in pieces.
    indirect case outcome(CacheOutcome, ExchangeResult, deliveredBytes: Int?)
    /// The HTTP cache is updated. The response belongs to this URL.
    indirect case applied(HTTPURL, Authentication.Step?)
    /// The file of a body that will not be complete is removed. With it, the error of a write.
    case abandoned(DownloadError?)
    /// The file of a body is complete.
    indirect case published(Result<String, DownloadError>)

    // After an exchange
    /// A complete response was checked; `nil` for a success.
    case checked(WherryError?)
    /// The delay before a retry; `nil` to give up.
    case delay(Int64?)
    /// A retry delay has passed.
    case timer(UInt64)
    /// The result of the refresh of the client's token, for a request that waits for it.
    case token(UInt64, TokenVerdict)
    /// The timed cache asks whether to store this response.
    case storable(Response)
    /// The timed cache is done with this response.
    case kept(Response)

    // Hooks of the program
    /// The default applies.
    case standard
    /// The program ends the transfer with this message.
    case refused(String)
    indirect case edited(RequestHop.Edit)
    /// The redirect is followed, or is the final response.
    case followed(Bool)
    indirect case rewritten(RequestHop.Rewrite)
    /// Whether the credentials of the program fit the challenge.
    case authenticated(Bool)
    indirect case headersResolved(HeadersResolution, ResponseHead)
    /// Whether to store the response, and the headers to leave out.
    case stores(Bool, without: [String])
    /// The program's new token, which is the client's now.
    case tokenSupplied(String)
}

/// A step of the preparation of a body.
package enum RequestPreparation: Hashable, Sendable {
    /// The content coding.
    case coding
    /// The digests that are sent as headers.
    case digests
    /// The digest that Digest authentication covers.
    case integrity(DigestAlgorithm)
}

/// The result of the hook for the response headers.
package enum HeadersResolution: Sendable {
    case proceed
    /// End the transfer with this outcome, whatever happens to the exchange.
    case end(TransferOutcome)
    /// Save the body to a file.
    case save
}

package enum TokenVerdict: Sendable, Equatable {
    /// Send the request again with this token.
    case replay(String)
    /// Ask the program for a new token.
    case refresh
    /// There is no new token.
    case giveUp
}

/// A hook of the program to call.
package enum RequestHook: Sendable {
    /// The request of the next attempt.
    case edit
    /// The redirect response, the request that would follow it, and its hop.
    case redirect(Response, Request, RedirectRules.Hop)
    /// A 401 response and its challenge, and how often the program was asked before.
    case credentials(Response, AuthChallenge, before: Int)
    /// The headers of a response whose body is in memory.
    case headers(Response)
    /// A failure, and the number of retries so far.
    case retry(WherryError, retries: Int)
    /// The response to be stored.
    case store(Response)
    /// The 401 response to the client's token.
    case token(Response)
}

/// What to do with the body of a response.
package enum RequestBodyUse: Hashable, Sendable {
    /// Collect it; `reportsHeaders` says whether to report the headers now.
    case collect(reportsHeaders: Bool)
    /// Deliver it in pieces.
    case deliver(reportsHeaders: Bool)
    /// Save it to the file that the program chose.
    case save(reportsHeaders: Bool)
    /// Discard it.
    case discard
    /// Discard it, but keep the bytes that were read for the HTTP cache.
    case skim
    /// Read nothing until the hook has returned.
    case wait
}

/// The reason for another exchange.
package enum RequestResend: Sendable {
    /// A redirect, with its headers, the URL and the origin before it.
    case redirect(ResponseHead, from: HTTPURL)
    /// A challenge for credentials. The response is the outcome if the body cannot be sent again.
    case challenge(Response)
    /// A retry after a delay.
    case retry
    /// A new token of the client.
    case token
}

/// A step that the machine requests. Each event returns one.
package enum RequestAction: Sendable {
    /// Do nothing; another event follows, or the transfer has ended.
    case none
    /// Look up the timed cache. Event: ``RequestEvent/lookedUp(_:)`` or
    /// ``RequestEvent/foundTooLarge(_:_:)``.
    case lookUp
    /// Encode the images. Event: ``RequestEvent/encoded(_:)``.
    case encode
    /// Call a hook of the program. Event: one of the results of hooks.
    indirect case callHook(RequestHook)
    /// Prepare the body. Event: ``RequestEvent/prepared(_:_:)``.
    case prepare(RequestPreparation)
    /// Build the exchange. Event: ``RequestEvent/built`` or ``RequestEvent/lacksIntegrity(_:)``.
    case build
    /// Look up the HTTP cache. Event: ``RequestEvent/planned``, ``RequestEvent/cached(_:_:_:)``, or
    /// ``RequestEvent/gatewayTimeout``.
    case consult
    /// Build the exchange that another plan of the HTTP cache needs. Event:
    /// ``RequestEvent/planned``.
    case plan(NetworkPlan)
    /// Wait for the network. Event: ``RequestEvent/reachable``.
    case awaitNetwork
    /// Start the exchange. Event: ``RequestEvent/ended(_:)``, after those of the response.
    case launch(isFirst: Bool)
    /// Use the body of the response this way.
    case receive(RequestBodyUse)
    /// Use the body of the response with these headers this way; it has waited for the program.
    case resumeBody(RequestBodyUse, ResponseHead)
    /// Pause or resume the exchange.
    case setPaused(Bool)
    /// Change the priority of the exchange.
    case setPriority(Int8)
    /// Cancel the exchange.
    case cancelExchange
    /// Stop what is in progress: the exchange, the wait for the network, the hook.
    case stop
    /// Remove the file of the body. Event: ``RequestEvent/abandoned(_:)``.
    case abandon
    /// Complete the file of a body of this length. Event: ``RequestEvent/published(_:)``.
    case publish(length: Int64)
    /// Write the body of this response to the file. Event: ``RequestEvent/published(_:)``.
    case save(Response)
    /// Pass the result to the HTTP cache. Event: ``RequestEvent/unchanged(_:)`` or
    /// ``RequestEvent/outcome(_:_:deliveredBytes:)``.
    indirect case settle(ExchangeResult)
    /// Update the HTTP cache, and log the storing of a body of this size. Event:
    /// ``RequestEvent/applied(_:_:)``.
    indirect case apply(CacheOutcome, bytes: Int, isDelivered: Bool)
    /// Rewind the body if it was sent. Event: ``RequestEvent/rewound(_:)``.
    indirect case resend(RequestResend, rewinds: Bool)
    /// Check the response. Event: ``RequestEvent/checked(_:)``.
    case check(Response, isSaved: Bool)
    /// Choose the delay of a retry. Event: ``RequestEvent/delay(_:)``.
    case chooseDelay(WherryError, retries: Int)
    /// Wait before a retry. Event: ``RequestEvent/timer(_:)`` with the number of the wait.
    case wait(Int64, UInt64, WherryError)
    /// Refresh the client's token. Event: ``RequestEvent/token(_:_:)`` with the number of the wait.
    case refreshToken(UInt64)
    /// Store the response in the timed cache if it belongs there. Event:
    /// ``RequestEvent/storable(_:)`` or ``RequestEvent/kept(_:)``.
    case keep(Response)
    /// Store the response in the timed cache, without these headers. Event:
    /// ``RequestEvent/kept(_:)``.
    case write(Response, without: [String])
    /// Remove the entry of the timed cache. Event: ``RequestEvent/kept(_:)``.
    case forget(Response)
    /// End the transfer. Always the last action. `reportsHeaders` says whether to report the headers
    /// first.
    case finish(TransferOutcome, reportsHeaders: Bool)
}
