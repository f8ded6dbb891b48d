// Wherry: handles and text that live as long as the object that was asked.
// SPDX-License-Identifier: Apache-2.0

import Glibc
import WherryCore
import WherrySystem

/// NUL-terminated copies of texts, kept until the store goes. The same text has one copy.
final class TextStore: @unchecked Sendable {  // guarded by the store's stripe
    /// A text by its bytes: to Swift the two forms of an accented letter are equal.
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

    /// A pointer to the text; `nil` for `nil`, and if there is no memory.
    func lend(_ text: String?) -> UnsafePointer<CChar>? {
        guard let text else { return nil }
        return lend(Key(text: text))
    }

    /// A pointer to the bytes of a path; `nil` for `nil`, and if there is no memory.
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

    /// Takes back what was lent.
    func removeAll() {
        let lock = Stripes.shared.lock(of: self)
        pthread_mutex_lock(lock)
        defer { pthread_mutex_unlock(lock) }
        for text in texts.values { free(text) }
        texts.removeAll()
    }
}

/// One NUL-terminated copy of a text.
final class LentText: @unchecked Sendable {  // never changes after init
    let pointer: UnsafePointer<CChar>
    /// Its bytes, without the NUL.
    let count: Int

    /// `nil` if there is no memory.
    init?(_ text: String) {
        guard let copy = CText.copy(text) else { return nil }
        pointer = UnsafePointer(copy)
        count = text.utf8.count
    }

    deinit { free(UnsafeMutablePointer(mutating: pointer)) }
}

/// A handle that an object lends, made when first asked for and ended with the object.
final class LentHandle: @unchecked Sendable {  // guarded by its stripe
    private var pointer: OpaquePointer?
    private var kind = HandleKind.error

    init() {}

    deinit {
        if let pointer { Handles.end(pointer, kind) }
    }

    /// `make` is called outside of the lock; of two threads one wins.
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
