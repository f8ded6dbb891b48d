// Wherry: tests of the first host of a request
// SPDX-License-Identifier: Apache-2.0

import Testing
import WherryCore
import WherryTransport

@Suite struct FirstHostTests {
    @Test(
        "R30 D13 with a proxy the route to the proxy counts, also from the environment",
        arguments: [
            (nil, [:], "h.org"), ("", ["http_proxy": "http://p:1"], "h.org"),
            ("http://mine:3128", ["http_proxy": "http://p:1"], "mine"),
            (nil, ["http_proxy": "http://p:1"], "p"), (nil, ["http_proxy": "p:1"], "p"),
            (nil, ["HTTP_PROXY": "http://p:1", "https_proxy": "http://p:1"], "h.org"),
            (nil, ["ALL_PROXY": "http://a:1"], "a"),
            (nil, ["all_proxy": "http://a:1", "no_proxy": "h.org"], "h.org"),
            (nil, ["all_proxy": "http://a:1", "NO_PROXY": "h.org:81"], "a"),
            // Not known: the request does not wait.
            (nil, ["all_proxy": "socks5://a:1"], nil),
        ] as [(String?, [String: String], String?)])
    func proxies(setting: String?, environment: [String: String], expected: String?) throws {
        let client = try Client { $0.proxy = setting }
        let url = try HTTPURL("http://h.org/a")
        #expect(client.firstHost(of: url) { environment[$0] } == expected)
        let deaf = try Client {
            $0.proxy = setting
            $0.values.options[.ignoreProxyEnvironment] = 1
        }
        let own = setting.map { $0.isEmpty ? "h.org" : "mine" } ?? "h.org"
        #expect(deaf.firstHost(of: url) { environment[$0] } == own)
    }
}
