// Wherry: helpers for the acceptance tests of the HTTP cache
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Wherry
import WherrySystem

/// A scripted origin, a folder, and a clock that the tests move.
struct HTTPCacheBench {
    static let url = "http://example.org/a"

    let stub = StubServer()
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        stub.advance(by: .zero)
    }

    func client(_ configure: (inout Client.Configuration) -> Void = { _ in }) throws -> Client {
        try Client {
            $0.stubServer = stub
            $0.storageDirectory = folder.file("storage")
            $0.usesHTTPCache = true
            configure(&$0)
        }
    }

    /// A response of the origin, for one request by default.
    func respond(
        _ body: String, _ headers: Headers = ["Cache-Control": "max-age=60"],
        url: String = HTTPCacheBench.url, method: String? = nil, status: Int = 200,
        times: Int? = 1
    ) {
        stub.respond(
            url, method: method, times: times, status: status, headers: headers, body: Bytes(body))
    }

    /// The number of requests that reached the origin.
    var hits: Int { stub.requests.count }
    /// The headers of the last one.
    var lastHeaders: Headers { stub.requests.last?.headers ?? [:] }
}

/// A request of the HTTP cache.
func cached(
    _ policy: CachePolicy? = nil, _ headers: Headers = [:], url: String = HTTPCacheBench.url,
    method: String? = "GET"
) -> Request {
    var request = Request(url, method: method)
    request.cachePolicy = policy
    request.headers = headers
    return request
}
