// Wherry: wherry.h, section 19: reachability.
// SPDX-License-Identifier: Apache-2.0

import CWherry
import WherryCore
import WherryHTTP
import WherryReachability

private func get(_ reachability: OpaquePointer?) throws(WherryError) -> ReachabilityBox {
    try Handles.get(reachability, ReachabilityBox.self)
}

private func checkedStatus(_ reach: wherry_reach) throws(WherryError) -> Reachability.Status {
    guard let status = Reachability.Status(rawValue: reach.rawValue) else {
        throw WherryError(
            .badValue, "Unknown network status \(reach.rawValue). Pass a constant of wherry_reach.")
    }
    return status
}

@_cdecl("wherry_reachability_new") @implementation
public func wherry_reachability_new(
    _ target: UnsafePointer<CChar>?, _ out_reachability: UnsafeMutablePointer<OpaquePointer?>?
) -> wherry_status {
    status { () throws(WherryError) in
        let out = try required(out_reachability)
        let host = try optionalText(target, "target")
        if let host { try Reachability.check(host: host) }
        try Handles.give(ReachabilityBox(host: host), to: out)
    }
}

@_cdecl("wherry_reachability_new_reported") @implementation
public func wherry_reachability_new_reported(
    _ out_reachability: UnsafeMutablePointer<OpaquePointer?>?
) -> wherry_status {
    status { () throws(WherryError) in
        try Handles.give(ReachabilityBox(.reported()), to: required(out_reachability))
    }
}

@_cdecl("wherry_client_open_reachability") @implementation
public func wherry_client_open_reachability(
    _ client: OpaquePointer?, _ out_reachability: UnsafeMutablePointer<OpaquePointer?>?
) -> wherry_status {
    status { () throws(WherryError) in
        let out = try required(out_reachability)
        let client = try Handles.get(client, Client.self)
        try Handles.give(ReachabilityBox(client.reachability), to: out)
    }
}

@_cdecl("wherry_reachability_observe") @implementation
public func wherry_reachability_observe(
    _ queue: OpaquePointer?, _ user_data: UnsafeMutableRawPointer?,
    _ out_reachability: UnsafeMutablePointer<OpaquePointer?>?
) -> wherry_status {
    status { () throws(WherryError) in
        let out = try required(out_reachability)
        let queue = try Handles.get(queue, EventQueue.self)
        let relay = QueueRelay(queue, userData: UInt(bitPattern: user_data))
        let box = ReachabilityBox(everywhere: relay)
        try Handles.give(box, to: out)
        do throws(WherryError) {
            try ReachabilityCenter.shared.observe(relay)
        } catch {
            _ = try? Handles.free(out.pointee, ReachabilityBox.self)
            out.pointee = nil
            throw error
        }
    }
}

@_cdecl("wherry_reachability_free") @implementation
public func wherry_reachability_free(_ reachability: OpaquePointer?) -> wherry_status {
    status { () throws(WherryError) in
        try Handles.free(reachability, ReachabilityBox.self)?.end()
    }
}

@_cdecl("wherry_reachability_set_option") @implementation
public func wherry_reachability_set_option(
    _ reachability: OpaquePointer?, _ option: wherry_reach_option, _ value: Int64
) -> wherry_status {
    status { () throws(WherryError) in
        try get(reachability).plan { options throws(WherryError) in
            func flag() throws(WherryError) -> Bool {
                guard (0...1).contains(value) else {
                    throw WherryError(.badValue, "The option must be 0 or 1, not \(value)")
                }
                return value == 1
            }
            switch option {
            case WHERRY_REACH_RAW: options.isRaw = try flag()
            case WHERRY_REACH_INITIAL_SYNC: options.looksAtStart = try flag()
            case WHERRY_REACH_PROBE_INTERVAL_MS:
                guard value >= 10 else {
                    throw WherryError(.badValue, "The probe interval must be at least 10 ms")
                }
                options.probeInterval = .milliseconds(value)
            case WHERRY_REACH_PROBE_TIMEOUT_MS:
                guard value >= 1 else {
                    throw WherryError(.badValue, "The probe timeout must be at least 1 ms")
                }
                options.probeTimeout = .milliseconds(value)
            default:
                throw WherryError(
                    .badOption,
                    "Unknown option \(option.rawValue). Pass a constant of wherry_reach_option.")
            }
        }
    }
}

@_cdecl("wherry_reachability_set_probe") @implementation
public func wherry_reachability_set_probe(
    _ reachability: OpaquePointer?, _ url: UnsafePointer<CChar>?
) -> wherry_status {
    status { () throws(WherryError) in
        let url = try optionalText(url, "url")
        try get(reachability).plan { options throws(WherryError) in
            if let url { options.probe = try Reachability.Probe(url) } else { options.probe = nil }
        }
    }
}

@_cdecl("wherry_reachability_start") @implementation
public func wherry_reachability_start(
    _ reachability: OpaquePointer?, _ queue: OpaquePointer?, _ user_data: UnsafeMutableRawPointer?
) -> wherry_status {
    status { () throws(WherryError) in
        let box = try get(reachability)
        var relay: QueueRelay?
        if queue != nil {
            let queue = try Handles.get(queue, EventQueue.self)
            relay = QueueRelay(queue, userData: UInt(bitPattern: user_data))
        }
        try box.start(relay)
    }
}

@_cdecl("wherry_reachability_stop") @implementation
public func wherry_reachability_stop(_ reachability: OpaquePointer?) -> wherry_status {
    status { () throws(WherryError) in try get(reachability).stop() }
}

@_cdecl("wherry_reachability_status") @implementation
public func wherry_reachability_status(_ reachability: OpaquePointer?) -> wherry_reach {
    value(WHERRY_REACH_UNKNOWN) { () throws(WherryError) in
        wherry_reach(try get(reachability).known?.status.rawValue ?? -1)
    }
}

@_cdecl("wherry_reachability_interface") @implementation
public func wherry_reachability_interface(
    _ reachability: OpaquePointer?
) -> UnsafePointer<CChar>? {
    value(nil) { () throws(WherryError) in
        ReachWords.pointer(try get(reachability).known?.interface ?? .none)
    }
}

@_cdecl("wherry_reachability_copy_name") @implementation
public func wherry_reachability_copy_name(
    _ reachability: OpaquePointer?, _ buffer: UnsafeMutablePointer<CChar>?, _ capacity: Int,
    _ out_count: UnsafeMutablePointer<Int>?
) -> wherry_status {
    status { () throws(WherryError) in
        let name = try get(reachability).known?.interfaceName ?? ""
        try CText.copy(name, to: buffer, capacity, out_count)
    }
}

@_cdecl("wherry_reachability_wait") @implementation
public func wherry_reachability_wait(
    _ reachability: OpaquePointer?, _ timeout_ms: Int64
) -> wherry_status {
    status { () throws(WherryError) in
        guard try get(reachability).monitor().wait(timeout: duration(timeout_ms)) else {
            throw .timedOut
        }
    }
}

@_cdecl("wherry_reachability_notify") @implementation
public func wherry_reachability_notify(
    _ reachability: OpaquePointer?, _ timeout_ms: Int64, _ queue: OpaquePointer?,
    _ user_data: UnsafeMutableRawPointer?
) -> wherry_status {
    status { () throws(WherryError) in
        let box = try get(reachability)
        let queue = try Handles.get(queue, EventQueue.self)
        let relay = QueueRelay(queue, userData: UInt(bitPattern: user_data))
        try box.notify(relay, within: nanoseconds(timeout_ms))
    }
}

@_cdecl("wherry_reachability_report") @implementation
public func wherry_reachability_report(
    _ reachability: OpaquePointer?, _ status: wherry_reach
) -> wherry_status {
    WherryABI.status { () throws(WherryError) in
        let box = try get(reachability)
        try box.monitor().report(checkedStatus(status))
    }
}

@_cdecl("wherry_event_reach_before") @implementation
public func wherry_event_reach_before(_ event: OpaquePointer?) -> wherry_reach {
    value(WHERRY_REACH_UNKNOWN) { () throws(WherryError) in
        wherry_reach(try getEvent(event).news?.old.rawValue ?? -1)
    }
}

@_cdecl("wherry_reach_text") @implementation
public func wherry_reach_text(
    _ status: wherry_reach, _ language: UnsafePointer<CChar>?
) -> UnsafePointer<CChar>? {
    value(nil) { () throws(WherryError) in
        let language = try optionalText(language, "language") ?? "en"
        return ReachWords.lasting(try checkedStatus(status).text(language: language))
    }
}

@_cdecl("wherry_reach_interface_text") @implementation
public func wherry_reach_interface_text(
    _ status: wherry_reach, _ interface: UnsafePointer<CChar>?, _ language: UnsafePointer<CChar>?
) -> UnsafePointer<CChar>? {
    value(nil) { () throws(WherryError) in
        let language = try optionalText(language, "language") ?? "en"
        let interface = try optionalText(interface, "interface")
        return ReachWords.lasting(
            try checkedStatus(status).text(
                language: language,
                interface: interface.flatMap(Reachability.Interface.init(rawValue:))))
    }
}

@_cdecl("wherry_reach_set_text") @implementation
public func wherry_reach_set_text(
    _ status: wherry_reach, _ language: UnsafePointer<CChar>?, _ text: UnsafePointer<CChar>?
) -> wherry_status {
    WherryABI.status { () throws(WherryError) in
        let reach = try checkedStatus(status)
        let language = try WherryABI.text(language, "language")
        Reachability.Status.setText(try optionalText(text, "text"), for: reach, language: language)
    }
}

@_cdecl("wherry_reach_set_interface") @implementation
public func wherry_reach_set_interface(
    _ pattern: UnsafePointer<CChar>?, _ word: UnsafePointer<CChar>?
) -> wherry_status {
    status { () throws(WherryError) in
        let pattern = try text(pattern, "pattern")
        guard let word = try optionalText(word, "word") else {
            return try Reachability.setInterface(pattern, nil)
        }
        // `none` is rejected there, with a specific message.
        try Reachability.setInterface(
            pattern, Reachability.Interface(rawValue: word) ?? Reachability.Interface.none)
    }
}
