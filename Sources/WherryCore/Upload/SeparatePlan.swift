// Wherry: the schedule of an upload with one request per image.
// SPDX-License-Identifier: Apache-2.0

/// The state of each image of an upload with one request per image (U22). A value that decides
/// what to do next, without doing it.
///
/// At most as many images are encoded in advance as are sent concurrently. So at most twice as
/// many images are in memory, even if all of them wait for a retry.
struct SeparatePlan {
    enum Image: Equatable {
        /// Not started. Can change to `encoding`, or to `over` on cancel.
        case waiting
        /// Can change to `ready`, or to `over` if the image is unreadable.
        case encoding
        /// Ready to be sent, first or again. Can change to `sending`, or to `over` on cancel.
        case ready
        /// Can change to `over`, or to `resting` before a retry.
        case sending
        /// Waits before a retry. Can change to `ready`, or to `over` on cancel.
        case resting
        case over
    }

    /// The steps to take now.
    struct Actions: Equatable {
        var encode: [Int] = []
        var send: [Int] = []
        var isOver = false
    }

    private(set) var images: [Image]
    /// The number of times that each image was sent.
    private(set) var attempts: [Int]
    private let limit: Int
    private let retries: Int
    private var isCancelled = false
    private var hasEnded = false

    /// - Parameters:
    ///   - limit: The maximum number of concurrent requests; at least 1 is used.
    ///   - retries: The maximum number of retries for each image.
    init(count: Int, limit: Int, retries: Int) {
        images = Array(repeating: .waiting, count: count)
        attempts = Array(repeating: 0, count: count)
        self.limit = max(1, limit)
        self.retries = retries
    }

    /// Returns the steps that can start now. Each step is returned once.
    mutating func next() -> Actions {
        var actions = Actions()
        var sending = count(.sending)
        // In the order of adding, so that retries come before new images.
        for index in images.indices where sending < limit && images[index] == .ready {
            images[index] = .sending
            attempts[index] += 1
            sending += 1
            actions.send.append(index)
        }
        var ahead = count(.encoding) + count(.ready) + count(.resting)
        for index in images.indices where ahead < limit && images[index] == .waiting {
            images[index] = .encoding
            ahead += 1
            actions.encode.append(index)
        }
        if !hasEnded, images.allSatisfy({ $0 == .over }) {
            hasEnded = true
            actions.isOver = true
        }
        return actions
    }

    /// Records that an image was encoded, or is unreadable.
    mutating func encoded(_ index: Int, isSound: Bool) {
        guard images[index] == .encoding else { return }
        images[index] = isSound && !isCancelled ? .ready : .over
    }

    /// Records the end of an image's request. Returns whether the image waits for a retry.
    mutating func ended(_ index: Int, mayRetry: Bool) -> Bool {
        guard images[index] == .sending else { return false }
        guard mayRetry, !isCancelled, attempts[index] <= retries else {
            images[index] = .over
            return false
        }
        images[index] = .resting
        return true
    }

    /// Records the end of the wait before a retry.
    mutating func rested(_ index: Int) {
        if images[index] == .resting { images[index] = .ready }
    }

    /// Cancels the images that are not in progress. Those being encoded or sent end separately.
    mutating func cancel() {
        isCancelled = true
        for index in images.indices {
            switch images[index] {
            case .waiting, .ready, .resting: images[index] = .over
            case .encoding, .sending, .over: break
            }
        }
    }

    private func count(_ state: Image) -> Int { images.count { $0 == state } }
}
