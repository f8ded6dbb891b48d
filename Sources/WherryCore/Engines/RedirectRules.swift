// Wherry: where a redirect leads, and what may go along.
// SPDX-License-Identifier: Apache-2.0

import WherryTransport

/// What to do with an answer that redirects. Pure.
package enum RedirectRules {
    package enum Step: Sendable {
        /// The answer is no redirect, or is wanted as it is.
        case answer
        case follow(Hop)
        case fail(WherryError)
    }

    /// The next request.
    package struct Hop: Sendable {
        package var url: HTTPURL
        package var method: String
        package var keepsBody: Bool
        /// Another scheme, host or port: credentials stay behind.
        package var isCrossOrigin: Bool
    }

    /// - Parameters:
    ///   - hops: redirects followed so far.
    ///   - origin: of the first request, whose credentials these are.
    package static func step(
        head: ResponseHead, method: String, url: HTTPURL, origin: Origin, hops: Int, limit: Int64,
        hasBody: Bool, bodyIsReplayable: Bool, mayCrossWithBody: Bool
    ) -> Step {
        guard limit > 0, redirects(head.status),
            let location = head.reference("location"), !location.isEmpty
        else { return .answer }
        guard hops < Int(limit) else {
            return .fail(
                WherryError(
                    .tooManyRedirects,
                    "\(origin.text) redirected more than \(limit) times, at last to \(redacted(location))"))
        }
        let target: HTTPURL
        do {
            target = try url.resolving(location)
        } catch {
            return .fail(
                WherryError(
                    .redirectRefused,
                    "\(url.origin.text) redirects to a place that is not http or https: \(redacted(location))"))
        }
        // https -> http gives away what was protected (SEC-U4).
        if url.origin.isSecure && !target.origin.isSecure {
            return .fail(
                WherryError(
                    .redirectRefused,
                    "\(url.origin.text) redirects from https to http, which is not followed: \(redacted(location))"))
        }
        // RFC 9110 15.4: 303 asks with GET; 301 and 302 do so for POST, as everybody does.
        let becomesGet = method != "HEAD"
            && (head.status == 303 || (method == "POST" && (head.status == 301 || head.status == 302)))
        let keepsBody = !becomesGet && hasBody
        let isCross = target.origin != origin
        if keepsBody && !bodyIsReplayable {
            return .fail(
                WherryError(
                    .redirectRefused,
                    "\(url.origin.text) redirects, and the body of the request cannot be sent again"))
        }
        if keepsBody && isCross && !mayCrossWithBody {
            return .fail(
                WherryError(
                    .redirectRefused,
                    "\(url.origin.text) redirects the body of the request to another origin, \(target.origin.text); allow it with keep_auth_across_hosts (in Swift keepsAuthAcrossHosts)"))
        }
        return .follow(
            Hop(
                url: target, method: becomesGet ? "GET" : method, keepsBody: keepsBody,
                isCrossOrigin: isCross))
    }

    /// Whether a status leads elsewhere (RFC 9110 15.4).
    package static func redirects(_ status: Int) -> Bool {
        switch status {
        case 301, 302, 303, 307, 308: true
        default: false
        }
    }

    /// A URL for a sentence, without its query, user name and password.
    package static func redacted(_ url: String) -> String { HTTPURL.redacted(url) }
}
