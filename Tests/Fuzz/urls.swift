// Wherry: fuzz target of URLs, references and parameters (libFuzzer); scripts/fuzz builds and runs it
// SPDX-License-Identifier: Apache-2.0

import WherryCore
import WherryHTTP
import WherrySystem
import WherryTransport

@_cdecl("LLVMFuzzerInitialize")
public func initialize(
    _ count: UnsafeMutablePointer<CInt>?, _ arguments: UnsafeMutableRawPointer?
) -> CInt {
    writeSeeds([
        FuzzInput.seed(0, "http://example.com/a/b/?x=1#f\n../c;d?e\n{\"a\":[1,null,{\"b\":true}]}"),
        FuzzInput.seed(1, "https://[::1]:8443/\n//other.example/\n{}"),
        FuzzInput.seed(2, "http://user:secret@host/\nhttp:relative\n{\"é\":\"ü &=\"}"),
        FuzzInput.seed(3, "http://xn--bcher-kva.example/%7e\nitems/7?q=%20\n[]"),
        FuzzInput.seed(4, "HTTP://0x7f.1/..//\n?\n{\"a\":0.5}"),
    ])
    return 0
}

/// Parses the first line as a base, the second as a reference, and the third as parameters. A
/// parsed URL must parse back as itself.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    guard let input = FuzzInput(data, count) else { return 0 }
    let lines = input.lines
    for line in lines { _ = HTTPURL.redacted(line) }
    guard let base = try? HTTPURL(lines[0]) else { return 0 }
    check(base)
    if lines.count > 1, let url = try? base.resolving(lines[1]) { check(url) }
    if lines.count > 1, let url = base.sibling(lines[1]) {
        check(url)
        demand(url.origin == base.origin, "\(url.text) is no sibling of \(base.text)")
    }
    guard lines.count > 2, let json = try? JSON.parse(Array(lines[2].utf8)) else { return 0 }
    var encoding = ParameterEncoding()
    encoding.arrays = [.brackets, .repeated, .indexed][input.choice % 3]
    guard let query = try? encoding.encode(json) else { return 0 }
    demand(query.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != 0x23 }, "not escaped: \(query)")
    check(base.appendingQuery(query))
    return 0
}

private func check(_ url: HTTPURL) {
    demand(
        url.origin.scheme == "http" || url.origin.scheme == "https", "\(url.text) is of no scheme")
    demand(isFieldText(url.text) && !url.text.utf8.contains(0x23), "\(url.text) is no target")
    demand(url.path.utf8.first == 0x2F, "the path of \(url.text) is \(url.path)")
    do {
        let again = try HTTPURL(url.text)
        demand(again.text == url.text, "\(url.text) reads back as \(again.text)")
        demand(again.origin == url.origin, "\(url.text) is of \(url.origin.text)")
    } catch {
        fatalError("\(url.text) cannot be read again: \(error.message)")
    }
}
