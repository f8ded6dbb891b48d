// Wherry: tests of storability
// SPDX-License-Identifier: Apache-2.0

import Testing
import WherrySystem
import WherryTransport

@testable import WherryCache
@testable import WherryHTTP

@Suite struct StorabilityTests {
    private func refusal(
        _ fields: [(String, String)], status: Int = 200, method: String = "GET",
        _ headers: Headers = [:], isComplete: Bool = true
    ) -> StoreRefusal? {
        Storability.refusal(
            arrived(status, fields, isComplete: isComplete), to: request(method, headers))
    }
    private let minute = [("Cache-Control", "max-age=60")]

    @Test("no-store in either direction prevents storing: RFC 9111, 3 and 5.2")
    func noStore() {
        #expect(refusal(minute) == nil)
        #expect(refusal([("Cache-Control", "max-age=60, NO-STORE")]) == .noStore)
        #expect(refusal(minute + [("Cache-Control", "no-store")]) == .noStore)
        #expect(refusal(minute, ["Cache-Control": "no-store"]) == .noStore)
        #expect(refusal([("Cache-Control", "max-age=60, x=\"no-store\"")]) == nil)
    }

    @Test("must-understand overrides no-store for a known status: 5.2.2.3")
    func mustUnderstand() {
        let text = [("Cache-Control", "max-age=60, no-store, must-understand")]
        #expect(refusal(text) == nil && refusal(text, status: 404) == nil)
        #expect(refusal(text, status: 499) == .notUnderstood)
        #expect(
            refusal([("Cache-Control", "max-age=60, must-understand")], status: 599)
                == .notUnderstood)
        #expect(refusal(text, ["Cache-Control": "no-store"]) == .noStore)
    }

    @Test("Any final status with a lifetime, otherwise those of RFC 9110, 15.1, or marked ones")
    func statuses() {
        for status in [
            200, 203, 204, 299, 301, 302, 303, 307, 308, 400, 404, 410, 499, 500, 503, 599,
        ] {
            #expect(refusal(minute, status: status) == nil)
            #expect(refusal([("Expires", "0")], status: status) == nil)
            let isKnown = [200, 203, 204, 301, 308, 404, 410].contains(status)
            #expect(refusal([], status: status) == (isKnown ? nil : .notAllowed))
            #expect(refusal([("Cache-Control", "public")], status: status) == nil)
            #expect(refusal([("Cache-Control", "private")], status: status) == nil)
        }
        #expect(refusal(minute, status: 103) == .interim)
        #expect(refusal(minute, status: 304) == .status)
    }

    @Test("Rules for shared caches do not stop a private one")
    func privateCache() {
        #expect(refusal(minute, ["Authorization": "Bearer x", "Cookie": "a=b"]) == nil)
        #expect(refusal(minute + [("Set-Cookie", "a=b")]) == nil)
        #expect(refusal([("Cache-Control", "private=\"x\", max-age=60")]) == nil)
        #expect(refusal([("Cache-Control", "s-maxage=0, proxy-revalidate, max-age=60")]) == nil)
    }

    @Test("POST with a lifetime and its own URL as Content-Location serves GET: RFC 9110, 9.3.3")
    func post() {
        func post(_ location: String?, _ fields: [(String, String)]) -> StoreRefusal? {
            refusal(fields + (location.map { [("Content-Location", $0)] } ?? []), method: "POST")
        }
        #expect(post("/a?b=c", minute) == nil)
        #expect(post("http://EXAMPLE.org:80/a?b=c", minute) == nil)
        #expect(post("/a", minute) == .method && post(nil, minute) == .method)
        #expect(post("/a?b=c", []) == .method)
        for method in ["PUT", "DELETE", "HEAD", "OPTIONS", "get", "FOO"] {
            #expect(refusal(minute, method: method) == .method)
        }
    }

    @Test("A cut body and Vary: * are not stored: RFC 9111, 3.3 and 4.1")
    func rest() {
        #expect(refusal(minute, isComplete: false) == .incomplete)
        #expect(refusal(minute + [("Vary", "Foo, *")]) == .varyAnything)
    }

    @Test("Content-Range must agree with the body: RFC 9110, 14.4")
    func parts() {
        func part(_ range: String?, status: Int = 206, isDecoded: Bool = false) -> StoredPart? {
            Storability.part(
                of: arrived(
                    status, range.map { [("Content-Range", $0)] } ?? [], body: "0123",
                    isDecoded: isDecoded))
        }
        #expect(part("bytes 2-5/9") == StoredPart(first: 2, last: 5, total: 9))
        #expect(part("bytes 0-3/*") == StoredPart(first: 0, last: 3, total: nil))
        for bad in ["bytes 2-6/9", "bytes 2-4/9", "bytes */9", "lines 2-5/9", "bytes 6-9/9"] {
            #expect(part(bad) == nil)
        }
        #expect(part(nil) == nil && part("bytes 2-5/9", status: 200) == nil)
        #expect(part("bytes 2-5/9", isDecoded: true) == nil)
    }
}
