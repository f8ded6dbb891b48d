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
    ///   - bodyOrigin: whose body it is, where that is another one.
    package static func step(
        head: ResponseHead, method: String, url: HTTPURL, origin: Origin, bodyOrigin: Origin? = nil,
        hops: Int, limit: Int64, hasBody: Bool, bodyIsReplayable: Bool, mayCrossWithBody: Bool
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
        if let refusal = downgrade(from: url, to: target, shown: location) { return .fail(refusal) }
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
        if keepsBody && target.origin != bodyOrigin ?? origin && !mayCrossWithBody {
            return .fail(bodyCrosses(from: url, to: target))
        }
        return .follow(
            Hop(
                url: target, method: becomesGet ? "GET" : method, keepsBody: keepsBody,
                isCrossOrigin: isCross))
    }

    /// A hop whose request the program has rewritten, held to the rules of every hop.
    ///
    /// - Parameters:
    ///   - keepsBody: the body goes along that was there before; another one is the program's word.
    package static func rewritten(
        to target: HTTPURL, method: String, keepsBody: Bool, from url: HTTPURL, origin: Origin,
        bodyOrigin: Origin, mayCrossWithBody: Bool
    ) throws(WherryError) -> Hop {
        if let refusal = downgrade(from: url, to: target, shown: target.text) { throw refusal }
        let isCross = target.origin != origin
        if keepsBody && target.origin != bodyOrigin && !mayCrossWithBody { throw bodyCrosses(from: url, to: target) }
        return Hop(url: target, method: method, keepsBody: keepsBody, isCrossOrigin: isCross)
    }

    /// https -> http gives away what was protected (SEC-U4).
    private static func downgrade(
        from url: HTTPURL, to target: HTTPURL, shown: String
    ) -> WherryError? {
        guard url.origin.isSecure, !target.origin.isSecure else { return nil }
        return WherryError(
            .redirectRefused,
            "\(url.origin.text) redirects from https to http, which is not followed: \(redacted(shown))")
    }

    private static func bodyCrosses(from url: HTTPURL, to target: HTTPURL) -> WherryError {
        WherryError(
            .redirectRefused,
            "\(url.origin.text) redirects the body of the request to another origin, \(target.origin.text). "
                + OptionAdvice.keepAuthAcrossHosts.text)
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
