// Wherry: wherry.h, section 23: groups.
// SPDX-License-Identifier: Apache-2.0

import CWherry
import WherryCore
import WherryHTTP
import WherrySystem

/// A group of the C interface, which can be sent once.
struct GroupValue: BoxedValue {
    static var kind: HandleKind { .group }

    var group: RequestGroup
    var wasStarted = false

    /// Throws if the group was already started.
    mutating func beforeStart() throws(WherryError) {
        guard !wasStarted else {
            throw WherryError(
                .alreadyStarted, "The group was already started. Create another group.")
        }
    }
}

@_cdecl("wherry_group_new") @implementation
public func wherry_group_new(
    _ policy: wherry_group_policy, _ out_group: UnsafeMutablePointer<OpaquePointer?>?
) -> wherry_status {
    status { () throws(WherryError) in
        let out = try required(out_group)
        guard let policy = RequestGroup.Policy(rawValue: Int32(bitPattern: policy.rawValue)) else {
            throw WherryError(
                .badArgument,
                "Unknown group policy \(policy.rawValue). Pass a constant of wherry_group_policy.")
        }
        try Handles.give(Box(GroupValue(group: RequestGroup(policy))), to: out)
    }
}

@_cdecl("wherry_group_free") @implementation
public func wherry_group_free(_ group: OpaquePointer?) -> wherry_status {
    status { () throws(WherryError) in try Handles.free(group, Box<GroupValue>.self) }
}

@_cdecl("wherry_group_set_user_key") @implementation
public func wherry_group_set_user_key(_ group: OpaquePointer?, _ key: UInt64) -> wherry_status {
    status { () throws(WherryError) in
        try Handles.get(group, Box<GroupValue>.self).with { value throws(WherryError) in
            try value.beforeStart()
            value.group.userInfo = key == 0 ? nil : key
        }
    }
}

@_cdecl("wherry_group_add") @implementation
public func wherry_group_add(
    _ group: OpaquePointer?, _ request: OpaquePointer?, _ user_data: UnsafeMutableRawPointer?
) -> wherry_status {
    status { () throws(WherryError) in
        let box = try Handles.get(group, Box<GroupValue>.self)
        let request = try snapshot(request)
        try box.with { value throws(WherryError) in
            try value.beforeStart()
            value.group.add(request, userData: UInt(bitPattern: user_data))
        }
    }
}

@_cdecl("wherry_group_add_group") @implementation
public func wherry_group_add_group(
    _ group: OpaquePointer?, _ inner: OpaquePointer?, _ user_data: UnsafeMutableRawPointer?
) -> wherry_status {
    status { () throws(WherryError) in
        let box = try Handles.get(group, Box<GroupValue>.self)
        let inner = try Handles.change(inner, GroupValue.self, name: "inner") { $0.group }
        try box.with { value throws(WherryError) in
            try value.beforeStart()
            try value.group.add(inner, userData: UInt(bitPattern: user_data))
        }
    }
}

@_cdecl("wherry_client_send_group") @implementation
public func wherry_client_send_group(
    _ client: OpaquePointer?, _ group: OpaquePointer?, _ queue: OpaquePointer?,
    _ user_data: UnsafeMutableRawPointer?, _ out_transfer: UnsafeMutablePointer<OpaquePointer?>?
) -> wherry_status {
    status { () throws(WherryError) in
        let client = try Handles.get(client, Client.self)
        let box = try Handles.get(group, Box<GroupValue>.self)
        let queue = try Handles.get(queue, EventQueue.self)
        // Of two threads that send it, only the first succeeds.
        let group = try box.with { value throws(WherryError) in
            try value.beforeStart()
            value.wasStarted = true
            return value.group
        }
        do throws(WherryError) {
            try start(out_transfer) { begun throws(WherryError) in
                _ = try client.send(
                    group, keepsResults: false, observer: queue,
                    userData: UInt(bitPattern: user_data), willBegin: begun)
            }
        } catch {
            box.with { $0.wasStarted = false }
            throw error
        }
    }
}
