// Wherry: digests with OpenSSL's libcrypto.
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The libcrypto functions for digests, found at run time. libcurl has already loaded the library,
/// but the packages we depend on guarantee neither its headers nor its link name.
private struct Libcrypto: @unchecked Sendable {  // written once; the functions are thread-safe
    typealias Fetch =
        @convention(c) (
            OpaquePointer?, UnsafePointer<CChar>, UnsafePointer<CChar>?
        ) -> OpaquePointer?
    typealias New = @convention(c) () -> OpaquePointer?
    typealias Free = @convention(c) (OpaquePointer?) -> Void
    typealias Start = @convention(c) (OpaquePointer, OpaquePointer, OpaquePointer?) -> Int32
    typealias Update = @convention(c) (OpaquePointer, UnsafeRawPointer, Int) -> Int32
    typealias Finish =
        @convention(c) (
            OpaquePointer, UnsafeMutablePointer<UInt8>, UnsafeMutablePointer<UInt32>?
        ) -> Int32
    typealias Copy = @convention(c) (OpaquePointer, OpaquePointer) -> Int32
    typealias Whole =
        @convention(c) (
            UnsafeRawPointer?, Int, UnsafeMutablePointer<UInt8>, UnsafeMutablePointer<UInt32>?,
            OpaquePointer, OpaquePointer?
        ) -> Int32

    let newContext: New
    let freeContext: Free
    let start: Start
    let update: Update
    let finish: Finish
    let copy: Copy
    let whole: Whole
    /// Fetched once: fetching an algorithm costs more than hashing a short text.
    let algorithms: [DigestAlgorithm: OpaquePointer]

    /// `nil` if the library is missing or too old.
    static let shared: Libcrypto? = load()

    private static func load() -> Libcrypto? {
        guard let library = SharedLibrary.find("libcrypto.so.3", with: "EVP_MD_fetch")
        else { return nil }
        func find<Function>(_ name: String, as type: Function.Type) -> Function? {
            dlsym(library, name).map { unsafeBitCast($0, to: type) }
        }
        guard let fetch = find("EVP_MD_fetch", as: Fetch.self),
            let newContext = find("EVP_MD_CTX_new", as: New.self),
            let freeContext = find("EVP_MD_CTX_free", as: Free.self),
            let start = find("EVP_DigestInit_ex", as: Start.self),
            let update = find("EVP_DigestUpdate", as: Update.self),
            let finish = find("EVP_DigestFinal_ex", as: Finish.self),
            let copy = find("EVP_MD_CTX_copy_ex", as: Copy.self),
            let whole = find("EVP_Digest", as: Whole.self)
        else { return nil }
        var algorithms: [DigestAlgorithm: OpaquePointer] = [:]
        ProcessExit.guarding(library) {
            for algorithm in DigestAlgorithm.allCases {
                // A library in FIPS mode has no MD5; the Swift implementation is then used.
                algorithms[algorithm] = fetch(nil, algorithm.rawValue, nil)
            }
        }
        return Libcrypto(
            newContext: newContext, freeContext: freeContext, start: start, update: update,
            finish: finish, copy: copy, whole: whole, algorithms: algorithms)
    }
}

/// A digest computed by libcrypto.
struct LibcryptoDigest: DigestEngine {
    /// An EVP_MD_CTX. `update` copies a shared context first, so that a context used by several
    /// threads never changes.
    private final class Context: @unchecked Sendable {
        let library: Libcrypto
        let pointer: OpaquePointer

        init?(_ library: Libcrypto) {
            guard let pointer = library.newContext() else { return nil }
            self.library = library
            self.pointer = pointer
        }

        deinit { _ = ProcessExit.pass { library.freeContext(pointer) } }

        func copy() -> Context? {
            guard let other = Context(library), library.copy(other.pointer, pointer) == 1 else {
                return nil
            }
            return other
        }
    }

    private let byteCount: Int
    /// `nil` after a failure of libcrypto.
    private var context: Context?

    /// Returns `nil` if libcrypto cannot be loaded, lacks the algorithm, or must not be called
    /// because the process is exiting.
    init?(_ algorithm: DigestAlgorithm) {
        let started = ProcessExit.pass { () -> Context? in
            guard let library = Libcrypto.shared, let kind = library.algorithms[algorithm],
                let context = Context(library), library.start(context.pointer, kind, nil) == 1
            else { return nil }
            return context
        }
        guard let context = started ?? nil else { return nil }
        byteCount = algorithm.byteCount
        self.context = context
    }

    /// Returns the digest of all bytes at once; `nil` as for ``init(_:)``.
    static func hash(of bytes: [UInt8], _ algorithm: DigestAlgorithm) -> [UInt8]? {
        guard let library = Libcrypto.shared, let kind = library.algorithms[algorithm] else {
            return nil
        }
        var isDone = false
        let count = algorithm.byteCount
        let digest = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            guard let base = buffer.baseAddress else { return }
            isDone = bytes.withUnsafeBytes { bytes in
                ProcessExit.pass {
                    library.whole(bytes.baseAddress, bytes.count, base, nil, kind, nil) == 1
                } ?? false
            }
            filled = isDone ? count : 0
        }
        return isDone ? digest : nil
    }

    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        guard let base = bytes.baseAddress else { return }
        ProcessExit.require {
            if !isKnownUniquelyReferenced(&context) { context = context?.copy() }
            guard let context else { return }
            if context.library.update(context.pointer, base, bytes.count) != 1 {
                self.context = nil
            }
        }
    }

    func finalize() -> [UInt8] {
        ProcessExit.require {
            guard let last = context?.copy() else { return [] }
            return [UInt8](unsafeUninitializedCapacity: byteCount) { buffer, filled in
                guard let base = buffer.baseAddress else { return }
                filled = last.library.finish(last.pointer, base, nil) == 1 ? byteCount : 0
            }
        }
    }
}
