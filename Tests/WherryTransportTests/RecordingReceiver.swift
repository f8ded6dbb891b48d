// Wherry: the receiver of the transport's tests
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

@testable import WherryTransport

/// Records everything an exchange reports, and lets a test wait for any of it.
final class RecordingReceiver: ExchangeReceiver {
    struct Heard {
        var starts = 0
        var heads: [ResponseHead] = []
        var pieces: [Bytes] = []
        var pieceBytes: Int64 = 0
        var progress: [(received: Int64, sent: Int64)] = []
        var results: [ExchangeResult] = []
        /// In the order of calls: start, head, piece, progress, finish.
        var order: [String] = []
    }

    let heard = Monitor(Heard())
    private let disposition: BodyDisposition
    /// Whether chunks are returned as soon as they arrive.
    private let consumesAtOnce: Bool
    private let onFinish: (@Sendable (ExchangeResult) -> Void)?

    init(
        _ disposition: BodyDisposition = .collect(limit: 64 << 20), consumesAtOnce: Bool = true,
        onFinish: (@Sendable (ExchangeResult) -> Void)? = nil
    ) {
        self.disposition = disposition
        self.consumesAtOnce = consumesAtOnce
        self.onFinish = onFinish
    }

    func exchangeDidStart(_ exchange: Exchange) {
        heard.update {
            $0.starts += 1
            $0.order.append("start")
        }
    }

    func exchange(_ exchange: Exchange, didReceive head: ResponseHead) -> BodyDisposition {
        heard.update {
            $0.heads.append(head)
            $0.order.append("head")
        }
        return disposition
    }

    func exchange(_ exchange: Exchange, didReceive piece: Bytes) {
        heard.update {
            $0.pieces.append(piece)
            $0.pieceBytes += Int64(piece.count)
            $0.order.append("piece")
        }
        if consumesAtOnce { exchange.consumed() }
    }

    func exchangeDidProgress(_ exchange: Exchange) {
        heard.update {
            $0.progress.append((exchange.received, exchange.sent))
            $0.order.append("progress")
        }
    }

    func exchange(_ exchange: Exchange, didFinish result: ExchangeResult) {
        heard.update {
            $0.results.append(result)
            $0.order.append("finish")
        }
        onFinish?(result)
    }

    /// Waits until the condition holds; `false` after ten minutes, which no passing run reaches.
    func wait(_ condition: @escaping (Heard) -> Bool) -> Bool {
        heard.wait(timeout: .milliseconds(600_000)) { condition($0) ? true : nil } ?? false
    }

    /// Waits for the end.
    func result() throws -> ExchangeResult {
        guard wait({ !$0.results.isEmpty }) else { throw NeverEnded() }
        return heard.withLock { $0.results[0] }
    }

    /// The delivered bytes so far, in order.
    var delivered: [UInt8] {
        heard.withLock { heard in heard.pieces.flatMap { $0.array } }
    }

    var isFinished: Bool { heard.withLock { !$0.results.isEmpty } }

    struct NeverEnded: Error {}
}

/// An exchange with its receiver, started.
struct Call {
    let exchange: Exchange
    let receiver: RecordingReceiver

    /// Creates an exchange, not started yet.
    init(
        _ method: String = "GET", _ url: String, headers: [(String, String?)] = [],
        body: ExchangeBody = .none, receiver: RecordingReceiver = RecordingReceiver(),
        configure: (inout ExchangeRequest) -> Void = { _ in }
    ) throws {
        var request = ExchangeRequest(
            method: method, url: try HTTPURL(url),
            headers: HeaderList(headers.map { (name: $0.0, value: $0.1) }), body: body)
        configure(&request)
        self.receiver = receiver
        exchange = Exchange(request, receiver: receiver)
    }

    @discardableResult
    func start(on transport: any Transport) -> Call {
        transport.start(exchange, wake: .now)
        return self
    }

    func result() throws -> ExchangeResult { try receiver.result() }
}
