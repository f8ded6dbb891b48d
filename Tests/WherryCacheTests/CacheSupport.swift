// Wherry: helpers for the tests of the cache
// SPDX-License-Identifier: Apache-2.0

import WherrySystem
import WherryTransport

@testable import WherryCache
@testable import WherryHTTP

/// 2026-11-21 12:00:00 GMT, in milliseconds.
let noon: Int64 = 1_795_262_400_000

let testSecret = VarySecret(key: Array("a key for tests".utf8))

/// A date this many seconds after noon.
func date(_ seconds: Int64 = 0) -> String { HTTPDate.format(noon / 1000 + seconds) }

func block(_ fields: [(String, String)]) -> Bytes {
    Bytes(fields.map { "\($0.0): \($0.1)\n" }.joined())
}

/// The headers of a response created at noon, unless they have a Date.
func head(_ status: Int = 200, _ fields: [(String, String)] = [], date own: String? = date())
    -> ResponseHead
{
    var fields = fields
    if let own, !fields.contains(where: { $0.0.lowercased() == "date" }) {
        fields.insert(("Date", own), at: 0)
    }
    return ResponseHead(status: status, block: block(fields))
}

func request(
    _ method: String = "GET", _ headers: Headers = [:], url: String = "http://example.org/a?b=c"
) -> CacheRequest {
    guard let target = try? HTTPURL(url) else { fatalError("the test's own URL is none") }
    return CacheRequest(method: method, target: target, headers: headers)
}

/// A response received at noon, or this many milliseconds later.
func arrived(
    _ status: Int = 200, _ fields: [(String, String)] = [], body: String = "body",
    at time: Int64 = noon, isDecoded: Bool = false, isComplete: Bool = true,
    date own: String? = nil
) -> ArrivedResponse {
    ArrivedResponse(
        head: head(status, fields, date: own ?? HTTPDate.format(time / 1000)),
        body: Bytes(body), requestTime: time, responseTime: time, isDecoded: isDecoded,
        isComplete: isComplete)
}

/// A response as it is stored at noon.
func stored(
    _ fields: [(String, String)], status: Int = 200, body: String = "body",
    for asked: CacheRequest = request(), at time: Int64 = noon, isDecoded: Bool = false
) -> StoredResponse {
    let outcome = lookup(asked, at: time).resolve(
        arrived(status, fields, body: body, at: time, isDecoded: isDecoded), to: NetworkPlan(),
        stored: [])
    guard case .store(let stored)? = outcome.changes.last else {
        fatalError("the test's own answer is not storable")
    }
    return stored
}

func lookup(
    _ asked: CacheRequest = request(), at now: Int64 = noon,
    policy: HTTPCachePolicy = .byProtocol, staleIfError: Int64 = 0
) -> CacheLookup {
    CacheLookup(
        asked, options: HTTPCacheOptions(policy: policy, staleIfError: staleIfError),
        secret: testSecret, now: now)
}

/// A decision in one word, with its main details.
func word(_ decision: CacheDecision) -> String {
    switch decision {
    case .serve(let answer): answer.isStale ? "stale" : "fresh"
    case .serveAndRevalidate: "stale, asks"
    case .network(let plan):
        switch plan.purpose {
        case .plain: plan.stored == nil ? "asks" : "asks, has"
        case .validation: "validates"
        case .completion: "completes"
        }
    case .gatewayTimeout: "504"
    case .miss: "miss"
    }
}

func decision(
    _ fields: [(String, String)], _ headers: Headers = [:], after seconds: Int64,
    policy: HTTPCachePolicy = .byProtocol
) -> String {
    word(
        lookup(request("GET", headers), at: noon + seconds * 1000, policy: policy)
            .decide([stored(fields)]))
}
