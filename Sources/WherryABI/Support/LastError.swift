// Wherry: why the last call on this thread failed.
// SPDX-License-Identifier: Apache-2.0

import CWherry
import Glibc
import WherryCore

/// An error that C looks at.
final class ErrorBox: HandleObject, @unchecked Sendable {  // `texts` and `lent` have their guards
    static var kind: HandleKind { .error }

    /// `nil` says that nothing went wrong.
    let error: WherryError?
    let texts = TextStore()
    private let lent = LentHandle()

    init(_ error: WherryError?) { self.error = error }

    /// A handle to the error behind this one, as good as this one.
    var underlying: OpaquePointer? {
        guard let underlying = error?.underlying else { return nil }
        return lent.pointer { ErrorBox(underlying) }
    }

    /// Those whose handles are always good, in a forked child too: the generation 0, which the
    /// table never gives.
    private static let permanent = [ErrorBox(nil), ErrorBox(.forked)]
    static var none: OpaquePointer? { Handle(kind: .error, generation: 0, index: 0).pointer }
    static var forked: OpaquePointer? { Handle(kind: .error, generation: 0, index: 1).pointer }

    static func get(_ pointer: OpaquePointer?) -> ErrorBox? {
        guard let pointer else { return nil }
        let handle = Handle(pointer)
        if handle.kind == HandleKind.error.rawValue, handle.generation == 0 {
            return permanent.indices.contains(handle.index) ? permanent[handle.index] : nil
        }
        return ForkGate.isForked ? nil : try? Handles.get(pointer, ErrorBox.self)
    }
}

/// The calling thread's last error.
enum LastError {
    private final class Record {
        var error: WherryError?
        var handle: OpaquePointer?

        func endHandle() {
            guard let handle else { return }
            self.handle = nil
            Handles.end(handle, .error)
        }
    }

    private static let key: pthread_key_t? = {
        var key = pthread_key_t()
        let result = pthread_key_create(&key) { record in
            guard let record else { return }
            Unmanaged<Record>.fromOpaque(record).takeRetainedValue().endHandle()
        }
        return result == 0 ? key : nil
    }()

    private static func record(creating: Bool) -> Record? {
        guard let key else { return nil }
        if let known = pthread_getspecific(key) {
            return Unmanaged<Record>.fromOpaque(known).takeUnretainedValue()
        }
        guard creating else { return nil }
        let record = Record()
        let kept = Unmanaged.passRetained(record)
        if pthread_setspecific(key, kept.toOpaque()) != 0 { kept.release() }
        return record
    }

    /// Keeps an error, and gives its status.
    static func set(_ error: WherryError) -> wherry_status {
        if let record = record(creating: true) {
            record.endHandle()
            record.error = error
        }
        return wherry_status(error.code.rawValue)
    }

    /// A handle to it, good until the next failing call.
    static var handle: OpaquePointer? {
        if ForkGate.isForked { return ErrorBox.forked }
        guard let record = record(creating: false), let error = record.error else {
            return ErrorBox.none
        }
        if record.handle == nil {
            record.handle = try? Handles.add(ErrorBox(error))
        }
        return record.handle ?? ErrorBox.none
    }

    static func forget() {
        guard let record = record(creating: false) else { return }
        record.handle = nil
        record.error = nil
    }
}
