// Wherry: the public suffix list.
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The public suffix list from libpsl, which libcurl has already loaded. It is found
/// at run time, like libcrypto, because the packages we depend on do not guarantee its headers.
package enum PublicSuffix {
    private struct Library: @unchecked Sendable {  // the list is immutable
        typealias List = @convention(c) () -> OpaquePointer?
        typealias IsSuffix = @convention(c) (OpaquePointer, UnsafePointer<CChar>) -> Int32

        let list: OpaquePointer
        let isSuffix: IsSuffix

        static let shared: Library? = {
            guard let library = SharedLibrary.find("libpsl.so.5", with: "psl_builtin"),
                let list = dlsym(library, "psl_builtin"),
                let isSuffix = dlsym(library, "psl_is_public_suffix"),
                let known = unsafeBitCast(list, to: List.self)()
            else { return nil }
            return Library(list: known, isSuffix: unsafeBitCast(isSuffix, to: IsSuffix.self))
        }()
    }

    /// Whether the list is available. Without it, only names without a dot are treated as suffixes.
    package static var isKnown: Bool { Library.shared != nil }

    /// Returns whether different owners register hosts under a name: "com", "co.uk", "github.io".
    ///
    /// - Parameter name: Lower case, IDNs in their ASCII form, without leading or trailing dots.
    package static func contains(_ name: String) -> Bool {
        guard let library = Library.shared else { return !name.utf8.contains(0x2E) }
        return library.isSuffix(library.list, name) != 0
    }
}
