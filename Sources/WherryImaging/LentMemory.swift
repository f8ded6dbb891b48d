// Wherry: pixels in memory borrowed from the caller.
// SPDX-License-Identifier: Apache-2.0

internal import WherrySystem

/// Borrowed memory that the caller can revoke.
package final class LentMemory: Sendable {
    private struct State {
        var readers = 0
        var isTakenBack = false
    }
    private let state = Monitor(State())

    package init() {}

    /// Revokes the memory: waits for current readers and refuses new ones. Afterwards nothing reads
    /// the memory. May be called twice.
    package func takeBack() {
        state.update { $0.isTakenBack = true }
        state.wait { $0.readers == 0 ? () : nil }
    }

    /// Runs `body`, which reads the memory.
    ///
    /// - Throws: `taken_back` if the memory was revoked.
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
                "The lent pixels were taken back before they were encoded.")
        }
        defer { state.update { $0.readers -= 1 } }
        return try body()
    }
}
