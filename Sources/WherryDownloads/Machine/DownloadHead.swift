// Wherry: response headers that affect a download.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherrySystem

/// The status and the fields of a response that affect a download.
package struct DownloadHead: Sendable {
    package var status: Int
    /// The URL of the response, for messages.
    package var url = ""
    /// When the response arrived, in seconds since 1970.
    package var receivedAt: Int64
    /// Every Content-Length value, split at commas. More than one distinct value is an error.
    package var contentLengths: [String] = []
    package var hasTransferEncoding = false
    package var contentRange: String?
    package var contentType: String?
    /// In lower case; empty for none and for `identity`.
    package var contentEncoding = ""
    /// Whether the response has `Accept-Ranges: none`.
    package var refusesRanges = false
    package var entityTags: [String] = []
    package var lastModified: String?
    package var lastModifiedSeconds: Int64?
    package var dateSeconds: Int64?
    package var retryAfter: String?
    package var contentDisposition: String?
    /// The digests of the whole file that the server sent, the strongest first.
    package var digests: [DownloadDigest] = []

    /// - Parameters:
    ///   - fields: The fields of the final response only, in order of arrival. Names may have any
    ///     case.
    ///   - wallSeconds: When the response arrived, in seconds since 1970.
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
            // Content-MD5 covers the message, which is the whole file only in a 200 response
            // (DR17).
            contentMD5: status == 200 ? contentMD5 : nil)
    }

    /// Returns the length of the body; `nil` if the response headers do not give it.
    ///
    /// - Throws: `protocol` if two lengths differ, if a length is not a number, or if a length
    ///   comes with a transfer coding (DR12). The end of such a response is ambiguous.
    package func bodyLength() throws(DownloadError) -> Int64? {
        guard let first = contentLengths.first else { return nil }
        guard !hasTransferEncoding else {
            throw DownloadError(
                .badProtocol, "The response has both Content-Length and Transfer-Encoding")
        }
        guard contentLengths.allSatisfy({ $0 == first }) else {
            let other = contentLengths.first { $0 != first } ?? ""
            throw DownloadError(
                .badProtocol,
                "The response has two different Content-Length values, \(first) and \(other)")
        }
        guard let length = FieldScanner.number(first.utf8) else {
            throw DownloadError(
                .badProtocol, "The Content-Length of the response is not a number")
        }
        return length
    }

    /// Joins repeated values of a field that may occur only once. The joined value is invalid, so
    /// neither value is trusted (RFC 9110, section 5.3).
    private static func joined(_ before: String?, _ value: String) -> String {
        before.map { $0 + ", " + trimmed(value) } ?? trimmed(value)
    }

    static func trimmed(_ text: some StringProtocol) -> String {
        let isSpace: (Character) -> Bool = { $0 == " " || $0 == "\t" }
        guard let last = text.lastIndex(where: { !isSpace($0) }) else { return "" }
        return String(text[...last].drop(while: isSpace))
    }
}
