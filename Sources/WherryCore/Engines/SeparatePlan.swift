// Wherry: which of many pictures is encoded, sent or sent again next.
// SPDX-License-Identifier: Apache-2.0

/// The life of each picture of an upload with a request for each (U22). Tells what to do, does
/// nothing: encoding goes ahead of sending by no more pictures than are sent at once, so that never
/// more than twice as many are in memory, also where all of them rest.
struct SeparatePlan {
    enum Picture: Equatable {
        /// Goes to `encoding`, and to `over` when all is cancelled.
        case waiting
        /// Goes to `ready`, or to `over` where it is broken.
        case encoding
        /// Encoded, or rested. Goes to `sending`, and to `over` when all is cancelled.
        case ready
        /// Goes to `over`, or to `resting` where it may be sent again.
        case sending
        /// Waits before it is sent again. Goes to `ready`, and to `over` when all is cancelled.
        case resting
        case over
    }

    /// What is to be done now.
    struct Actions: Equatable {
        var encode: [Int] = []
        var send: [Int] = []
        var isOver = false
    }

    private(set) var pictures: [Picture]
    private var attempts: [Int]
    private let limit: Int
    private let retries: Int
    private var isCancelled = false
    private var hasEnded = false

    /// - Parameters:
    ///   - limit: how many are sent at once; at least one is.
    ///   - retries: how often each may be sent again.
    init(count: Int, limit: Int, retries: Int) {
        pictures = Array(repeating: .waiting, count: count)
        attempts = Array(repeating: 0, count: count)
        self.limit = max(1, limit)
        self.retries = retries
    }

    /// What can be begun; each is told once.
    mutating func next() -> Actions {
        var actions = Actions()
        var sending = count(.sending)
        // Those that were encoded first; what rested goes before what is new, by its place.
        for index in pictures.indices where sending < limit && pictures[index] == .ready {
            pictures[index] = .sending
            attempts[index] += 1
            sending += 1
            actions.send.append(index)
        }
        var ahead = count(.encoding) + count(.ready) + count(.resting)
        for index in pictures.indices where ahead < limit && pictures[index] == .waiting {
            pictures[index] = .encoding
            ahead += 1
            actions.encode.append(index)
        }
        if !hasEnded, pictures.allSatisfy({ $0 == .over }) {
            hasEnded = true
            actions.isOver = true
        }
        return actions
    }

    /// A picture was encoded, or is broken.
    mutating func encoded(_ index: Int, isSound: Bool) {
        guard pictures[index] == .encoding else { return }
        pictures[index] = isSound && !isCancelled ? .ready : .over
    }

    /// A picture's request has ended. Answers the number of the attempt that follows a rest, from 1;
    /// `nil` if it is over.
    mutating func ended(_ index: Int, mayRetry: Bool) -> Int? {
        guard pictures[index] == .sending else { return nil }
        guard mayRetry, !isCancelled, attempts[index] <= retries else {
            pictures[index] = .over
            return nil
        }
        pictures[index] = .resting
        return attempts[index]
    }

    /// A picture has rested.
    mutating func rested(_ index: Int) {
        if pictures[index] == .resting { pictures[index] = .ready }
    }

    /// Nothing more is begun. What is at work ends by itself.
    mutating func cancel() {
        isCancelled = true
        for index in pictures.indices {
            switch pictures[index] {
            case .waiting, .ready, .resting: pictures[index] = .over
            case .encoding, .sending, .over: break
            }
        }
    }

    private func count(_ state: Picture) -> Int { pictures.count { $0 == state } }
}
