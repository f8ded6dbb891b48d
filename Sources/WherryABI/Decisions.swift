// Wherry: wherry.h, section 9: decisions.
// SPDX-License-Identifier: Apache-2.0

import CWherry
import WherryCore
import WherryHTTP
import WherryRequests
import WherryTransport

/// Returns the question of an event, if it has this kind.
private func question(
    _ event: OpaquePointer?, _ kinds: DecisionSet
) throws(WherryError) -> (event: QueueEvent, decision: Decision) {
    let event = try getEvent(event)
    guard case .decision(let decision) = event.event, kinds.contains(decision.kind.set) else {
        throw WherryError(.badArgument, "The event does not ask for a decision of this kind")
    }
    return (event, decision)
}

@_cdecl("wherry_event_request") @implementation
public func wherry_event_request(_ event: OpaquePointer?) -> OpaquePointer? {
    value(nil) { () throws(WherryError) in
        let (event, decision) = try question(event, [.adapt, .redirect])
        switch decision.kind {
        case .adapt(let request), .redirect(_, let request):
            return event.lendings.request(request)
        default: return nil
        }
    }
}

@_cdecl("wherry_event_answer_adapt") @implementation
public func wherry_event_answer_adapt(
    _ event: OpaquePointer?, _ proceed: Bool
) -> wherry_status {
    status { () throws(WherryError) in
        let (event, decision) = try question(event, .adapt)
        guard proceed else {
            return try decision.answer(
                .refuse("The program refused the request before it was sent"))
        }
        let edited = event.lendings.edited?.with { $0.request }
        try decision.answer(edited.map { .adapted($0) } ?? .standard)
    }
}

@_cdecl("wherry_event_answer_redirect") @implementation
public func wherry_event_answer_redirect(
    _ event: OpaquePointer?, _ follow: Bool
) -> wherry_status {
    status { () throws(WherryError) in
        let (event, decision) = try question(event, .redirect)
        guard follow else { return try decision.answer(.follow(false)) }
        let edited = event.lendings.edited?.with { $0.request }
        try decision.answer(edited.map { .adapted($0) } ?? .standard)
    }
}

@_cdecl("wherry_event_answer_head") @implementation
public func wherry_event_answer_head(
    _ event: OpaquePointer?, _ proceed: Bool
) -> wherry_status {
    status { () throws(WherryError) in
        let decision = try question(event, .head).decision
        guard !proceed else { return try decision.answer(.standard) }
        var what = "the response"
        if case .head(let response, _) = decision.kind {
            what += " from \(HTTPURL.redacted(response.url)) (status \(response.status))"
        }
        try decision.answer(.refuse("The program refused \(what) after its headers arrived"))
    }
}

@_cdecl("wherry_event_answer_save") @implementation
public func wherry_event_answer_save(
    _ event: OpaquePointer?, _ path: UnsafePointer<CChar>?
) -> wherry_status {
    status { () throws(WherryError) in
        let decision = try question(event, .head).decision
        guard case .head(_, let place) = decision.kind else { return }
        try decision.answer(.save(place.target(WherryABI.path(path, "path"))))
    }
}

@_cdecl("wherry_event_answer_retry") @implementation
public func wherry_event_answer_retry(
    _ event: OpaquePointer?, _ again: Bool, _ delay_ms: Int64
) -> wherry_status {
    status { () throws(WherryError) in
        let decision = try question(event, .retry).decision
        guard delay_ms >= -1 else {
            throw WherryError(
                .badValue,
                "\(delay_ms) ms is not a delay. Pass 0 or more, or -1 for the default delay.")
        }
        try decision.answer(
            .again(again, after: delay_ms < 0 ? nil : Int64.milliseconds(delay_ms)))
    }
}

@_cdecl("wherry_event_answer_token") @implementation
public func wherry_event_answer_token(
    _ event: OpaquePointer?, _ token: UnsafePointer<CChar>?
) -> wherry_status {
    status { () throws(WherryError) in
        let decision = try question(event, .token).decision
        let token = try optionalText(token, "token")
        try TextOption.bearerToken.check(token, in: .live)
        try decision.answer(.token(token))
    }
}

@_cdecl("wherry_event_answer_credentials") @implementation
public func wherry_event_answer_credentials(
    _ event: OpaquePointer?, _ user: UnsafePointer<CChar>?, _ password: UnsafePointer<CChar>?
) -> wherry_status {
    status { () throws(WherryError) in
        let decision = try question(event, .credentials).decision
        let credentials = try credentials(WHERRY_AUTH_ANY, user, password)
        try decision.answer(credentials.map { .credentials($0) } ?? .standard)
    }
}

@_cdecl("wherry_event_answer_store") @implementation
public func wherry_event_answer_store(
    _ event: OpaquePointer?, _ store: Bool, _ without_headers: UnsafePointer<CChar>?
) -> wherry_status {
    status { () throws(WherryError) in
        let decision = try question(event, .store).decision
        let names = try optionalText(without_headers, "without_headers")?.split(separator: ",")
        let trimmed = (names ?? []).map { String($0).trimmingFieldSpace }
        for name in trimmed { try Headers.check(name, nil) }
        try decision.answer(.store(store, without: trimmed))
    }
}

@_cdecl("wherry_event_answer_next") @implementation
public func wherry_event_answer_next(
    _ event: OpaquePointer?, _ request: OpaquePointer?, _ user_data: UnsafeMutableRawPointer?
) -> wherry_status {
    status { () throws(WherryError) in
        let decision = try question(event, .next).decision
        let request = try snapshot(request)
        try decision.answer(
            .next(
                RequestGroup.Member(
                    content: .request(request), userData: UInt(bitPattern: user_data))))
    }
}

@_cdecl("wherry_event_answer_next_group") @implementation
public func wherry_event_answer_next_group(
    _ event: OpaquePointer?, _ group: OpaquePointer?, _ user_data: UnsafeMutableRawPointer?
) -> wherry_status {
    status { () throws(WherryError) in
        let decision = try question(event, .next).decision
        let group = try Handles.change(group, GroupValue.self) { $0.group }
        try decision.answer(
            .next(
                RequestGroup.Member(content: .group(group), userData: UInt(bitPattern: user_data))))
    }
}

@_cdecl("wherry_event_answer_stop") @implementation
public func wherry_event_answer_stop(_ event: OpaquePointer?) -> wherry_status {
    status { () throws(WherryError) in try question(event, .next).decision.answer(.stop) }
}

/// Returns the request to respond to, if the event has one.
private func stubQuestion(_ event: OpaquePointer?) throws(WherryError) -> StubQuestion {
    guard case .respond(let question) = try question(event, .respond).decision.kind else {
        throw WherryError(.badArgument, "The event is not a WHERRY_DECISION_RESPOND")
    }
    return question
}

private func checkFirst(_ isFirst: Bool) throws(WherryError) {
    guard isFirst else { throw WherryError(.answered, "This request already has its response") }
}

@_cdecl("wherry_event_answer_response") @implementation
public func wherry_event_answer_response(
    _ event: OpaquePointer?, _ http_code: Int32, _ head: UnsafePointer<CChar>?,
    _ body: UnsafeRawPointer?, _ count: Int
) -> wherry_status {
    status { () throws(WherryError) in
        try checkFirst(
            stubQuestion(event).respond(
                status: finalStatus(http_code), head: headerLines(head),
                body: bytes(body, count)))
    }
}

@_cdecl("wherry_event_answer_failure") @implementation
public func wherry_event_answer_failure(
    _ event: OpaquePointer?, _ reason: UnsafePointer<CChar>?, _ message: UnsafePointer<CChar>?
) -> wherry_status {
    status { () throws(WherryError) in
        let question = try stubQuestion(event)
        let kind = try failureKind(reason)
        let message = try optionalText(message, "message")
        try checkFirst(
            question.fail(kind, message ?? "The program failed the request: \(kind.rawValue)"))
    }
}

@_cdecl("wherry_event_answer_refuse") @implementation
public func wherry_event_answer_refuse(
    _ event: OpaquePointer?, _ message: UnsafePointer<CChar>?
) -> wherry_status {
    status { () throws(WherryError) in
        let decision = try question(event, [.all, .next, .respond]).decision
        let message = try optionalText(message, "message")
        try decision.answer(.refuse(message ?? "The program refused the request"))
    }
}
