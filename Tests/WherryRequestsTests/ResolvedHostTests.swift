// Wherry: hosts with given addresses
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import WherryHTTP
@testable import WherryRequests

@Suite("Hosts with given addresses") struct ResolvedHostTests {
    @Test("entries are parsed like curl's, and written in libcurl's format")
    func reading() throws {
        let text = " A.example:80:127.0.0.1,[::1],fe80::1\nb.example:443:10.0.0.1\t*:8:::1 "
        #expect(
            try ResolvedHost.all(in: text).map(\.text) == [
                "a.example:80:127.0.0.1,[::1],[fe80::1]", "b.example:443:10.0.0.1", "*:8:[::1]",
            ])
        #expect(try ResolvedHost.all(in: "").isEmpty)
    }

    /// The host was only lowercased, so that it never equaled the ASCII host of a URL.
    @Test("international names are converted like those of URLs")
    func international() throws {
        let text =
            "bücher.example:80:127.0.0.1 BÜCHER.example:81:127.0.0.1 faß.example:80:127.0.0.1"
        #expect(
            try ResolvedHost.all(in: text).map(\.host) == [
                "xn--bcher-kva.example", "xn--bcher-kva.example", "xn--fa-hia.example",
            ])
        #expect(throws: WherryError.self) {
            try ResolvedHost.all(in: "a\u{2044}b.example:80:127.0.0.1")
        }
    }
}
