// Wherry: a forked child of a test
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Runs `body`, which returns the exit code, in a forked child.
///
/// Swift has no fork, for good reason; programs in other languages that load Wherry do.
///
/// - Returns: the child's pid, for `waitpid`.
public func forked(_ body: () -> Int32) throws -> pid_t {
    typealias Fork = @convention(c) () -> pid_t
    guard let address = dlsym(nil, "fork") else { throw TestServerError("no fork in the libc") }
    let fork = unsafeBitCast(address, to: Fork.self)
    let pid = fork()
    if pid == 0 { _exit(body()) }
    guard pid > 0 else { throw TestServerError("no fork: \(String(cString: strerror(errno)))") }
    return pid
}
