// Wherry: results of uploads that are not in their records yet.
// SPDX-License-Identifier: Apache-2.0

import WherryCore
import WherryHTTP
import WherrySystem

/// Stores the result of an upload in its own file, because a server must never receive the same
/// upload again after it has responded. The file is written as soon as the result is known, without
/// waiting for the disk, and before the record. If the agent is killed between the two, the next
/// agent reads the result from the file. The first write happens when the headers of a 2xx response
/// arrive, since the rest of the response may take long.
extension StateFolder {
    static func endingName(_ id: String) -> String { id + ".end" }

    /// Stores the result of an upload. Call it before any other action on the result. The last call
    /// wins. If the job continues after this result, removes the file.
    ///
    /// If the file cannot be created, removes the body instead. Without a body the next agent
    /// cannot repeat the upload, and reports the missing result.
    func note(_ ending: AgentMachine.Ending, _ progress: Progress, of id: String) {
        guard ending.isLast else { return removeEnding(id) }
        var json = JSONObject()
        json.set("version", JobRecord.version)
        json["failure"] = ending.error.map { .object($0.json) }
        json["answer"] = ending.answer.map { .object($0.json) }
        json["progress"] = .object(progress.json)
        if ending.lacksBody { json["lacks_body"] = .bool(true) }
        let name = Self.endingName(id)
        let temporary = name + ".new"
        do throws(SystemError) {
            _ = try? jobs.remove(temporary)
            let file = try File.open(temporary, [.write, .create, .exclusive], in: jobs)
            // An empty file still records that the upload ended, for example on a full disk.
            if let text = try? JSON.object(json).printed() { try? file.write(text, at: 0) }
            try jobs.rename(temporary, to: name, replacing: true)
        } catch {
            _ = try? jobs.remove(temporary)
            // An earlier result, written for the response headers, remains valid.
            if (try? jobs.status(of: name)) == nil { removeBody(id) }
        }
    }

    /// Removes a stored result, because the upload is sent or continues.
    func removeEnding(_ id: String) { _ = try? jobs.remove(Self.endingName(id)) }

    /// Returns what is left of an upload whose record says that it is unfinished.
    ///
    /// - Parameter names: The names of the existing files.
    func remains(_ id: String, _ names: Set<String>) -> JobRecord.Remains {
        guard names.contains(Self.endingName(id)) else {
            return names.contains(Self.bodyName(id)) ? .all : .nothing
        }
        guard let bytes = jobs.contents(of: Self.endingName(id), limit: JobRecord.mostBytes),
            let json = JobRecord.object(bytes.array), json.integer("version") == JobRecord.version,
            let progress = json.object("progress")
        else { return .nothing }
        var ending = AgentMachine.Ending()
        ending.error = json.object("failure").flatMap { JobFailure($0) }
        ending.answer = json.object("answer").flatMap { JobResponse($0) }
        ending.lacksBody = json.flag("lacks_body")
        // A partly unreadable result must not pass for a different result.
        guard (ending.error != nil) == (json.object("failure") != nil),
            (ending.answer != nil) == (json.object("answer") != nil)
        else { return .nothing }
        return .ending(ending, Progress(progress))
    }

    /// Removes the files that are useless once the upload is finished.
    func removeRemains(_ id: String) {
        removeBody(id)
        removeEnding(id)
    }
}
