// Wherry: the last error of a thread.
// SPDX-License-Identifier: Apache-2.0

import CWherry
import Glibc
import WherryCore
import WherryHTTP

/// An error of the C interface.
// `texts` and `lent` have their own guards
final class ErrorBox: HandleObject, @unchecked Sendable {
    static var kind: HandleKind { .error }

    let error: WherryError
    let texts = TextStore()
    private let lent = LentHandle()

    init(_ error: WherryError) { self.error = error }

    /// A handle to the underlying error, valid as long as this one.
    var underlying: OpaquePointer? {
        guard let underlying = error.underlying else { return nil }
        return lent.pointer { ErrorBox(underlying) }
    }

    static func get(_ pointer: OpaquePointer?) -> ErrorBox? {
        ForkGate.isForked ? nil : try? Handles.get(pointer, ErrorBox.self)
    }
}

/// Errors with permanent handles. They are read in a forked child, where a missing thread may hold
/// any lock. So nothing here takes a lock, and every text is static.
enum PermanentError: Int {
    /// No error.
    case none = 0
    case forked = 1

    static let forkedMessage: StaticString =
        "This process was forked. Call wherry_library_restart before any other function."

    /// Returns `nil` for every other handle: the table never uses generation 0.
    init?(_ pointer: OpaquePointer?) {
        guard let handle = pointer.map({ Handle($0) }), handle.generation == 0,
            handle.kind == HandleKind.error.rawValue
        else { return nil }
        self.init(rawValue: handle.index)
    }

    var handle: OpaquePointer? {
        Handle(kind: .error, generation: 0, index: rawValue).pointer
    }

    var status: wherry_status { self == .forked ? WHERRY_E_FORKED : WHERRY_OK }
    var reason: UnsafePointer<CChar>? { StaticText.pointer(self == .forked ? "forked" : "") }
    var message: UnsafePointer<CChar>? {
        self == .forked ? StaticText.pointer(Self.forkedMessage) : StaticText.pointer("")
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

    /// Stores an error and returns its status.
    static func set(_ error: WherryError) -> wherry_status {
        if let record = record(creating: true) {
            record.endHandle()
            record.error = error
        }
        return wherry_status(error.code.rawValue)
    }

    /// A handle to it, valid until the next failing call.
    static var handle: OpaquePointer? {
        if ForkGate.isForked { return PermanentError.forked.handle }
        guard let record = record(creating: false), let error = record.error else {
            return PermanentError.none.handle
        }
        if record.handle == nil {
            record.handle = try? Handles.add(ErrorBox(error))
        }
        return record.handle ?? PermanentError.none.handle
    }

    static func forget() {
        guard let record = record(creating: false) else { return }
        record.handle = nil
        record.error = nil
    }
}
