// Wherry: the redirects and the credentials of a request.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherrySystem
import WherryTransport

/// The target of the current hop, and how the request got there: the redirects that it followed and
/// the credentials that it sends. The same rules apply to requests, uploads, and downloads.
package struct AttemptFollower: Sendable {
    /// The properties of a request body that the redirect rules depend on.
    package struct Body: Sendable {
        /// Whether the body can be sent again.
        package var isReplayable: Bool
        /// The origin that the body belongs to; `nil` for the origin of the first URL.
        package var origin: Origin?

        package init(isReplayable: Bool, origin: Origin? = nil) {
            self.isReplayable = isReplayable
            self.origin = origin
        }
    }

    /// The origin of the first URL, which the credentials of the caller belong to.
    package private(set) var origin: Origin
    /// The URL of the current hop.
    package var url: HTTPURL
    /// The method of the current hop.
    package var method: String
    /// Whether credentials are withheld, because the current hop leads to another origin.
    package private(set) var withholdsCredentials: Bool
    /// The redirects that were followed.
    package private(set) var redirects: [Response.Redirect] = []
    /// The authentication at the origin of the current hop; `nil` without credentials.
    package var authentication: Authentication?

    /// - Parameters:
    ///   - origin: The origin that the credentials belong to. Default: that of the URL.
    ///   - withholdsCredentials: Whether the first URL itself must not receive credentials, as a
    ///     mirror of a download. Default: false.
    package init(
        _ url: HTTPURL, method: String, origin: Origin? = nil, withholdsCredentials: Bool = false
    ) {
        self.origin = origin ?? url.origin
        self.url = url
        self.method = method
        self.withholdsCredentials = withholdsCredentials
    }

    // MARK: Redirects

    /// Whether the current hop is the target of a redirect.
    package var isRedirected: Bool { !redirects.isEmpty }

    /// Returns how to handle a response by the redirect rules.
    ///
    /// - Parameter body: The body of the request; `nil` if it has none.
    package func step(
        after head: ResponseHead, body: Body?, options: OptionTable
    ) -> RedirectRules.Step {
        RedirectRules.step(
            head: head, method: method, url: url, origin: origin, bodyOrigin: body?.origin,
            hops: redirects.count, limit: options[.maxRedirects], hasBody: body != nil,
            bodyIsReplayable: body?.isReplayable ?? true,
            mayCrossWithBody: options[.keepAuthAcrossHosts] == 1)
    }

    /// Continues at the target of a redirect.
    ///
    /// - Parameter head: The headers of the redirect response.
    package mutating func follow(
        _ hop: RedirectRules.Hop, from head: ResponseHead, options: OptionTable
    ) {
        redirects.append(.init(url: url.text, status: head.status, head: head))
        url = hop.url
        method = hop.method
        withholdsCredentials = hop.isCrossOrigin && options[.keepAuthAcrossHosts] == 0
    }

    /// Changes the target of the current hop, as the program or the next base URL requires. Without
    /// a redirect, the credentials belong to the new target.
    package mutating func retarget(_ url: HTTPURL, method: String, options: OptionTable) {
        self.url = url
        self.method = method
        if isRedirected {
            withholdsCredentials = url.origin != origin && options[.keepAuthAcrossHosts] == 0
        } else {
            origin = url.origin
        }
    }

    // MARK: Authentication

    /// Returns the authentication for the origin of the current hop; `nil` without credentials. The
    /// caller's credentials for one origin are never sent to another.
    package mutating func currentAuthentication(
        _ request: Request, _ settings: ClientSettings
    ) -> Authentication? {
        guard authentication != nil || request.credentials != nil || settings.hasCredentials else {
            return nil
        }
        if authentication?.origin != url.origin {
            authentication = credentials(of: request, settings).map {
                Authentication($0, at: url.origin)
            }
        }
        return authentication
    }

    /// Returns the `Authorization` header of the current hop; `nil` keeps that of the request (R20).
    ///
    /// - Parameter bodyHash: Returns the digest of the body; `nil` if it is not known.
    package mutating func authorization(
        _ request: Request, _ settings: ClientSettings, memory: AuthMemory,
        bodyHash: (DigestAlgorithm) -> [UInt8]?
    ) -> String? {
        currentAuthentication(request, settings)?
            .field(method: method, url: url, memory: memory, bodyHash: bodyHash)
    }

    /// Handles a 401 response. Returns the next step.
    ///
    /// - Parameter asks: Whether the program may be asked for credentials.
    package mutating func challenge(
        _ head: ResponseHead, asks: Bool, memory: AuthMemory
    ) -> Authentication.Step {
        let known = authentication?.origin == url.origin ? authentication : nil
        guard known?.credentials != nil || asks else { return .deliver }
        var current = known ?? Authentication(nil, at: url.origin)
        defer { authentication = current }
        return current.step(after: head, asks: asks, memory: memory)
    }

    /// Uses the credentials of a request that the program edited, with the same number of attempts.
    package mutating func changeCredentials(to request: Request, _ settings: ClientSettings) {
        authentication = authentication?.with(credentials(of: request, settings))
    }

    private func credentials(of request: Request, _ settings: ClientSettings) -> Credentials? {
        settings.credentials(of: request, at: url.origin, isRequestedOrigin: !withholdsCredentials)
    }
}
