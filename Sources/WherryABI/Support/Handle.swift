// Wherry: what a handle says about itself.
// SPDX-License-Identifier: Apache-2.0

import WherryCore
import WherrySystem

/// The kinds of objects that C holds. The numbers are part of every handle; 0 is none.
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

    /// Its name in wherry.h, without the prefix.
    var word: String { self == .sectionedList ? "sectioned_list" : "\(self)" }
}

/// An object that C may hold.
protocol HandleObject: AnyObject {
    static var kind: HandleKind { get }
}

/// A ticket: 5 bits of kind, 32 of generation, 26 of index. The kind makes it a number that no
/// address has, so that using it as one faults at once.
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
    /// Never `nil`: the kind is in it.
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
