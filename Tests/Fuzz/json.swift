// Wherry: fuzz target of JSON text, paths, and Link headers; scripts/fuzz builds and runs it
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherryModels
import WherrySystem

@_cdecl("LLVMFuzzerInitialize")
public func initialize(
    _ count: UnsafeMutablePointer<CInt>?, _ arguments: UnsafeMutableRawPointer?
) -> CInt {
    let seeds = [
        #"a/0/b{"a":[{"b":null},1,-2.5e-3,"é\u00e9\ud83d\ude00\n"],"c":{"d":true,"e":false}}"#,
        #"/{"big":9223372036854775807,"huge":18446744073709551615,"small":-9223372036854775808}"#,
        #"~0~1[[[[[[[[]]]]]]]]"#, #"x"text""#, #"-0.1"#,
        ##"rel</list?page=2>; rel="next prev"; title="a, \"b\"", <x>; anchor="#y"; rel=next"##,
    ]
    writeSeeds(seeds.enumerated().map { [UInt8($0)] + Array($1.utf8) })
    return 0
}

/// Parses a text whose first byte gives the length of a path. An error is a valid result; a parsed
/// value is printed, and must parse back as the same value.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    guard let data, count > 0 else { return 0 }
    let all = Array(UnsafeBufferPointer(start: data, count: count))
    let split = min(1 + Int(all[0] & 15), count)
    let path = String(decoding: all[1..<max(1, split)], as: UTF8.self)
    let text = Array(all[split...])
    _ = LinkField.target("next", in: [String(decoding: text, as: UTF8.self)])
    guard let value = try? JSON.parse(text) else { return 0 }
    do {
        let printed = try value.printed()
        guard try JSON.parse(printed) == value else {
            fatalError("\(String(decoding: printed, as: UTF8.self)) is another value")
        }
        _ = try JSON.parse(try value.printed(.pretty))
    } catch {
        fatalError("What was read cannot be printed and read again: \(error)")
    }
    _ = (value.bool(at: path), value.integer(at: path), value.unsigned(at: path))
    _ = (value.number(at: path), value.text(at: path), value.count(at: path))
    _ = value.removingNullMembers()
    var changed = value
    do {
        try changed.set(.string("new"), at: path)
        // In an array "-" is the position after the last, which is empty.
        guard path.utf8.contains(UInt8(ascii: "-")) || changed.value(at: path) != nil else {
            fatalError("What was put at \(path) is not there")
        }
    } catch {
        guard changed == value else { fatalError("A refused change at \(path) changed something") }
    }
    return 0
}
