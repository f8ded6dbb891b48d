// Wherry: the format of handles.
// SPDX-License-Identifier: Apache-2.0

import WherryCore
import WherrySystem

/// The kinds of objects in the C interface. The numbers are part of every handle; 0 is none.
enum HandleKind: UInt {
    case config = 1
    case client, queue, request, transfer, response, event, error, list, image
    case compression, json, stub
    case mapping, endpoint, pager
    case session
    case reachability = 20
    case sse = 21
    case group = 22
    case sectionedList = 23

    /// The name in wherry.h, without the prefix.
    var word: String { self == .sectionedList ? "sectioned_list" : "\(self)" }
}

/// An object of the C interface.
protocol HandleObject: AnyObject {
    static var kind: HandleKind { get }
}

/// A handle: 5 bits of kind, 32 of generation, 26 of index. The kind makes it a value outside of
/// the address space, so that dereferencing it faults at once.
struct Handle {
    static let indexLimit = 1 << 26

    let bits: UInt

    init(kind: HandleKind, generation: UInt32, index: Int) {
        bits = kind.rawValue << 58 | UInt(generation) << 26 | UInt(index)
    }

    init(_ pointer: OpaquePointer) { bits = UInt(bitPattern: pointer) }

    var kind: UInt { bits >> 58 }
    var generation: UInt32 { UInt32(truncatingIfNeeded: bits >> 26) }
    var index: Int { Int(bits & UInt(Self.indexLimit - 1)) }
    /// Never `nil`, because the kind is not 0.
    var pointer: OpaquePointer? { OpaquePointer(bitPattern: bits) }
}

extension Client: HandleObject {
    static var kind: HandleKind { .client }
}

extension EventQueue: HandleObject {
    static var kind: HandleKind { .queue }
}

extension QueueEvent: HandleObject {
    static var kind: HandleKind { .event }
}
