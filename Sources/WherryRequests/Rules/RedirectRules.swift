// Wherry: the rules for following redirects.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherryTransport

/// Decides how to handle a redirect response. Pure functions.
package enum RedirectRules {
    package enum Step: Sendable {
        /// Return the response: it does not redirect, or redirects are not followed.
        case deliver
        case follow(Hop)
        case fail(WherryError)
    }

    /// The request that follows a redirect.
    package struct Hop: Sendable {
        package var url: HTTPURL
        package var method: String
        package var keepsBody: Bool
        /// Whether the scheme, host or port differs: credentials are not sent.
        package var isCrossOrigin: Bool
    }

    /// Returns how to handle a response.
    ///
    /// - Parameters:
    ///   - origin: The origin of the first request, which the credentials belong to.
    ///   - bodyOrigin: The origin that the body belongs to; `nil` for `origin`.
    ///   - hops: The number of redirects followed so far.
    package static func step(
        head: ResponseHead, method: String, url: HTTPURL, origin: Origin, bodyOrigin: Origin? = nil,
        hops: Int, limit: Int64, hasBody: Bool, bodyIsReplayable: Bool, mayCrossWithBody: Bool
    ) -> Step {
        guard limit > 0, redirects(head.status),
            let location = head.reference("location"), !location.isEmpty
        else { return .deliver }
        guard hops < Int(limit) else {
            return .fail(
                WherryError(
                    .tooManyRedirects,
                    "\(origin.text) redirected more than \(limit) times, the last time to \(HTTPURL.redacted(location)). "
                        + OptionAdvice.maxRedirects.text
                ))
        }
        let target: HTTPURL
        do {
            target = try url.resolving(location)
        } catch {
            return .fail(
                WherryError(
                    .redirectRefused,
                    "\(url.origin.text) redirects to a URL that is not http or https: \(HTTPURL.redacted(location))"
                ))
        }
        if let refusal = downgrade(from: url, to: target, shown: location) { return .fail(refusal) }
        // RFC 9110 15.4: 303 changes the method to GET. 301 and 302 do so for POST, as in all
        // clients.
        let becomesGet =
            method != "HEAD"
            && (head.status == 303
                || (method == "POST" && (head.status == 301 || head.status == 302)))
        let keepsBody = !becomesGet && hasBody
        let isCross = target.origin != origin
        if keepsBody && !bodyIsReplayable {
            return .fail(
                WherryError(
                    .redirectRefused,
                    "Could not follow the redirect of \(url.origin.text): the request body cannot be sent again. Use bytes or a file."
                ))
        }
        if keepsBody && target.origin != bodyOrigin ?? origin && !mayCrossWithBody {
            return .fail(bodyCrosses(from: url, to: target))
        }
        return .follow(
            Hop(
                url: target, method: becomesGet ? "GET" : method, keepsBody: keepsBody,
                isCrossOrigin: isCross))
    }

    /// Returns the hop for a redirect whose request the program rewrote. The usual redirect rules
    /// apply.
    ///
    /// - Parameter keepsBody: Whether the body is that of the previous hop. A new body may go to
    ///   any origin, since the program chose it.
    package static func rewritten(
        to target: HTTPURL, method: String, keepsBody: Bool, from url: HTTPURL, origin: Origin,
        bodyOrigin: Origin, mayCrossWithBody: Bool
    ) throws(WherryError) -> Hop {
        if let refusal = downgrade(from: url, to: target, shown: target.text) { throw refusal }
        let isCross = target.origin != origin
        if keepsBody && target.origin != bodyOrigin && !mayCrossWithBody {
            throw bodyCrosses(from: url, to: target)
        }
        return Hop(url: target, method: method, keepsBody: keepsBody, isCrossOrigin: isCross)
    }

    /// Returns an error for a redirect from https to http, which would expose protected data
    /// (SEC-U4).
    private static func downgrade(
        from url: HTTPURL, to target: HTTPURL, shown: String
    ) -> WherryError? {
        guard url.origin.isSecure, !target.origin.isSecure else { return nil }
        return WherryError(
            .redirectRefused,
            "The redirect of \(url.origin.text) from https to http is not followed: \(HTTPURL.redacted(shown))"
        )
    }

    private static func bodyCrosses(from url: HTTPURL, to target: HTTPURL) -> WherryError {
        WherryError(
            .redirectRefused,
            "\(url.origin.text) redirects the body of the request to another origin, \(target.origin.text). "
                + OptionAdvice.keepAuthAcrossHosts.text)
    }

    /// Returns whether a status code is a redirect (RFC 9110 15.4).
    package static func redirects(_ status: Int) -> Bool {
        switch status {
        case 301, 302, 303, 307, 308: true
        default: false
        }
    }
}
