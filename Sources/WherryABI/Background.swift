// Wherry: wherry.h, section 18: background sessions.
// SPDX-License-Identifier: Apache-2.0

import CWherry
import WherryBackground
import WherryCore
import WherryHTTP
import WherrySystem

extension BackgroundSession: HandleObject {
    static var kind: HandleKind { .session }
}

private func get(_ session: OpaquePointer?) throws(WherryError) -> BackgroundSession {
    try Handles.get(session, BackgroundSession.self)
}

@_cdecl("wherry_session_new") @implementation
public func wherry_session_new(
    _ config: OpaquePointer?, _ name: UnsafePointer<CChar>?,
    _ out_session: UnsafeMutablePointer<OpaquePointer?>?
) -> wherry_status {
    status { () throws(WherryError) in
        let out = try required(out_session)
        var configuration = Client.Configuration()
        if config != nil {
            configuration = try Handles.change(config, Client.Configuration.self) { $0 }
        }
        try Handles.give(BackgroundSession(text(name, "name"), configuration), to: out)
    }
}

@_cdecl("wherry_session_free") @implementation
public func wherry_session_free(_ session: OpaquePointer?) -> wherry_status {
    status { () throws(WherryError) in
        try Handles.free(session, BackgroundSession.self)?.stopFollowing()
    }
}

@_cdecl("wherry_session_download") @implementation
public func wherry_session_download(
    _ session: OpaquePointer?, _ request: OpaquePointer?, _ path: UnsafePointer<CChar>?,
    _ out_id: UnsafeMutablePointer<CChar>?
) -> wherry_status {
    status { () throws(WherryError) in
        let session = try get(session)
        let path = try WherryABI.path(path, "path")
        guard path.utf8.first == 0x2F else {
            throw WherryError(
                .badPath,
                "The path \"\(path)\" of a background job is not absolute. Pass an absolute path.")
        }
        try copy(id: session.download(snapshot(request), to: path), to: out_id)
    }
}

@_cdecl("wherry_session_upload") @implementation
public func wherry_session_upload(
    _ session: OpaquePointer?, _ request: OpaquePointer?, _ out_id: UnsafeMutablePointer<CChar>?
) -> wherry_status {
    status { () throws(WherryError) in
        try copy(id: get(session).upload(snapshot(request)), to: out_id)
    }
}

/// Writes an id and its NUL; the header requires room for both.
private func copy(
    id: String, to out: UnsafeMutablePointer<CChar>?
) throws(WherryError) {
    guard let out else { return }
    try CText.copy(id, to: out, Int(WHERRY_JOB_ID_SIZE), nil)
}

@_cdecl("wherry_session_list") @implementation
public func wherry_session_list(
    _ session: OpaquePointer?, _ out_list: UnsafeMutablePointer<OpaquePointer?>?
) -> wherry_status {
    status { () throws(WherryError) in
        let out = try required(out_list)
        try Handles.give(ListBox(jobs: try get(session).jobs()), to: out)
    }
}

@_cdecl("wherry_session_follow") @implementation
public func wherry_session_follow(
    _ session: OpaquePointer?, _ job_id: UnsafePointer<CChar>?, _ queue: OpaquePointer?,
    _ user_data: UnsafeMutableRawPointer?
) -> wherry_status {
    status { () throws(WherryError) in
        let session = try get(session)
        let id = try optionalText(job_id, "job_id")
        let queue = try Handles.get(queue, EventQueue.self)
        try session.follow(id, queue: queue, userData: UInt(bitPattern: user_data))
    }
}

private func apply(
    _ session: OpaquePointer?, _ id: UnsafePointer<CChar>?,
    _ verb: (BackgroundSession, String) throws(WherryError) -> Void
) -> wherry_status {
    status { () throws(WherryError) in try verb(get(session), text(id, "job_id")) }
}

@_cdecl("wherry_session_pause") @implementation
public func wherry_session_pause(
    _ session: OpaquePointer?, _ job_id: UnsafePointer<CChar>?
) -> wherry_status {
    apply(session, job_id) { session, id throws(WherryError) in try session.pause(id) }
}

@_cdecl("wherry_session_resume") @implementation
public func wherry_session_resume(
    _ session: OpaquePointer?, _ job_id: UnsafePointer<CChar>?
) -> wherry_status {
    apply(session, job_id) { session, id throws(WherryError) in try session.resume(id) }
}

@_cdecl("wherry_session_cancel") @implementation
public func wherry_session_cancel(
    _ session: OpaquePointer?, _ job_id: UnsafePointer<CChar>?
) -> wherry_status {
    apply(session, job_id) { session, id throws(WherryError) in try session.cancel(id) }
}

@_cdecl("wherry_session_acknowledge") @implementation
public func wherry_session_acknowledge(
    _ session: OpaquePointer?, _ job_id: UnsafePointer<CChar>?
) -> wherry_status {
    apply(session, job_id) { session, id throws(WherryError) in try session.acknowledge(id) }
}

private func apply(
    _ session: OpaquePointer?, _ kind: wherry_match, _ key: UnsafePointer<CChar>?,
    _ outCount: UnsafeMutablePointer<Int>?,
    _ verb: (BackgroundSession, TransferMatch) throws(WherryError) -> Int
) -> wherry_status {
    status { () throws(WherryError) in
        let count = try verb(get(session), match(kind, key))
        outCount?.pointee = count
    }
}

@_cdecl("wherry_session_pause_all") @implementation
public func wherry_session_pause_all(
    _ session: OpaquePointer?, _ match: wherry_match, _ key: UnsafePointer<CChar>?,
    _ out_count: UnsafeMutablePointer<Int>?
) -> wherry_status {
    apply(session, match, key, out_count) { session, match throws(WherryError) in
        try session.pause(match)
    }
}

@_cdecl("wherry_session_resume_all") @implementation
public func wherry_session_resume_all(
    _ session: OpaquePointer?, _ match: wherry_match, _ key: UnsafePointer<CChar>?,
    _ out_count: UnsafeMutablePointer<Int>?
) -> wherry_status {
    apply(session, match, key, out_count) { session, match throws(WherryError) in
        try session.resume(match)
    }
}

@_cdecl("wherry_session_cancel_all") @implementation
public func wherry_session_cancel_all(
    _ session: OpaquePointer?, _ match: wherry_match, _ key: UnsafePointer<CChar>?,
    _ out_count: UnsafeMutablePointer<Int>?
) -> wherry_status {
    apply(session, match, key, out_count) { session, match throws(WherryError) in
        try session.cancel(match)
    }
}

@_cdecl("wherry_session_acknowledge_all") @implementation
public func wherry_session_acknowledge_all(
    _ session: OpaquePointer?, _ match: wherry_match, _ key: UnsafePointer<CChar>?,
    _ out_count: UnsafeMutablePointer<Int>?
) -> wherry_status {
    apply(session, match, key, out_count) { session, match throws(WherryError) in
        try session.acknowledge(match)
    }
}

@_cdecl("wherry_session_copy_description") @implementation
public func wherry_session_copy_description(
    _ session: OpaquePointer?, _ job_id: UnsafePointer<CChar>?, _ in_full: Bool,
    _ buffer: UnsafeMutablePointer<CChar>?, _ capacity: Int, _ out_count: UnsafeMutablePointer<Int>?
) -> wherry_status {
    status { () throws(WherryError) in
        let session = try get(session)
        let id = try text(job_id, "job_id")
        guard let job = try session.job(id) else { throw BackgroundSession.noJob(id) }
        try CText.copy(job.describe(inFull: in_full), to: buffer, capacity, out_count)
    }
}

@_cdecl("wherry_agent_main") @implementation
public func wherry_agent_main(
    _ count: Int32, _ arguments: UnsafePointer<UnsafePointer<CChar>?>?
) -> Int32 {
    guard let arguments, count > 0 else { return 2 }
    var texts: [String] = []
    for index in 1..<max(1, Int(count)) {
        guard let text = arguments[index] else { return 2 }
        texts.append(PathText.text(text))
    }
    return AgentProgram.run(texts)
}
