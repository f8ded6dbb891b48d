// Wherry: helpers for the tests of the Swift API
// SPDX-License-Identifier: Apache-2.0

import TestServer
import Wherry

/// A client of the test's scope of the server. A server that holds is not a stall, however long a
/// busy machine takes.
func makeClient(_ scope: TestServer.Scope) throws -> Client {
    try Client {
        $0.proxy = ""
        $0.baseURL = scope.url("/")
        $0.stallBytesPerSecond = 0
        $0.idleTimeout = .seconds(600)
        $0.firstByteTimeout = .seconds(600)
        $0.connectTimeout = .seconds(600)
        $0.hookTimeout = .seconds(600)
    }
}
