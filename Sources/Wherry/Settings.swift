// Wherry: the words that settings of clients and requests are made of.
// SPDX-License-Identifier: Apache-2.0

/// Which codings of content an answer may have. All that is asked for is undone.
public enum ContentCodings: Int64, Sendable, Hashable, CaseIterable {
    /// None: the bytes as they are.
    case identity = 0
    /// gzip and deflate: the default.
    case gzip = 1
    /// br and zstd too, as far as the system's libcurl knows them.
    case all = 2
}

/// Which version of HTTP is spoken.
public enum HTTPVersion: Int64, Sendable, Hashable, CaseIterable {
    /// 2 over TLS where the server offers it, else 1.1: the default. Downloads speak 1.1, since the
    /// frames of HTTP/2 cost processor time.
    case automatic = 0
    /// 1.1 only.
    case http1 = 11
    /// 2 over TLS where the server offers it, for downloads too; a kept connection that speaks 1.1 is
    /// used as it is.
    case http2 = 20
}

/// How arrays stand in queries and forms.
public enum ArrayStyle: Int64, Sendable, Hashable, CaseIterable {
    /// `a[]=1&a[]=2`: the default.
    case brackets = 0
    /// `a=1&a=2`.
    case repeated = 1
    /// `a[0]=1&a[1]=2`.
    case indexed = 2
}

/// How members of objects stand in queries and forms.
public enum MemberStyle: Int64, Sendable, Hashable, CaseIterable {
    /// `a[b]=1`: the default.
    case brackets = 0
    /// `a.b=1`.
    case dots = 1
}

/// How bools stand in queries and forms.
public enum BoolStyle: Int64, Sendable, Hashable, CaseIterable {
    /// `1` and `0`: the default.
    case digits = 0
    /// `true` and `false`.
    case words = 1
}

/// Which digest of a body or part is sent along, for the server to check what came.
public enum ContentDigest: Int64, Sendable, Hashable, CaseIterable {
    /// None: the default.
    case none = 0
    /// Content-MD5 (RFC 1864), which old storage servers ask for.
    case md5 = 1
    /// Content-Digest (RFC 9530) with SHA-256.
    case sha256 = 3
    /// Content-Digest (RFC 9530) with SHA-512.
    case sha512 = 4
}

/// A coding of a request's body (RFC 9110 section 8.4.1).
public enum ContentCoding: Int64, Sendable, Hashable, CaseIterable {
    /// None: the default.
    case identity = 0
    /// gzip (RFC 1952), which most servers know.
    case gzip = 1
    /// The zlib format (RFC 1950).
    case deflate = 2
}

/// Which partials a download may go on with. The server's validator decides about each.
public enum PartialOrigin: Int64, Sendable, Hashable, CaseIterable {
    /// Those of the same URL.
    case sameURL = 0
    /// Those of the same URL with any query, such as a link with a new signature: the default.
    case sameURLButQuery = 1
    /// Any that was to become the same file: a fresh link in place of one that has expired.
    case anyURL = 2
}

/// What a download waits for before it counts bytes as kept.
public enum Durability: Int64, Sendable, Hashable, CaseIterable {
    /// Nothing: a crash of the program costs nothing, one of the system may cost the partial.
    case lazy = 0
    /// The disk, at most 1 s or 4 MiB after bytes have arrived, and before the file gets its name: the
    /// default. On a slow disk more than 4 MiB may arrive within that second.
    case checkpoints = 1
    /// The disk after every 1 MiB too.
    case full = 2
}
