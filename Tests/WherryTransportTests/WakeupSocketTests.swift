// Wherry: tests of the search for libcurl's wake-up sockets
// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@testable import WherryTransport

@Suite struct WakeupSocketTests {
    /// Two connected sockets that later programs inherit.
    private final class Pair {
        let ends: [Int32]

        init() {
            var ends: [Int32] = [-1, -1]
            let made = socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends)
            precondition(made == 0)
            self.ends = ends
        }

        deinit { for end in ends { close(end) } }

        func write() { _ = send(ends[1], "x", 1, 0) }
        func drain() {
            var bytes = [UInt8](repeating: 0, count: 64)
            while recv(ends[0], &bytes, bytes.count, Int32(MSG_DONTWAIT)) > 0 {}
        }
        var isInherited: [Bool] { ends.map { fcntl($0, F_GETFD) & FD_CLOEXEC == 0 } }
    }

    /// One byte that was sent and read between three checks was taken for a wake-up.
    @Test func `a socket of the program is not taken for a libcurl wake-up socket`() throws {
        let (library, program, quiet) = (Pair(), Pair(), Pair())
        WakeupSockets.setCloseOnExec(below: quiet.ends[1] + 1) {
            library.write()
            program.drain()
            program.write()
            return true
        } drain: {
            library.drain()
            program.drain()
        }
        #expect(library.isInherited == [false, false])
        #expect(program.isInherited == [true, true])
        #expect(quiet.isInherited == [true, true])
    }

    @Test func `if no wake-up is possible nothing is changed`() {
        let library = Pair()
        WakeupSockets.setCloseOnExec(below: library.ends[1] + 1, wake: { false }, drain: {})
        #expect(library.isInherited == [true, true])
    }
}
