// Wherry: names of partial files, digests in headers
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import WherryDownloads
@testable import WherryHTTP
@testable import WherrySystem

@Suite("Names of partial files") struct PartNamesTests {
    @Test("partial file and journal are next to the file under hidden names")
    func names() throws {
        let names = PartNames(name: "a.bin", digits: "0123abcd")
        #expect(names.part == ".a.bin.0123abcd.part")
        #expect(names.journal == ".a.bin.0123abcd.journal")
        #expect(try #require(PartNames.parse(names.part)).names == names)
        #expect(try #require(PartNames.parse(names.part)).isJournal == false)
        #expect(try #require(PartNames.parse(names.journal)).isJournal)
    }

    @Test(
        "other names are not partial files",
        arguments: [
            "a.bin", ".part", ".journal", "..0123abcd.part", ".a.0123abc.part",
            ".a.0123ABCD.part", ".a.0123abcg.part", ".a0123abcd.part", "a.0123abcd.part",
            ".a.0123abcd.partial", "",
        ])
    func foreign(_ name: String) { #expect(PartNames.parse(name) == nil) }

    @Test("the longest name still gives names that a file system accepts")
    func longNames() throws {
        let name = String(repeating: "€", count: 85)
        let names = PartNames(name: name, digits: "0123abcd")
        #expect(names.journal.utf8.count <= 255)
        #expect(names.stem == String(repeating: "€", count: 79))
        #expect(try #require(PartNames.parse(names.part)).names == names)
    }

    @Test("a number is inserted before the extension")
    func numbers() {
        #expect("a.bin".numbered(1) == "a (1).bin")
        #expect("a.tar.gz".numbered(12) == "a (12).tar.gz")
        #expect("a.gz".numbered(1) == "a (1).gz")
        #expect("noending".numbered(2) == "noending (2)")
        #expect(".hidden".numbered(2) == ".hidden (2)")
        let long = String(repeating: "x", count: 251) + ".bin"
        #expect(long.numbered(3).utf8.count == 255)
        #expect(long.numbered(3).hasSuffix(" (3).bin"))
    }
}

@Suite("Digests a server announces") struct DigestFieldsTests {
    private let sha256 = Digest.hash(of: "x", .sha256)
    private let sha512 = Digest.hash(of: "x", .sha512)
    private let md5 = Digest.hash(of: "x", .md5)

    @Test("Repr-Digest is a dictionary of byte sequences; the strongest is used")
    func reprDigest() {
        let found = DigestFields.announced(
            reprDigest: [
                "sha-256=:\(Base64.encode(sha256)):, unixsum=:AAAA:",
                "sha-512=:\(Base64.encode(sha512)):;q=1",
            ], digest: [], contentMD5: nil)
        #expect(found.map(\.algorithm) == [.sha512, .sha256])
        #expect(found.map(\.bytes) == [sha512, sha256])
        #expect(found.allSatisfy { $0.source == .reprDigest })
    }

    @Test("the older headers are parsed too, and broken ones are ignored")
    func olderFields() {
        let found = DigestFields.announced(
            reprDigest: [
                "sha-256=\(Base64.encode(sha256))", "sha-256=:????:", "=", ",,", "sha-256",
            ],
            digest: ["SHA-256=\(Base64.encode(sha256)),md5=AAAA"],
            contentMD5: " \(Base64.encode(md5)) ")
        #expect(found.map(\.source) == [.digest, .contentMD5])
        #expect(found.map(\.bytes) == [sha256, md5])
    }

    @Test("Content-MD5 counts only if the message is the complete file")
    func contentMD5() {
        let field = [(name: "Content-MD5", value: Base64.encode(md5))]
        #expect(DownloadHead(status: 200, fields: field, at: 0).digests.count == 1)
        #expect(DownloadHead(status: 206, fields: field, at: 0).digests.isEmpty)
    }

    @Test("a caller's digest is parsed as hexadecimal digits or as Base64")
    func callersDigest() {
        #expect(DownloadDigest(.sha256, text: Hex.encode(sha256).uppercased())?.bytes == sha256)
        #expect(DownloadDigest(.sha256, text: " \(Base64.encode(sha256))\t")?.bytes == sha256)
        #expect(DownloadDigest(.sha256, text: Hex.encode(md5)) == nil)
        #expect(DownloadDigest(.md5, text: "") == nil)
    }
}
