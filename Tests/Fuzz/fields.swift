// Wherry: fuzz target of response headers (libFuzzer); scripts/fuzz builds and runs it
// SPDX-License-Identifier: Apache-2.0

import WherryCache
import WherryDownloads
import WherryHTTP
import WherryModels
import WherrySystem
@testable import WherryTransport

@_cdecl("LLVMFuzzerInitialize")
public func initialize(
    _ count: UnsafeMutablePointer<CInt>?, _ arguments: UnsafeMutableRawPointer?
) -> CInt {
    writeSeeds([
        FuzzInput.seed(
            0,
            """
            HTTP/1.1 200 OK
            Content-Length: 5
            Cache-Control: max-age=60, no-cache="a, b", stale-if-error=5
            Vary: Accept, *
            Set-Cookie: a=b; Path=/; Domain=example.com; Secure; Expires=Wed, 21 Oct 2015 07:28:00 GMT
            Set-Cookie: __Host-c=d; Max-Age=9; HttpOnly; Path=/
            WWW-Authenticate: Digest realm="r", nonce="n", qop="auth", algorithm=SHA-256, Basic realm="x"
            Content-Disposition: attachment; filename="a\\"b"; filename*=UTF-8''%e2%82%ac.txt
            Content-Range: bytes 5-9/10
            ETag: W/"x"
            Age: 7
            Retry-After: 120
            Date: Wed, 21 Oct 2015 07:28:00 GMT
            Repr-Digest: sha-256=:AAAA:
            Link: </p?2>; rel="next"

            """),
        FuzzInput.seed(1, "\u{FEFF}id: 7\nevent: e\rdata: a\r\ndata\n\nretry: 10\n: c\n\n"),
        FuzzInput.seed(
            2,
            "HTTP/2 304\nDate: Sunday, 06-Nov-94 08:49:37 GMT\nLast-Modified: Sun Nov  6 08:49:37 1994\n\n"
        ),
    ])
    return 0
}

@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    guard let input = FuzzInput(data, count) else { return 0 }
    if input.choice & 1 == 1 { readEvents(input) } else { readHead(input) }
    return 0
}

/// Feeds the bytes line by line like libcurl, and parses the resulting headers.
private func readHead(_ input: FuzzInput) {
    var reader = HeadReader()
    var options = TransportOptions()
    options.maxHeaderBytes = 64 << 10
    reader.start(options)
    var head: ResponseHead?
    for line in input.bytes.split(separator: 0x0A, omittingEmptySubsequences: false) {
        let step = (Array(line) + [0x0A]).withUnsafeBytes { reader.add($0) }
        if case .failed = step {
            demand(reader.failure != nil, "a head failed without a reason")
            return
        }
        if case .isComplete = step {
            head = reader.makeHead()
            demand(head != nil, "a complete head is none")
            break
        }
    }
    guard let head else { return }
    let fields = head.fields
    for (name, value) in fields {
        demand(!name.utf8.contains(0x0A) && !value.utf8.contains(0x0A), "\(name) has two lines")
    }
    readCookies(head)
    readCaching(head)
    let download = DownloadHead(status: head.status, fields: fields, at: 1_445_412_480)
    _ = try? download.bodyLength()
    for name in fields.map(\.value) { readNames(name) }
    var links: [String] = []
    for value in head.values("link") { links.append(value) }
    _ = LinkField.target("next", in: links)
    for challenge in AuthChallenge.all(head) {
        guard var session = DigestSession(challenge, clientNonce: "c0ffee") else { continue }
        let field = session.field(
            .digest("usér", "password"), method: "GET", target: "/a?b", bodyHash: [1, 2])
        demand(field != nil, "no field, although the digest of the body was passed")
        guard let field else { continue }
        demand(isFieldText(field), "the field \(field) would end early")
    }
}

private func readCookies(_ head: ResponseHead) {
    guard let url = try? HTTPURL("https://www.example.com/a/b") else { return }
    let jar = CookieJar(clock: ManualClock())
    jar.take(head, from: url)
    if let field = jar.field(for: url) {
        demand(isFieldText(field), "the cookies \(field) would end the line")
        demand(field.utf8.count <= 8190, "\(field.utf8.count) bytes of cookies are sent")
    }
}

private func readCaching(_ head: ResponseHead) {
    let control = ResponseCacheControl(head.values("cache-control"))
    for seconds in [control.staleWhileRevalidate, control.staleIfError] {
        demand((seconds ?? 0) >= 0, "a time of \(seconds ?? 0) s")
    }
    _ = RequestCacheControl(
        cacheControl: head.values("cache-control"), pragma: head.values("pragma"))
    demand((AgeField.seconds(head.values("age")) ?? 0) >= 0, "an age below nothing")
    let vary = VaryField(head.values("vary"))
    if case .fields(let names) = vary {
        for name in names { demand(FieldRules.isToken(name.utf8), "Vary names \(name)") }
    }
    for value in head.values("etag") {
        if let tag = EntityTag(value) {
            demand(!tag.isStronglyEqual(to: tag) || tag.isWeaklyEqual(to: tag), "\(value) differs")
        }
        _ = EntityTagList(value)
    }
}

/// Any value may occur in place of a name, a date, a range, or a type.
private func readNames(_ value: String) {
    let name = SuggestedFileName.choose(contentDisposition: value, url: "https://h/\(value)")
    demand(
        !name.isEmpty && name != "." && name != ".." && name.utf8.count <= 255
            && !name.utf8.contains(0x2F) && !name.utf8.contains(0x5C)
            && name.utf8.allSatisfy { $0 >= 0x20 },
        "\(name) is no name of a file")
    if let seconds = HTTPDate.parse(value, now: 1_445_412_480), seconds >= 0,
        seconds < 253_402_300_800
    {
        let again = HTTPDate.parse(HTTPDate.format(seconds), now: 1_445_412_480)
        demand(again == seconds, "\(value) is \(seconds), and reads back as \(again ?? -1)")
    }
    demand((RetryAfter.seconds(value, now: 1_445_412_480) ?? 0) >= 0, "\(value) waits backwards")
    _ = ContentRange(value)
    _ = MediaType(value)
}

/// Events are the same for any chunk boundaries.
private func readEvents(_ input: FuzzInput) {
    func events(_ size: Int) -> ([ServerEvent], Bool) {
        var parser = ServerEventParser(limit: 512)
        var found: [ServerEvent] = []
        var start = 0
        while start < input.bytes.count {
            let end = min(start + size, input.bytes.count)
            do {
                try parser.feed(input.bytes[start..<end], &found)
            } catch {
                return (found, true)
            }
            start = end
        }
        return (found, false)
    }
    let whole = events(max(1, input.bytes.count))
    let cut = events(1 + input.choice >> 1 & 7)
    demand(whole.0 == cut.0 && whole.1 == cut.1, "\(whole) is not \(cut)")
}
