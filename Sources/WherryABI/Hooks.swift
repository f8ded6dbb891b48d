// Wherry: wherry.h, section 9: hooks.
// SPDX-License-Identifier: Apache-2.0

import CWherry
import WherryCore
import WherryHTTP
import WherryRequests
import WherryTransport

/// Returns the hook call of an event, if it has this kind.
private func hookCall(
    _ event: OpaquePointer?, _ kinds: HookSet
) throws(WherryError) -> (event: QueueEvent, call: HookCall) {
    let event = try getEvent(event)
    guard case .hook(let call) = event.event, kinds.contains(call.kind.set) else {
        throw WherryError(.badArgument, "The event is no call of this hook")
    }
    return (event, call)
}

@_cdecl("wherry_event_request") @implementation
public func wherry_event_request(_ event: OpaquePointer?) -> OpaquePointer? {
    value(nil) { () throws(WherryError) in
        let (event, call) = try hookCall(event, [.adapt, .redirect])
        switch call.kind {
        case .adapt(let request), .redirect(_, let request):
            return event.lendings.request(request)
        default: return nil
        }
    }
}

@_cdecl("wherry_event_resolve_adapt") @implementation
public func wherry_event_resolve_adapt(
    _ event: OpaquePointer?, _ proceed: Bool
) -> wherry_status {
    status { () throws(WherryError) in
        let (event, call) = try hookCall(event, .adapt)
        guard proceed else {
            return try call.resolve(
                .refuse("The program refused the request before it was sent"))
        }
        let edited = event.lendings.edited?.with { $0.request }
        try call.resolve(edited.map { .adapted($0) } ?? .standard)
    }
}

@_cdecl("wherry_event_resolve_redirect") @implementation
public func wherry_event_resolve_redirect(
    _ event: OpaquePointer?, _ follow: Bool
) -> wherry_status {
    status { () throws(WherryError) in
        let (event, call) = try hookCall(event, .redirect)
        guard follow else { return try call.resolve(.follow(false)) }
        let edited = event.lendings.edited?.with { $0.request }
        try call.resolve(edited.map { .adapted($0) } ?? .standard)
    }
}

@_cdecl("wherry_event_resolve_headers") @implementation
public func wherry_event_resolve_headers(
    _ event: OpaquePointer?, _ proceed: Bool
) -> wherry_status {
    status { () throws(WherryError) in
        let call = try hookCall(event, .headers).call
        guard !proceed else { return try call.resolve(.standard) }
        var what = "the response"
        if case .headers(let response, _) = call.kind {
            what += " from \(HTTPURL.redacted(response.url)) (status \(response.status))"
        }
        try call.resolve(.refuse("The program refused \(what) after its headers arrived"))
    }
}

@_cdecl("wherry_event_resolve_save") @implementation
public func wherry_event_resolve_save(
    _ event: OpaquePointer?, _ path: UnsafePointer<CChar>?
) -> wherry_status {
    status { () throws(WherryError) in
        let call = try hookCall(event, .headers).call
        guard case .headers(_, let place) = call.kind else { return }
        try call.resolve(.save(place.target(WherryABI.path(path, "path"))))
    }
}

@_cdecl("wherry_event_resolve_retry") @implementation
public func wherry_event_resolve_retry(
    _ event: OpaquePointer?, _ again: Bool, _ delay_ms: Int64
) -> wherry_status {
    status { () throws(WherryError) in
        let call = try hookCall(event, .retry).call
        guard delay_ms >= -1 else {
            throw WherryError(
                .badValue,
                "\(delay_ms) ms is not a delay. Pass 0 or more, or -1 for the default delay.")
        }
        try call.resolve(
            .again(again, after: delay_ms < 0 ? nil : Int64.milliseconds(delay_ms)))
    }
}

@_cdecl("wherry_event_resolve_token") @implementation
public func wherry_event_resolve_token(
    _ event: OpaquePointer?, _ token: UnsafePointer<CChar>?
) -> wherry_status {
    status { () throws(WherryError) in
        let call = try hookCall(event, .token).call
        let token = try optionalText(token, "token")
        try TextOption.bearerToken.check(token, in: .live)
        try call.resolve(.token(token))
    }
}

@_cdecl("wherry_event_resolve_credentials") @implementation
public func wherry_event_resolve_credentials(
    _ event: OpaquePointer?, _ user: UnsafePointer<CChar>?, _ password: UnsafePointer<CChar>?
) -> wherry_status {
    status { () throws(WherryError) in
        let call = try hookCall(event, .credentials).call
        let credentials = try credentials(WHERRY_AUTH_ANY, user, password)
        try call.resolve(credentials.map { .credentials($0) } ?? .standard)
    }
}

@_cdecl("wherry_event_resolve_store") @implementation
public func wherry_event_resolve_store(
    _ event: OpaquePointer?, _ store: Bool, _ without_headers: UnsafePointer<CChar>?
) -> wherry_status {
    status { () throws(WherryError) in
        let call = try hookCall(event, .store).call
        let names = try optionalText(without_headers, "without_headers")?.split(separator: ",")
        let trimmed = (names ?? []).map { String($0).trimmingFieldSpace }
        for name in trimmed { try Headers.check(name, nil) }
        try call.resolve(.store(store, without: trimmed))
    }
}

@_cdecl("wherry_event_resolve_next") @implementation
public func wherry_event_resolve_next(
    _ event: OpaquePointer?, _ request: OpaquePointer?, _ user_data: UnsafeMutableRawPointer?
) -> wherry_status {
    status { () throws(WherryError) in
        let call = try hookCall(event, .next).call
        let request = try snapshot(request)
        try call.resolve(
            .next(
                RequestGroup.Member(
                    content: .request(request), userData: UInt(bitPattern: user_data))))
    }
}

@_cdecl("wherry_event_resolve_next_group") @implementation
public func wherry_event_resolve_next_group(
    _ event: OpaquePointer?, _ group: OpaquePointer?, _ user_data: UnsafeMutableRawPointer?
) -> wherry_status {
    status { () throws(WherryError) in
        let call = try hookCall(event, .next).call
        let group = try Handles.change(group, GroupValue.self) { $0.group }
        try call.resolve(
            .next(
                RequestGroup.Member(content: .group(group), userData: UInt(bitPattern: user_data))))
    }
}

@_cdecl("wherry_event_resolve_stop") @implementation
public func wherry_event_resolve_stop(_ event: OpaquePointer?) -> wherry_status {
    status { () throws(WherryError) in try hookCall(event, .next).call.resolve(.stop) }
}

/// Returns the request to respond to, if the event has one.
private func stubCall(_ event: OpaquePointer?) throws(WherryError) -> StubCall {
    guard case .respond(let call) = try hookCall(event, .respond).call.kind else {
        throw WherryError(.badArgument, "The event is not a WHERRY_HOOK_RESPOND")
    }
    return call
}

private func checkFirst(_ isFirst: Bool) throws(WherryError) {
    guard isFirst else { throw WherryError(.resolved, "This request already has its response") }
}

@_cdecl("wherry_event_resolve_response") @implementation
public func wherry_event_resolve_response(
    _ event: OpaquePointer?, _ http_code: Int32, _ head: UnsafePointer<CChar>?,
    _ body: UnsafeRawPointer?, _ count: Int
) -> wherry_status {
    status { () throws(WherryError) in
        try checkFirst(
            stubCall(event).respond(
                status: finalStatus(http_code), head: headerLines(head),
                body: bytes(body, count)))
    }
}

@_cdecl("wherry_event_resolve_failure") @implementation
public func wherry_event_resolve_failure(
    _ event: OpaquePointer?, _ reason: UnsafePointer<CChar>?, _ message: UnsafePointer<CChar>?
) -> wherry_status {
    status { () throws(WherryError) in
        let call = try stubCall(event)
        let kind = try failureKind(reason)
        let message = try optionalText(message, "message")
        try checkFirst(
            call.fail(kind, message ?? "The program failed the request: \(kind.rawValue)"))
    }
}

@_cdecl("wherry_event_resolve_refuse") @implementation
public func wherry_event_resolve_refuse(
    _ event: OpaquePointer?, _ message: UnsafePointer<CChar>?
) -> wherry_status {
    status { () throws(WherryError) in
        let call = try hookCall(event, [.all, .next, .respond]).call
        let message = try optionalText(message, "message")
        try call.resolve(.refuse(message ?? "The program refused the request"))
    }
}
