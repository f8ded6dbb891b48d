// Wherry: enumerations for the settings of clients and requests.
// SPDX-License-Identifier: Apache-2.0

/// The content encodings to request. All of them are decoded.
public enum ContentCodings: Int64, Sendable, Hashable, CaseIterable {
    /// None: the bytes are unchanged.
    case identity = 0
    /// gzip and deflate. The default.
    case gzip = 1
    /// Also br and zstd, if the system's libcurl supports them.
    case all = 2
}

/// An HTTP version.
public enum HTTPVersion: Int64, Sendable, Hashable, CaseIterable {
    /// HTTP/2 over TLS if the server offers it, otherwise 1.1. The default. Downloads and bodies over
    /// 16 KiB use 1.1, because HTTP/2 framing costs CPU time.
    case automatic = 0
    /// 1.1 only.
    case http1 = 11
    /// HTTP/2 over TLS if the server offers it, for every request. An existing connection that
    /// uses 1.1 is reused.
    case http2 = 20
}

/// The encoding of arrays in queries and forms.
public enum ArrayStyle: Int64, Sendable, Hashable, CaseIterable {
    /// `a[]=1&a[]=2`. The default.
    case brackets = 0
    /// `a=1&a=2`.
    case repeated = 1
    /// `a[0]=1&a[1]=2`.
    case indexed = 2
}

/// The encoding of object members in queries and forms.
public enum MemberStyle: Int64, Sendable, Hashable, CaseIterable {
    /// `a[b]=1`. The default.
    case brackets = 0
    /// `a.b=1`.
    case dots = 1
}

/// The encoding of bools in queries and forms.
public enum BoolStyle: Int64, Sendable, Hashable, CaseIterable {
    /// `1` and `0`. The default.
    case digits = 0
    /// `true` and `false`.
    case words = 1
}

/// The digest of a body or part to send, so that the server can verify the data.
public enum ContentDigest: Int64, Sendable, Hashable, CaseIterable {
    /// None. The default.
    case none = 0
    /// Content-MD5 (RFC 1864), which old storage servers require.
    case md5 = 1
    /// Content-Digest (RFC 9530) with SHA-256.
    case sha256 = 3
    /// Content-Digest (RFC 9530) with SHA-512.
    case sha512 = 4
}

/// A content encoding of request bodies (RFC 9110, section 8.4.1).
public enum ContentCoding: Int64, Sendable, Hashable, CaseIterable {
    /// None. The default.
    case identity = 0
    /// gzip (RFC 1952), which most servers support.
    case gzip = 1
    /// The zlib format (RFC 1950).
    case deflate = 2
}

/// The partial files that a download may resume. The server's validator decides whether each file
/// is resumed.
public enum PartialOrigin: Int64, Sendable, Hashable, CaseIterable {
    /// Those of the same URL.
    case sameURL = 0
    /// Those of the same URL with any query, such as a link with a new signature. The default.
    case sameURLButQuery = 1
    /// Any partial file for the same output file: a new link in place of an expired one.
    case anyURL = 2
}

/// When downloaded bytes count as saved.
public enum Durability: Int64, Sendable, Hashable, CaseIterable {
    /// At once: a crash of the program loses nothing, but a system crash may lose the partial file.
    case lazy = 0
    /// When they are on disk: at most 1 s or 4 MiB after they arrived, and before the file gets its
    /// final name. The default. On a slow disk more than 4 MiB may arrive within that second.
    case checkpoints = 1
    /// When they are on disk: also after every 1 MiB.
    case full = 2
}
