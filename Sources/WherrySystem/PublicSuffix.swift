// Wherry: names under which everybody may have a host.
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The public-suffix list of libpsl, which the system's libcurl has loaded already. Its headers are not
/// promised by the packages we depend on, so that it is found at run time, as libcrypto is.
package enum PublicSuffix {
    private struct Library: @unchecked Sendable {  // the list never changes, and is only read
        typealias List = @convention(c) () -> OpaquePointer?
        typealias IsSuffix = @convention(c) (OpaquePointer, UnsafePointer<CChar>) -> Int32

        let list: OpaquePointer
        let isSuffix: IsSuffix

        static let shared: Library? = {
            guard let library = dlopen("libpsl.so.5", RTLD_LAZY | RTLD_LOCAL),
                let list = dlsym(library, "psl_builtin"),
                let isSuffix = dlsym(library, "psl_is_public_suffix"),
                let known = unsafeBitCast(list, to: List.self)()
            else { return nil }
            return Library(list: known, isSuffix: unsafeBitCast(isSuffix, to: IsSuffix.self))
        }()
    }

    /// Whether there is a list. Without one only names without a dot count as suffixes.
    package static var isKnown: Bool { Library.shared != nil }

    /// Whether hosts under that name belong to different people: "com", "co.uk", "github.io".
    ///
    /// - Parameter name: in lower case, IDNs in their ASCII form, without dots at its ends.
    package static func contains(_ name: String) -> Bool {
        guard let library = Library.shared else { return !name.utf8.contains(0x2E) }
        return library.isSuffix(library.list, name) != 0
    }
}
