// Wherry: fork for tests.
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Runs `body` in a forked child, and exits with the code that it returns.
///
/// Swift deliberately does not offer fork. Programs in other languages that load Wherry use it.
///
/// - Returns: The child's process ID, for `waitpid`.
public func forked(_ body: () -> Int32) throws -> pid_t {
    typealias Fork = @convention(c) () -> pid_t
    guard let address = dlsym(nil, "fork") else { throw TestServerError("no fork in the libc") }
    let fork = unsafeBitCast(address, to: Fork.self)
    let pid = fork()
    if pid == 0 { _exit(body()) }
    guard pid > 0 else { throw TestServerError("no fork: \(String(cString: strerror(errno)))") }
    return pid
}
