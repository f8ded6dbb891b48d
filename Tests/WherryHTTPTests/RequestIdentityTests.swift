// Wherry: tests of identifiers.
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import WherryHTTP

@Suite struct RequestIdentityTests {
    private let base = "http://v.juhe.cn"

    @Test("K3 request identifiers match the test vectors")
    func requests() throws {
        let parameters: JSON = ["type": "top", "key": "0c60"]
        #expect(
            try RequestIdentity.request(
                base: base, url: "toutiao/index", method: "POST", parameters: parameters)
                == "b4b36793efabad54a14389cf09bc8133_a6a72ddee1dd86825cb5707c500784f5_"
                + "f882aed12c0b16ebdaecb1e9619f608d_d42fd88cf63a1c22520547ab3c4250d3")
        #expect(
            try RequestIdentity.request(
                base: base, url: "toutiao/index", method: "GET", parameters: nil)
                == "b4b36793efabad54a14389cf09bc8133_a6a72ddee1dd86825cb5707c500784f5_"
                + "7b65261ff298c6a386c89a632bd17b39_")
    }

    @Test("K3 download identifiers match the test vectors")
    func downloads() {
        #expect(
            RequestIdentity.download(base: base, url: "wallpaper.jpg")
                == "b4b36793efabad54a14389cf09bc8133_58062664c1e917563c75c84a0bc7a848_")
        #expect(
            RequestIdentity.download(base: nil, url: "wallpaper.jpg")
                == "507e6fd9699c311e1e11850905939715_58062664c1e917563c75c84a0bc7a848_")
    }

    @Test("K3 no parameters and an empty object are two requests")
    func emptyParameters() throws {
        let none = try RequestIdentity.request(base: nil, url: "u", method: "GET", parameters: nil)
        let empty = try RequestIdentity.request(base: nil, url: "u", method: "GET", parameters: [:])
        #expect(none != empty && empty.hasPrefix(none))
    }

    @Test("K9 the prefixes of a URL and of a method start every identifier")
    func prefixes() throws {
        let whole = try RequestIdentity.request(
            base: base, url: "a", method: "PUT", parameters: ["x": [1, ["y": nil]]])
        #expect(whole.hasPrefix(RequestIdentity.prefix(base: base, url: "a")))
        let prefix = RequestIdentity.prefix(base: base, url: "a")
        #expect(whole.hasPrefix(prefix + RequestIdentity.prefix(method: "PUT")))
        #expect(!whole.hasPrefix(RequestIdentity.prefix(base: nil, url: "a")))
        #expect(!whole.hasPrefix(prefix + RequestIdentity.prefix(method: "GET")))
    }

    @Test("R8 parameters that are not JSON have no identifier")
    func refused() {
        let error = #expect(throws: JSONError.self) {
            try RequestIdentity.request(
                base: nil, url: "u", method: "GET", parameters: ["a": .double(.nan)])
        }
        #expect(error?.reason == "bad_parameters")
    }
}
