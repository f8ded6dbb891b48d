// Wherry: borrowed handles and text.
// SPDX-License-Identifier: Apache-2.0

import Glibc
import WherryCore
import WherrySystem

/// NUL-terminated copies of texts, kept as long as the store. Equal texts share one copy.
final class TextStore: @unchecked Sendable {  // guarded by the store's stripe
    /// A text compared by bytes: in Swift the two forms of an accented letter are equal.
    private struct Key: Hashable {
        let text: String
        var isPath = false
        static func == (a: Key, b: Key) -> Bool {
            a.isPath == b.isPath && a.text.utf8.elementsEqual(b.text.utf8)
        }
        func hash(into hasher: inout Hasher) {
            for byte in text.utf8 { hasher.combine(byte) }
        }
    }

    private var texts: [Key: UnsafeMutablePointer<CChar>] = [:]

    init() {}

    deinit {
        for text in texts.values { free(text) }
    }

    /// Returns a pointer to the text; `nil` for `nil`, and if out of memory.
    func lend(_ text: String?) -> UnsafePointer<CChar>? {
        guard let text else { return nil }
        return lend(Key(text: text))
    }

    /// Returns a pointer to the bytes of a path; `nil` for `nil`, and if out of memory.
    func lend(path: String?) -> UnsafePointer<CChar>? {
        guard let path else { return nil }
        return lend(Key(text: path, isPath: PathText.hasRawBytes(path)))
    }

    private func lend(_ key: Key) -> UnsafePointer<CChar>? {
        let lock = Stripes.shared.lock(of: self)
        pthread_mutex_lock(lock)
        defer { pthread_mutex_unlock(lock) }
        if let known = texts[key] { return UnsafePointer(known) }
        guard let copy = key.isPath ? CText.copy(path: key.text) : CText.copy(key.text) else {
            return nil
        }
        texts[key] = copy
        return UnsafePointer(copy)
    }

    /// Frees all copies.
    func removeAll() {
        let lock = Stripes.shared.lock(of: self)
        pthread_mutex_lock(lock)
        defer { pthread_mutex_unlock(lock) }
        for text in texts.values { free(text) }
        texts.removeAll()
    }
}

/// A NUL-terminated copy of a text.
final class LentText: @unchecked Sendable {  // never changes after init
    let pointer: UnsafePointer<CChar>
    /// The number of bytes without the NUL.
    let count: Int

    /// Returns `nil` if out of memory.
    init?(_ text: String) {
        guard let copy = CText.copy(text) else { return nil }
        pointer = UnsafePointer(copy)
        count = text.utf8.count
    }

    deinit { free(UnsafeMutablePointer(mutating: pointer)) }
}

/// A borrowed handle, created on first use and freed with its owner.
final class LentHandle: @unchecked Sendable {  // guarded by its stripe
    private var pointer: OpaquePointer?
    private var kind = HandleKind.error

    init() {}

    deinit {
        if let pointer { Handles.end(pointer, kind) }
    }

    /// Returns the handle. Calls `make` without the lock held; if two threads do, the first result
    /// is kept.
    func pointer<Object: HandleObject>(_ make: () -> Object) -> OpaquePointer? {
        if let known = locked({ pointer }) { return known }
        guard let new = try? Handles.add(make()) else { return nil }
        let known = locked { () -> OpaquePointer? in
            if let pointer { return pointer }
            pointer = new
            kind = Object.kind
            return nil
        }
        if known != nil { Handles.end(new, Object.kind) }
        return known ?? new
    }

    private func locked<Result>(_ body: () -> Result) -> Result {
        let lock = Stripes.shared.lock(of: self)
        pthread_mutex_lock(lock)
        defer { pthread_mutex_unlock(lock) }
        return body()
    }
}
