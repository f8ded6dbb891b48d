// Wherry: host names with characters that are not ASCII.
// SPDX-License-Identifier: Apache-2.0

import Glibc
import WherrySystem

/// Internationalized domain names, converted by libidn2 (UTS #46, nontransitional).
///
/// libcurl converts them too, but in the charset of the process's locale: without `setlocale`, it
/// rejects every non-ASCII name. libcurl has already loaded libidn2. Its functions are found at run
/// time, because the packages we depend on do not guarantee its headers.
enum InternationalName {
    private struct Library: Sendable {
        typealias Convert =
            @convention(c) (
                UnsafePointer<CChar>, UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>, Int32
            ) -> Int32
        typealias Free = @convention(c) (UnsafeMutableRawPointer?) -> Void
        typealias Describe = @convention(c) (Int32) -> UnsafePointer<CChar>?

        let convert: Convert
        let free: Free
        let describe: Describe

        static let shared: Library? = {
            guard let library = SharedLibrary.find("libidn2.so.0", with: "idn2_to_ascii_8z"),
                let convert = dlsym(library, "idn2_to_ascii_8z"),
                let free = dlsym(library, "idn2_free"),
                let describe = dlsym(library, "idn2_strerror")
            else { return nil }
            return Library(
                convert: unsafeBitCast(convert, to: Convert.self),
                free: unsafeBitCast(free, to: Free.self),
                describe: unsafeBitCast(describe, to: Describe.self))
        }()
    }

    /// IDN2_NFC_INPUT and IDN2_NONTRANSITIONAL of idn2.h, as in libcurl.
    private static let flags: Int32 = 1 | 8

    /// Why a name has no ASCII form.
    struct Failure: Error {
        let cause: String
    }

    /// Returns the ASCII form of a host name: "xn--bcher-kva.example" for "bücher.example".
    static func ascii(_ name: String) throws(Failure) -> String {
        guard let library = Library.shared else {
            throw Failure(cause: "libidn2, which converts such names, is not installed")
        }
        var converted: UnsafeMutablePointer<CChar>?
        let code = library.convert(name, &converted, flags)
        defer { library.free(converted) }
        guard code == 0, let converted else {
            throw Failure(
                cause: library.describe(code).map { String(cString: $0) } ?? "error \(code)")
        }
        let ascii = String(cString: converted)
        // Some characters map to several, including "/" and "#", which would end the host.
        let isHost = ascii.utf8.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F: true
            default: false
            }
        }
        guard isHost, !ascii.isEmpty else {
            throw Failure(
                cause: "one of its characters maps to others that are not allowed in a host name")
        }
        return ascii
    }
}
