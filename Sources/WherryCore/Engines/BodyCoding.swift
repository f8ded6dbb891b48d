// Wherry: whether the body of a request is coded before it is sent, and how.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem
import WherryTransport

/// Joins what client and request say about the content coding of a body (R37, RFC 9110 section 8.4).
enum BodyCoding {
    /// What becomes of a body whose request has a Content-Encoding of its own. The raw values are
    /// those of the option.
    private enum Coded: Int64 { case skip, replace, error }

    /// What is to be done with a body.
    enum Plan {
        case nothing
        /// It is coded as one, and goes out if that made it smaller.
        case whole(Bytes, Inflater.Coding)
        /// It is coded while it is sent.
        case streamed(any BodySource, Inflater.Coding)
    }

    /// Bodies in memory up to this size are coded as one, and so keep a Content-Length.
    static let wholeLimit = 1 << 20
    /// Up to this size it is done at once, on whichever thread it is: half a millisecond.
    static let quick = 16_384

    private static func coding(_ options: OptionTable) -> Inflater.Coding? {
        switch options[.bodyCoding] {
        case 1: .gzip
        case 2: .deflate
        default: nil
        }
    }

    /// The field of that name that goes out, request before client; a `nil` value suppresses it.
    private static func field(_ request: Request, _ settings: ClientSettings) -> Headers.Field? {
        request.headers.fields.last { Headers.areEqual($0.name, "Content-Encoding") }
            ?? settings.fields.last { Headers.areEqual($0.name, "Content-Encoding") }
    }

    /// Refuses a request that says its body is coded already, where that was asked for.
    static func check(
        _ request: Request, _ settings: ClientSettings, _ options: OptionTable
    ) throws(WherryError) {
        guard let coding = coding(options), options[.codedBody] == Coded.error.rawValue,
            let value = field(request, settings)?.value
        else { return }
        switch request.body {
        case .multipart: return
        // Where there is no content there is nothing to be coded.
        case .none
        where request.parameters.isEmpty || RequestPlanner.takesQuery(request.effectiveMethod):
            return
        case .none, .json, .form, .bytes, .file, .stream: break
        }
        throw WherryError(
            .badHeader,
            "Could not code the body as \(coding.rawValue): the request has Content-Encoding: \(value), so its body is coded already. "
                + OptionAdvice.codedBody.text)
    }

    /// What is to be done with this body.
    static func plan(
        _ body: PreparedBody, of request: Request, _ settings: ClientSettings,
        _ options: OptionTable, workers: WorkerPool
    ) throws(WherryError) -> Plan {
        guard let coding = coding(options) else { return .nothing }
        // Of forms most is coded already: pictures and files.
        if let type = body.contentType.flatMap({ MediaType($0) }), type.essence.hasPrefix("multipart/") {
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
            // Of nothing there is nothing to be made smaller.
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
    /// How much of the body as it was given has been sent, and of how much: what a coding has made of
    /// it counts nowhere but on the wire.
    func plainSent(_ exchange: Exchange) -> (sent: Int64, total: Int64?) {
        switch exchange.request.body {
        case .none: return (exchange.sent, 0)
        case .bytes(let bytes):
            let count = Int64(bytes.count)
            guard let plainLength else { return (exchange.sent, count) }
            // All of it was coded as one, and at most 1 MiB.
            return (plainLength * min(exchange.sent, count) / max(1, count), plainLength)
        case .source(let source as CodedBody): return (source.plainSent, source.plain.length)
        case .source(let source): return (exchange.sent, source.length)
        }
    }
}

extension RequestTransfer {
    /// Whether it is to be decided yet what becomes of the body.
    var lacksCoding: Bool {
        guard options[.bodyCoding] != 0 else { return false }
        return hops.withLock { !$0.body.isCodingSettled }
    }

    /// Codes the body, or prepares it to be coded, and sends the request then.
    func codeBody(wake: Wake) {
        do throws(WherryError) {
            let (request, body) = hops.withLock { ($0.edited ?? self.request, $0.body) }
            switch try BodyCoding.plan(body, of: request, settings, options, workers: client.workers) {
            case .nothing: settle { _ in }
            case .streamed(let source, let coding):
                let coded = CodedBody(
                    source, coding, flushes: stream != nil, workers: client.workers)
                settle { body in
                    body.body = .source(coded)
                    body.coding = coding
                }
            case .whole(let bytes, let coding):
                guard bytes.count > BodyCoding.quick else {
                    try code(bytes, coding)
                    break
                }
                return client.workers.submit { [self] in
                    do throws(WherryError) {
                        try code(bytes, coding)
                        resume { send(wake: .now) }
                    } catch {
                        end(TransferOutcome(error: error))
                    }
                }
            }
            send(wake: wake)
        } catch {
            end(TransferOutcome(error: error))
        }
    }

    private func settle(_ change: (inout PreparedBody) -> Void) {
        hops.withLock { state in
            change(&state.body)
            state.body.isCodingSettled = true
        }
    }

    /// Codes all of the body here and now.
    private func code(_ bytes: Bytes, _ coding: Inflater.Coding) throws(WherryError) {
        guard let coded = Deflater.code(bytes, coding) else {
            throw WherryError(.noMemory, "There is no memory for coding the body of the request")
        }
        settle { body in
            // What it makes longer, as it does with pictures, goes out as it is.
            guard coded.count < bytes.count else { return }
            body.body = .bytes(coded)
            body.coding = coding
            body.plainLength = Int64(bytes.count)
        }
    }
}
