// Wherry: the network transport behind a stub.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// The transport for requests that a stub's rule sends to the network. Created by the first such
/// request.
final class StubNetwork: Sendable {
    private struct State {
        var transport: (any Transport)?
        var limits: (perHost: Int, total: Int)?
        var rate: RequestRate?
        var isClosed = false
    }

    private let make: (@Sendable (any Clock) throws(TransportError) -> any Transport)?
    private let state = Lock(State())

    init(_ make: (@Sendable (any Clock) throws(TransportError) -> any Transport)?) {
        self.make = make
    }

    /// Whether the calling thread runs the network transport's loop.
    var isTurnedHere: Bool { state.withLock { $0.transport }?.isTurnedHere ?? false }

    /// Passes an exchange to the network transport, which then calls its receiver.
    func start(_ exchange: Exchange, clock: any Clock) {
        do {
            try transport(clock).start(exchange, wake: .now)
        } catch {
            exchange.state.phase = .finished
            exchange.refuse(error)
        }
    }

    private func transport(_ clock: any Clock) throws(TransportError) -> any Transport {
        try state.withLock { state throws(TransportError) in
            if let transport = state.transport { return transport }
            guard let make, !state.isClosed else {
                throw TransportError(.connect, "The stub has no network to send the request to")
            }
            let transport = try make(clock)
            if let limits = state.limits {
                transport.setConnectionLimits(perHost: limits.perHost, total: limits.total)
            }
            if let rate = state.rate { transport.setRequestRate(rate) }
            state.transport = transport
            return transport
        }
    }

    /// Passes a message to the network transport if it concerns an exchange there. Limits apply to
    /// both transports. Returns whether the message is done.
    func takes(_ message: StubTransport.Message, _ stub: StubTransport) -> Bool {
        let transport = state.withLock { state in
            switch message {
            case .limits(let perHost, let total): state.limits = (perHost, total)
            case .rate(let rate): state.rate = rate
            default: break
            }
            return state.transport
        }
        guard let transport else { return false }
        func isElsewhere(_ exchange: Exchange) -> Bool { exchange.carrier !== stub }
        switch message {
        case .limits(let perHost, let total):
            transport.setConnectionLimits(perHost: perHost, total: total)
        case .rate(let rate): transport.setRequestRate(rate)
        case .cancel(let exchange) where isElsewhere(exchange): transport.cancel(exchange)
        case .setPaused(let exchange, let paused) where isElsewhere(exchange):
            transport.setPaused(exchange, paused)
        case .setPriority(let exchange, let priority) where isElsewhere(exchange):
            transport.setPriority(exchange, priority)
        default: return false
        }
        switch message {
        case .limits, .rate: return false
        default: return true
        }
    }

    func close() {
        let transport = state.withLock { state in
            state.isClosed = true
            return state.transport
        }
        transport?.close()
    }
}
