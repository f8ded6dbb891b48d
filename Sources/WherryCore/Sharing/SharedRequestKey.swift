// Wherry: the key of requests that share a response.
// SPDX-License-Identifier: Apache-2.0

import WherryCache
import WherryHTTP
import WherryRequests
import WherrySystem
import WherryTransport

/// All properties of a request that may affect the server or the caller. Two requests share a
/// response only if all of these are equal (R33).
struct SharedRequestKey: Hashable, Sendable {
    private let method: String
    private let url: String
    /// The additional base URLs.
    private let bases: [String]
    /// The value of `User-Agent`, the only header that the transport adds.
    private let userAgent: String
    /// The headers of the request, the client and the cookie jar, as sent.
    private let fields: [String]
    private let credentials: Credentials?
    /// The digest of the body; empty without a body.
    private let body: [UInt8]
    private let options: OptionTable
    private let accepted: [Int]
    private let shape: JSONShape?
    private let caching: RequestCaching?

    /// Returns the key of a request that has not begun.
    ///
    /// - Returns: `nil` for a request that cannot be shared: its response is streamed, a hook
    ///   is enabled, its events would be incomplete for a later caller, or its body is not in
    ///   memory.
    static func of(_ transfer: RequestTransfer) throws(WherryError) -> SharedRequestKey? {
        let request = transfer.request
        guard transfer.kind == .request, !request.isStreamed, transfer.hooks.isEmpty,
            transfer.options[.wantHeaders] == 0, request.cachePolicy != .thenNetwork
        else { return nil }
        return try transfer.work.withLock { work throws(WherryError) in
            try SharedRequestKey(transfer, work.machine.hop)
        }
    }

    private init?(
        _ transfer: RequestTransfer, _ hop: RequestHop
    ) throws(WherryError) {
        let request = transfer.request
        var hasBody = true
        switch hop.body.body {
        case .none:
            body = []
            hasBody = false
        case .bytes(let bytes): body = Digest.hash(of: bytes.array, .sha256)
        case .source: return nil
        }
        let headers = try RequestPlanner.fields(
            of: request, contentType: hop.body.contentType, hasBody: hasBody,
            settings: transfer.settings,
            cookies: hop.usesJar ? transfer.cookieJar.field(for: hop.follower.url) : nil,
            mergesCookies: transfer.options.cookieHandling.merges)
        fields = headers.fields.map { "\($0.name): \($0.value ?? "\0")" }
        method = hop.follower.method
        url = hop.follower.url.text
        bases = request.bases
        userAgent = transfer.settings.userAgent
        credentials = transfer.settings.credentials(
            of: request, at: hop.follower.url.origin, isRequestedOrigin: true)
        options = transfer.options
        accepted = request.acceptedStatus
        shape = request.jsonShape
        caching = request.caching
    }
}
