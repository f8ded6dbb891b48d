// Wherry: tests of parameters that the cache key ignores
// SPDX-License-Identifier: Apache-2.0

import Testing
import WherryHTTP

@testable import WherryRequests

@Suite struct IgnoredParameterTests {
    private func counted(_ parameters: JSONObject, ignored: Set<String>) -> JSON? {
        var request = Request("a")
        request.parameters = parameters
        request.cacheIgnoredParameters = ignored
        return request.countedParameters.map { .object($0) }
    }

    @Test("K19 the cache key leaves out the ignored parameters")
    func ignored() {
        let signed: JSONObject = ["key": "0c60", "type": "top", "sign": "x"]
        #expect(counted(signed, ignored: ["sign"]) == ["key": "0c60", "type": "top"])
        #expect(counted(signed, ignored: []) == .object(signed))
    }

    @Test("K19 ignoring every parameter is the same as having none")
    func nothingLeft() {
        #expect(counted(["time": 1], ignored: ["time"]) == counted([:], ignored: []))
    }
}
