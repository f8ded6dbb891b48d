// Wherry: tests of the choice of a proxy
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import WherryTransport

@Suite struct ProxyRulesTests {
    private func chosen(
        _ url: String, _ environment: [String: String] = [:],
        _ change: (inout ProxySettings) -> Void = { _ in }
    ) throws -> String? {
        var settings = ProxySettings()
        change(&settings)
        let rules = ProxyRules(settings) { environment[$0] }
        return rules.proxy(for: try HTTPURL(url).origin)?.text
    }

    @Test("C19 a proxy is chosen by scheme, then for all, then from the environment")
    func schemes() throws {
        let environment = [
            "http_proxy": "e:1", "HTTPS_PROXY": "e:2", "HTTP_PROXY": "cgi:1", "all_proxy": "e:3",
        ]
        #expect(try chosen("http://h/", environment) == "e:1")
        #expect(try chosen("https://h/", environment) == "e:2")
        #expect(try chosen("https://h/", ["ALL_PROXY": "e:3"]) == "e:3")
        #expect(try chosen("http://h/", ["HTTP_PROXY": "cgi:1"]) == nil)
        #expect(try chosen("http://h/", environment) { $0.all = "a:1" } == "a:1")
        for url in ["http://h/", "https://h/"] {
            let proxy = try chosen(url, environment) {
                $0.all = "a:1"
                $0.http = "b:1"
                $0.https = "c:1"
            }
            #expect(proxy == (url.hasPrefix("https") ? "c:1" : "b:1"))
            #expect(try chosen(url, environment) { $0.all = "" } == nil)
        }
        #expect(try chosen("http://h/", environment) { $0.http = "" } == nil)
        #expect(try chosen("https://h/", environment) { $0.http = "" } == "e:2")
        #expect(try chosen("https://h/", environment) { ($0.all, $0.https) = ("a:1", "") } == nil)
    }

    @Test(
        "C19 hosts without a proxy are accepted in every form of no_proxy",
        arguments: [
            ("h.org", "http://h.org/", true), ("h.org", "http://a.b.h.org/", true),
            ("h.org", "http://ah.org/", false), ("h.org", "http://org/", false),
            (".h.org", "http://h.org/", true), (".h.org", "http://a.h.org/", true),
            ("*.h.org", "http://a.h.org/", true), ("H.ORG.", "http://h.org./", true),
            ("*", "http://anything/", true), ("a,*", "https://[::1]/", true),
            ("a.org , h.org", "http://h.org/", true), ("a.org h.org", "http://h.org/", true),
            ("h.org:8080", "http://h.org:8080/", true), ("h.org:8080", "http://h.org/", false),
            ("h.org:80", "http://h.org/", true), ("h.org:443", "https://h.org/", true),
            ("h.org:443", "http://h.org/", false), ("*:8080", "http://h.org:8080/", true),
            ("127.0.0.1", "http://127.0.0.1:9/", true),
            ("127.0.0.1:9", "http://127.0.0.1:9/", true),
            ("127.0.0.1:8", "http://127.0.0.1:9/", false), ("127.0.0.1", "http://127.1/", true),
            ("10.0.0.0/8", "http://10.9.8.7/", true), ("10.0.0.0/8", "http://11.0.0.1/", false),
            ("192.168.32.0/19", "http://192.168.63.255/", true),
            ("192.168.32.0/19", "http://192.168.64.0/", false),
            ("0.0.0.0/0", "http://8.8.8.8/", true),
            ("0.0.0.0/0", "http://h.org/", false), ("10.0.0.0/8", "http://10.h.org/", false),
            ("::1", "http://[::1]:9/", true), ("[::1]", "http://[::1]/", true),
            ("[::1]:9", "http://[::1]:9/", true), ("[::1]:8", "http://[::1]:9/", false),
            ("::1", "http://[0:0:0:0:0:0:0:1]/", true),
            ("2001:db8::/32", "http://[2001:db8:1::2]/", true),
            ("[2001:db8::]/32", "http://[2001:db9::]/", false),
            ("fe80::/10", "http://[febf::1]/", true),
            ("fe80::/10", "http://[fec0::1]/", false), ("::/0", "http://127.0.0.1/", false),
            ("bücher.example", "http://xn--bcher-kva.example/", true),
            ("xn--bcher-kva.example", "http://www.bücher.example/", true),
            (".0.0.1", "http://127.0.0.1/", false), ("10", "http://10.0.0.1/", false),
            ("", "http://h/", false),
        ])
    func exceptions(_ list: String, _ url: String, _ isExcepted: Bool) throws {
        let variables = ["no_proxy", "NO_PROXY"].map {
            ["http_proxy": "p:1", "https_proxy": "p:1", $0: list]
        }
        for environment in variables {
            #expect(try (chosen(url, environment) == nil) == isExcepted)
        }
        let given = try chosen(url, ["no_proxy": "*"]) { ($0.all, $0.exceptions) = ("p:1", list) }
        #expect((given == nil) == isExcepted)
        #expect(ProxyExceptions(list).invalid.isEmpty)
    }

    @Test("C19 invalid entries are reported, and exclude no host")
    func invalid() throws {
        for word in [
            "http://h.org", "h.org:", "h.org:0", "h.org:70000", "h.org:x", "10.0.0.0/33",
            "10.0.0.0/",
            "::1/129", "[::1", "[::1]x", "[::1]:0", "[1.2.3.4]", "h.org/8", "a..b", "u@h", ".",
        ] {
            #expect(ProxyExceptions(word).invalid == [word])
            #expect(
                try chosen("http://h.org/", ["http_proxy": "p:1", "no_proxy": word]) == "p:1",
                "\(word)")
        }
    }

    /// libcurl converts such names in the charset of the locale, and fails in the locale C.
    @Test("C19 the host of a proxy is passed to libcurl in ASCII, and the rest unchanged")
    func international() throws {
        for (text, ascii, name) in [
            ("bücher.example:80", "xn--bcher-kva.example:80", "http://xn--bcher-kva.example:80"),
            (
                "socks5h://u%40:p@bücher.example:1", "socks5h://u%40:p@xn--bcher-kva.example:1",
                "socks5h://xn--bcher-kva.example:1"
            ),
            ("http://u:p@h:1", "http://u:p@h:1", "http://h:1"),
        ] {
            let rules = ProxyRules(
                {
                    var given = ProxySettings(); given.all = text; return given
                }()
            ) { _ in nil }
            let proxy = try #require(rules.proxy(for: try HTTPURL("http://h/").origin))
            let found = proxy.text.hasSuffix("/") ? String(proxy.text.dropLast()) : proxy.text
            #expect(found == ascii || found == "http://\(ascii)")
            #expect(proxy.url?.text == name)
        }
        #expect(ProxyURL("http://a\u{2044}b:1") == nil)
    }
}
