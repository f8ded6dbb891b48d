// Wherry: content coding of request bodies.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherrySystem
import WherryTransport

/// Decides the content coding of a request body (R37, RFC 9110 section 8.4).
package enum BodyCoding {
    /// The handling of a body whose request already has a `Content-Encoding` header. The raw values
    /// are those of the option.
    private enum Coded: Int64 { case skip, replace, error }

    /// The coding of a body.
    package enum Plan {
        case nothing
        /// Compress the body at once. The result is sent only if it is smaller.
        case whole(Bytes, Inflater.Coding)
        /// Compress the body while it is sent.
        case streamed(any BodySource, Inflater.Coding)
    }

    /// The largest body that is compressed at once, in bytes. Such a body keeps its
    /// `Content-Length`.
    static let wholeLimit = 1 << 20
    /// The largest body that is compressed on the calling thread, in bytes. Takes half a
    /// millisecond.
    package static let quick = 16_384

    private static func coding(_ options: OptionTable) -> Inflater.Coding? {
        switch options[.bodyCoding] {
        case 1: .gzip
        case 2: .deflate
        default: nil
        }
    }

    /// Returns the header of that name that is sent: that of the request, otherwise that of the
    /// client. A header whose value is `nil` is suppressed.
    private static func field(_ request: Request, _ settings: ClientSettings) -> Headers.Field? {
        request.headers.fields.last { Headers.areEqual($0.name, "Content-Encoding") }
            ?? settings.fields.last { Headers.areEqual($0.name, "Content-Encoding") }
    }

    /// Throws if the caller wants an error for a body that is already coded, and the request has
    /// such a body.
    package static func check(
        _ request: Request, _ settings: ClientSettings, _ options: OptionTable
    ) throws(WherryError) {
        guard let coding = coding(options), options[.codedBody] == Coded.error.rawValue,
            let value = field(request, settings)?.value
        else { return }
        switch request.body {
        case .multipart: return
        // Without content there is nothing to compress.
        case .none
        where request.parameters.isEmpty || RequestPlanner.takesQuery(request.effectiveMethod):
            return
        case .none, .json, .form, .bytes, .file, .stream: break
        }
        throw WherryError(
            .badHeader,
            "Could not encode the body as \(coding.rawValue): the request has Content-Encoding: \(value), so its body is already encoded. "
                + OptionAdvice.codedBody.text)
    }

    /// Returns how to code this body.
    package static func plan(
        _ body: PreparedBody, of request: Request, _ settings: ClientSettings,
        _ options: OptionTable, workers: WorkerPool
    ) throws(WherryError) -> Plan {
        guard let coding = coding(options) else { return .nothing }
        // Most multipart forms contain data that is already compressed, such as images.
        if let type = body.contentType.flatMap({ MediaType($0) }),
            type.essence.hasPrefix("multipart/")
        {
            return .nothing
        }
        if let field = field(request, settings) {
            try check(request, settings, options)
            if field.value == nil || options[.codedBody] == Coded.skip.rawValue { return .nothing }
        }
        let least = options[.bodyCodingMinBytes]
        switch body.body {
        case .none: return .nothing
        case .bytes(let bytes):
            // An empty body cannot become smaller.
            guard !bytes.isEmpty, Int64(bytes.count) >= least else { return .nothing }
            guard bytes.count > wholeLimit else { return .whole(bytes, coding) }
            return .streamed(
                try RequestPlanner.segmented([.bytes(bytes)], workers: workers), coding)
        case .source(let source):
            guard source.length != 0, source.length ?? .max >= least else { return .nothing }
            return .streamed(source, coding)
        }
    }
}

extension PreparedBody {
    /// Returns the progress of the body before compression. The compressed size counts only in wire
    /// totals.
    package func plainSent(_ exchange: Exchange) -> (sent: Int64, total: Int64?) {
        switch exchange.request.body {
        case .none: return (exchange.sent, 0)
        case .bytes(let bytes):
            let count = Int64(bytes.count)
            guard let plainLength else { return (exchange.sent, count) }
            // The body was compressed at once, and is at most 1 MiB.
            return (plainLength * min(exchange.sent, count) / max(1, count), plainLength)
        case .source(let source as CodedBody): return (source.plainSent, source.plain.length)
        case .source(let source): return (exchange.sent, source.length)
        }
    }
}
