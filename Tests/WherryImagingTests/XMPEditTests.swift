// Wherry: tests of the removal of properties from XMP.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import WherryImaging

@Suite struct XMPEditTests {
    private func removing(_ texts: [MetadataField: String], _ packet: [UInt8]) -> String? {
        var edits = MetadataEdits()
        edits.texts = texts
        let rules = edits
        return XMP.removing(rules.removesProperty, from: packet).map {
            String(decoding: $0, as: UTF8.self)
        }
    }

    @Test("I6 XMP loses the properties of edited fields, and keeps all other bytes")
    func properties() throws {
        let rights =
            "<dc:rights><rdf:Alt><rdf:li xml:lang='x-default'>Old &amp; gone</rdf:li></rdf:Alt></dc:rights>"
        let creator = "<dc:creator><rdf:Seq><rdf:li>Old</rdf:li></rdf:Seq></dc:creator>"
        let packet = MetadataEditTests.packet(
            "q:Make = 'Old' xmp:CreatorTool=\"Tool 1\"",
            "\(rights)<!-- <dc:rights> -->\(creator)<q:Copyright/>")
        let text = String(decoding: packet, as: UTF8.self)
        #expect(
            removing([.copyright: "new"], packet)
                == text.replacing(rights, with: "").replacing("<q:Copyright/>", with: ""))
        #expect(removing([.artist: "new"], packet) == text.replacing(creator, with: ""))
        #expect(
            removing([.make: "", .software: "new"], packet)
                == text.replacing(" q:Make = 'Old' xmp:CreatorTool=\"Tool 1\"", with: ""))
        #expect(removing([.model: "new"], packet) == text)
        // A prefix means what its element declares.
        let other = Array("<a xmlns:dc='urn:other'><dc:rights>stays</dc:rights></a>".utf8)
        #expect(removing([.copyright: "new"], other) == String(decoding: other, as: UTF8.self))
        let inner = Array(
            "<a><r xmlns='http://purl.org/dc/elements/1.1/'><rights>x</rights></r></a>".utf8)
        #expect(
            removing([.copyright: "new"], inner)
                == "<a><r xmlns='http://purl.org/dc/elements/1.1/'></r></a>")
    }

    @Test(
        "I6 malformed XMP is refused",
        arguments: [
            "", "text", "<a", "<a>", "</a>", "<a></b>", "<a b></a>", "<a b=c></a>", "<a b='c></a>",
            "<!DOCTYPE a [<!ENTITY e 'x'>]><a/>", "<a/><a/>", "<x:a/>", "<a x:b='1'/>",
            "<a b='<'/>",
            "<a><!-- </a>", "<a><![CDATA[ </a>", "<? a", "<a xmlns:b='&#x68;ttp'/>", "<a\0/>",
            "<a><b></a></b>", "<a b='1'c='2'/>",
        ])
    func malformedXMP(text: String) {
        #expect(XMP.removing({ _, _ in false }, from: Array(text.utf8)) == nil)
    }

    @Test("I6 deep and long XMP is refused without overflow")
    func hugeXMP() {
        let deep = Array(String(repeating: "<a>", count: 100_000).utf8)
        #expect(XMP.removing({ _, _ in false }, from: deep) == nil)
        let attributes = (0..<1_000).map { " a\($0)=''" }.joined()
        #expect(XMP.removing({ _, _ in false }, from: Array("<a\(attributes)/>".utf8)) == nil)
        let namespaces = (0..<300).map { " xmlns:a\($0)='u'" }.joined()
        #expect(XMP.removing({ _, _ in false }, from: Array("<a\(namespaces)/>".utf8)) == nil)
    }
}
