// Wherry: pixels that stay in the caller's memory.
// SPDX-License-Identifier: Apache-2.0

internal import WherrySystem

/// Memory of the caller's that may be read until it is taken back.
package final class LentMemory: Sendable {
    private struct State {
        var readers = 0
        var isTakenBack = false
    }
    private let state = Monitor(State())

    package init() {}

    /// Ends every later reading, and waits for those that go on: afterwards nobody looks at the
    /// memory any more. Twice is fine.
    package func takeBack() {
        state.update { $0.isTakenBack = true }
        state.wait { $0.readers == 0 ? () : nil }
    }

    /// Runs `body`, which reads the memory.
    ///
    /// - Throws: `taken_back` if it was taken back before.
    func reading<Result>(
        _ body: () throws(ImagingError) -> Result
    ) throws(ImagingError) -> Result {
        let mayRead = state.withLock { state in
            if !state.isTakenBack { state.readers += 1 }
            return !state.isTakenBack
        }
        guard mayRead else {
            throw ImagingError(
                .argument, "taken_back",
                "The pixels were lent, and were taken back before they were encoded.")
        }
        defer { state.update { $0.readers -= 1 } }
        return try body()
    }
}
