// Wherry: what a download reads in the head of an answer
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// The fields of an answer that decide about a download.
package struct DownloadHead: Sendable {
    package var status: Int
    /// Whose answer it is, for sentences.
    package var url = ""
    /// When it came, in seconds since 1970.
    package var receivedAt: Int64
    /// Every Content-Length, split at commas: more than one different value is an error.
    package var contentLengths: [String] = []
    package var hasTransferEncoding = false
    package var contentRange: String?
    package var contentType: String?
    /// Lower case; empty for none and for `identity`.
    package var contentEncoding = ""
    /// `Accept-Ranges: none`.
    package var refusesRanges = false
    package var entityTags: [String] = []
    package var lastModified: String?
    package var lastModifiedSeconds: Int64?
    package var dateSeconds: Int64?
    package var retryAfter: String?
    package var contentDisposition: String?
    /// The digests of the whole file the server announces, the best first.
    package var digests: [DownloadDigest] = []

    /// - Parameters:
    ///   - fields: in the order of arrival, of the final answer only; names in any case.
    ///   - wallSeconds: when it came, in seconds since 1970.
    package init(
        status: Int, fields: some Sequence<(name: String, value: String)>, at wallSeconds: Int64
    ) {
        self.status = status
        receivedAt = wallSeconds
        var reprDigest: [String] = []
        var oldDigest: [String] = []
        var contentMD5: String?
        var encodings: [String] = []
        for field in fields {
            switch field.name.lowercased() {
            case "content-length":
                contentLengths += field.value.split(
                    separator: ",", omittingEmptySubsequences: false
                )
                .map { DownloadHead.trimmed($0) }
            case "transfer-encoding": hasTransferEncoding = true
            case "content-range": contentRange = DownloadHead.joined(contentRange, field.value)
            case "content-type": contentType = field.value.lowercased()
            case "content-encoding": encodings.append(field.value.lowercased())
            case "accept-ranges":
                refusesRanges = DownloadHead.trimmed(field.value.lowercased()) == "none"
            case "etag": entityTags.append(DownloadHead.trimmed(field.value))
            case "last-modified": lastModified = DownloadHead.joined(lastModified, field.value)
            case "date":
                dateSeconds = HTTPDate.parse(DownloadHead.trimmed(field.value), now: wallSeconds)
            case "retry-after": retryAfter = DownloadHead.trimmed(field.value)
            case "content-disposition": contentDisposition = field.value
            case "repr-digest": reprDigest.append(field.value)
            case "digest": oldDigest.append(field.value)
            case "content-md5": contentMD5 = field.value
            default: break
            }
        }
        lastModifiedSeconds = lastModified.flatMap { HTTPDate.parse($0, now: wallSeconds) }
        let encoding = DownloadHead.trimmed(encodings.joined(separator: ","))
        contentEncoding = encoding == "identity" ? "" : encoding
        digests = DigestFields.announced(
            reprDigest: reprDigest, digest: oldDigest,
            // Content-MD5 is that of the message, which is the whole file only in a 200 (DR17).
            contentMD5: status == 200 ? contentMD5 : nil)
    }

    /// How many bytes the body has; `nil` if the head does not say.
    ///
    /// - Throws: `protocol` where two lengths differ, a length is no number, or a length comes
    ///   with a transfer coding (DR12): such an answer can be cut in two ways.
    package func bodyLength() throws(DownloadError) -> Int64? {
        guard let first = contentLengths.first else { return nil }
        guard !hasTransferEncoding else {
            throw DownloadError(.badProtocol, "The answer has a length and a transfer coding")
        }
        guard contentLengths.allSatisfy({ $0 == first }) else {
            let other = contentLengths.first { $0 != first } ?? ""
            throw DownloadError(
                .badProtocol, "The answer has two different lengths, \(first) and \(other)")
        }
        guard let length = FieldScanner.number(first.utf8) else {
            throw DownloadError(.badProtocol, "The answer's length is not a number")
        }
        return length
    }

    /// A field that may stand there once only. Of two neither is believed: together they are no
    /// value at all (RFC 9110, section 5.3).
    private static func joined(_ before: String?, _ value: String) -> String {
        before.map { $0 + ", " + trimmed(value) } ?? trimmed(value)
    }

    static func trimmed(_ text: some StringProtocol) -> String {
        let isSpace: (Character) -> Bool = { $0 == " " || $0 == "\t" }
        guard let last = text.lastIndex(where: { !isSpace($0) }) else { return "" }
        return String(text[...last].drop(while: isSpace))
    }
}
