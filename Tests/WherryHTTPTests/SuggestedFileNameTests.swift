// Wherry: tests of file names suggested by servers.
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import WherryHTTP

@Suite struct SuggestedFileNameTests {
    private static func choose(_ disposition: String?, _ url: String = "http://h/") -> String {
        SuggestedFileName.choose(contentDisposition: disposition, url: url)
    }

    @Test(
        "D19 Content-Disposition is parsed as servers write it",
        arguments: [
            (#"attachment; filename="a.txt""#, "a.txt"), ("attachment; filename=a.txt", "a.txt"),
            ("attachment;filename = a b.txt ; size=3", "a b.txt"), ("filename=a.txt", "a.txt"),
            (#"inline; FileName="a.txt""#, "a.txt"),
            (#"attachment; filename="a\"b\\c.txt""#, "c.txt"),
            (#"attachment; filename="a;b=c.txt"; x=y"#, "a;b=c.txt"),
            (#"attachment; filename="open.txt"#, "open.txt"),
            (#"attachment; filename="first.txt"; filename="second.txt""#, "first.txt"),
            (#"attachment; filename="a%20b.txt""#, "a%20b.txt"),
            (#"attachment; filename="tête.txt""#, "tête.txt"),
            (#"attachment; x="filename=evil"; filename=good"#, "good"),
            (#"attachment; filename="C:\dir\file.txt""#, "file.txt"),
            ("attachment; filename*=UTF-8''%e2%82%ac%20rates.bin", "€ rates.bin"),
            (#"attachment; filename="x"; filename*=utf-8'en'%e2%82%ac.bin"#, "€.bin"),
            (#"attachment; filename*=UTF-8''y.bin; filename="x""#, "y.bin"),
            ("attachment; filename*=iso-8859-1''na%EFve.txt", "naïve.txt"),
            (#"attachment; filename*="UTF-8''quoted.txt""#, "quoted.txt"),
            (#"attachment; filename*=UTF-8''%ff; filename="plain""#, "plain"),
            (#"attachment; filename*=UTF-8''%4; filename="plain""#, "plain"),
            (#"attachment; filename*=koi8-r''x; filename="plain""#, "plain"),
            (#"attachment; filename*=x; filename="plain""#, "plain"),
            (#"attachment; filename*=UTF-8''..; filename="plain""#, "plain"),
            ("attachment", "download"), ("", "download"), (";;=;", "download"),
            ("attachment; filename=", "download"), (#"attachment; filename="""#, "download"),
        ])
    func dispositions(value: String, expected: String) {
        #expect(Self.choose(value) == expected)
    }

    @Test("D19 a plain name in ISO-8859-1 is decoded as such")
    func latin1() {
        let value = Array("attachment; filename=\"na".utf8) + [0xEF] + Array("ve.txt\"".utf8)
        #expect(SuggestedFileName.choose(contentDisposition: value, url: "") == "naïve.txt")
    }

    @Test(
        "D19 without a usable name the URL's last segment is used, then nothing",
        arguments: [
            ("http://h/dir/file.bin", "file.bin"), ("http://h/dir/file.bin?x=/y#/z", "file.bin"),
            ("http://h/a%20b%2Etxt", "a b.txt"), ("http://h/dir/", "dir"),
            ("http://h//", "download"),
            ("http://h", "download"), ("http://h?x=/y", "download"), ("", "download"),
            ("http://h/..%2f..%2fetc%2fpasswd", "passwd"), ("http://h/%2e%2e", "download"),
            ("http://h/%252e%252e%252fx", "x"), ("http://h/%zz", "%zz"), ("http://h/%ff", "%ff"),
            ("http://h/a\\..\\b", "b"), ("file.bin", "file.bin"), ("http://h/%00", "download"),
            ("http://u:p@h:8/x", "x"),
        ])
    func urls(url: String, expected: String) {
        #expect(Self.choose(nil, url) == expected)
        #expect(Self.choose("attachment; filename=\"..\"", url) == expected)
    }

    @Test(
        "SEC-C7 hostile names become harmless ones",
        arguments: [
            ("../../evil", "evil"), ("..\\..\\evil", "evil"), ("/etc/passwd", "passwd"),
            ("..%2f..%2Fevil", "evil"), ("..%5C..%5cevil", "evil"), ("a/b\\c%2fd", "d"),
            ("a/", nil),
            ("%2f", nil), ("%2", "%2"), (".", nil), ("..", nil), ("...", nil), ("", nil),
            ("   ", nil),
            (".bashrc", "bashrc"), ("-rf", "rf"), ("--.- x", "x"), (". -a", "a"), ("x. . ", "x"),
            ("a\u{0}b", "ab"), ("a\r\nb\u{1B}[31m", "ab[31m"), ("\u{7F}\u{85}\u{9F}", nil),
            ("exe\u{202E}gpj.txt", "exegpj.txt"), ("\u{2066}a\u{2069}\u{200F}\u{61C}", "a"),
            ("a\u{2028}b", "ab"), ("\u{3000}a\u{A0}", "a"), ("e\u{301}", "\u{E9}"),
            ("CON", "_CON"), ("con.txt", "_con.txt"), ("NUL .x", "_NUL .x"),
            ("lpt1.a.b", "_lpt1.a.b"),
            ("COM0", "COM0"), ("COM10", "COM10"), ("console", "console"), ("aux.", "_aux"),
            ("x.part", "x.part_"), ("x.PART", "x.PART_"), ("x.journal", "x.journal_"),
            ("x.lock", "x.lock_"), (".part", "part"), ("x.part ", "x.part_"),
            ("x.party", "x.party"),
            ("$(rm -rf ~)`;|&*?", "$(rm -rf ~)`;|&*?"),
        ] as [(String, String?)])
    func hostile(name: String, expected: String?) {
        let clean = SuggestedFileName.clean(name)
        #expect(clean.map { Array($0.utf8) } == expected.map { Array($0.utf8) }, "\(clean ?? "-")")
    }

    @Test("SEC-C7 long names are truncated at a character and keep their extension")
    func long() throws {
        let a = String(repeating: "a", count: 1_000)
        #expect(SuggestedFileName.clean(a + ".tar")?.utf8.count == 232)
        #expect(SuggestedFileName.clean(a + ".tar")?.hasSuffix("aaa.tar") == true)
        #expect(SuggestedFileName.clean(a + ".tar", maximum: 255)?.utf8.count == 255)
        #expect(SuggestedFileName.clean(a, maximum: 1_000)?.utf8.count == 255)
        #expect(SuggestedFileName.clean(a, maximum: -1)?.utf8.count == 32)
        #expect(SuggestedFileName.clean("x." + a)?.utf8.count == 232)
        #expect(SuggestedFileName.clean(a + ".part")?.hasSuffix("a.part_") == true)
        #expect(SuggestedFileName.clean(a + ".part")?.utf8.count == 232)
        let spaced = String(repeating: "a", count: 227) + "   " + a + ".txt"
        #expect(SuggestedFileName.clean(spaced) == String(repeating: "a", count: 227) + ".txt")
        for emoji in ["😀", "👨‍👩‍👧", "🇪🇺", "天"] {
            let name = try #require(
                SuggestedFileName.clean(String(repeating: emoji, count: 200) + ".jpg"))
            #expect(
                name.utf8.count <= 232 && name.utf8.count > 200 && name.hasSuffix(emoji + ".jpg"))
        }
        let zalgo = "z" + String(repeating: "\u{300}", count: 500)
        let cut = try #require(SuggestedFileName.clean(zalgo))
        #expect(cut.utf8.count <= 232 && cut.utf8.count > 200)
    }

    @Test("SEC-C7 for any bytes, the result is the name of a direct child")
    func property() {
        let pieces = [
            "..", "/", "\\", "%2f", "%5C", ".", "-", " ", "\u{0}", "\n", "\u{202E}", "a", "é", "😀",
            "%",
            ".part", "CON", "\"", ";", "=", "filename*=UTF-8''", "\u{301}",
            String(repeating: "x", count: 90),
        ]
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<3_000 {
            let text = (0..<Int.random(in: 0...12, using: &generator)).map { _ in
                pieces.randomElement(using: &generator) ?? ""
            }.joined()
            for name in [
                Self.choose("attachment; filename=\(text)"), Self.choose(nil, "http://h/" + text),
            ] {
                let scalars = name.unicodeScalars
                #expect(!name.isEmpty && name.utf8.count <= 232, "\(text.debugDescription)")
                #expect(scalars.allSatisfy { $0 != "/" && $0 != "\\" && $0.value >= 0x20 })
                #expect(scalars.first != "." && scalars.first != "-" && scalars.last != ".")
                #expect(!name.hasSuffix(".part") && name.uppercased() != "CON")
            }
        }
    }
}
