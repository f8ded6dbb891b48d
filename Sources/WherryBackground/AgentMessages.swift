// Wherry: messages between the agent and its clients.
// SPDX-License-Identifier: Apache-2.0

import WherryCore
import WherryHTTP
import WherrySystem

/// A request from a client to the agent, as one JSON object.
package enum AgentRequest: Sendable, Hashable {
    /// Lists every job, followed by ``AgentReply/ok``.
    case list
    /// Starts a job.
    case start(JobRecord)
    case verb(AgentMachine.Verb, id: String)
    /// Lists every job, followed by ``AgentReply/ok``, then reports every change.
    case follow

    package var json: JSONObject {
        var json = JSONObject()
        json.set("version", AgentFrames.version)
        switch self {
        case .list: json.set("verb", "list")
        case .follow: json.set("verb", "follow")
        case .start(let record):
            json.set("verb", "start")
            json["record"] = .object(record.json)
        case .verb(let verb, let id):
            json.set("verb", verb.rawValue)
            json.set("id", id)
        }
        return json
    }

    /// Parses a request. Returns `nil` if no client of this version sends it.
    package init?(_ json: JSONObject) {
        guard json.integer("version") == AgentFrames.version, let verb = json.text("verb") else {
            return nil
        }
        switch verb {
        case "list": self = .list
        case "follow": self = .follow
        case "start":
            guard let record = json.object("record").flatMap({ JobRecord($0) }),
                record.request != nil, !record.job.isFinal
            else { return nil }
            self = .start(record)
        default:
            guard let verb = AgentMachine.Verb(rawValue: verb), let id = json.text("id"),
                BackgroundJob.isID(id)
            else { return nil }
            self = .verb(verb, id: id)
        }
    }
}

/// A reply from the agent.
package enum AgentReply: Sendable, Hashable {
    /// The request succeeded, or the list is complete.
    case ok
    case failed(JobFailure)
    case job(BackgroundJob)
    /// The job no longer exists.
    case gone(id: String)

    package var json: JSONObject {
        var json = JSONObject()
        switch self {
        case .ok: json["ok"] = .bool(true)
        case .failed(let failure): json["failed"] = .object(failure.json)
        case .job(let job): json["job"] = .object(job.json)
        case .gone(let id): json.set("gone", id)
        }
        return json
    }

    /// Parses a reply. Returns `nil` if no agent of this version sends it.
    package init?(_ json: JSONObject) {
        if json.flag("ok") {
            self = .ok
        } else if let failure = json.object("failed").flatMap({ JobFailure($0) }) {
            self = .failed(failure)
        } else if let job = json.object("job").flatMap({ BackgroundJob($0) }) {
            self = .job(job)
        } else if let id = json.text("gone"), BackgroundJob.isID(id) {
            self = .gone(id: id)
        } else {
            return nil
        }
    }
}

/// The framing of messages: a 4-byte big-endian length, then that many bytes of JSON.
package enum AgentFrames {
    package static let version: Int64 = 1
    /// The maximum length of a message. A longer message closes the connection.
    package static let mostBytes = JobRecord.mostBytes + 65_536

    /// Returns a message with its length prefix.
    package static func frame(_ json: JSONObject) throws(WherryError) -> [UInt8] {
        let text: [UInt8]
        do {
            text = try JSON.object(json).printed()
        } catch {
            throw WherryError(.badParameters, error.message)
        }
        guard text.count <= mostBytes else {
            throw WherryError(
                .tooLarge, "A message of \(text.count) bytes is too long for the agent")
        }
        let count = UInt32(text.count)
        let length = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: count >> $0) }
        return length + text
    }

    /// Collects bytes and extracts complete messages.
    package struct Reader: Sendable {
        /// The bytes not yet parsed. Append received data here directly.
        package var bytes: [UInt8] = []

        package init() {}

        /// Returns the next message, or `nil` if the message is incomplete.
        ///
        /// - Throws: `protocol` if a length exceeds the limit or the text is not a JSON object.
        ///   Discard all later data after that error.
        package mutating func next() throws(WherryError) -> JSONObject? {
            guard bytes.count >= 4 else { return nil }
            let count = bytes[..<4].reduce(0) { $0 << 8 | Int($1) }
            guard count <= AgentFrames.mostBytes else {
                throw WherryError(.badProtocol, "A message between agent and client is too long")
            }
            guard bytes.count >= 4 + count else { return nil }
            let text = Array(bytes[4..<4 + count])
            bytes.removeFirst(4 + count)
            guard
                case .object(let json)? = try? JSON.parse(
                    text, limits: JSONLimits(bytes: AgentFrames.mostBytes))
            else {
                throw WherryError(
                    .badProtocol, "A message between agent and client is not a JSON object")
            }
            return json
        }
    }
}
