// Wherry: how uploads ended whose records do not say it yet.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

/// A server must not get an upload again that it has answered. So its end is written beside the record
/// in the moment it is known, without waiting for the disk, and the record follows: an agent that is
/// killed between the two leaves the file, and the next agent takes the end from it. It is written
/// first when the headers of a 2xx response arrive, since the rest may take long.
extension StateFolder {
    static func endingName(_ id: String) -> String { id + ".end" }

    /// Writes down how an upload ended; call it before anything else is done about the end. The last
    /// call counts, and an ending after which the job goes on removes the file.
    ///
    /// If the file cannot be made, the body is removed instead: without it the upload cannot be
    /// sent again, and the next agent knows why.
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
            // An empty file says that the upload ended, even if there is no room for more.
            if let text = try? JSON.object(json).printed() { try? file.write(text, at: 0) }
            try jobs.rename(temporary, to: name, replacing: true)
        } catch {
            _ = try? jobs.remove(temporary)
            // What the headers of the response said stays true.
            if (try? jobs.status(of: name)) == nil { removeBody(id) }
        }
    }

    /// Removes what was written down: the upload is sent, or goes on.
    func removeEnding(_ id: String) { _ = try? jobs.remove(Self.endingName(id)) }

    /// What is left of an upload which its record calls unfinished.
    ///
    /// - Parameter names: of the files that are there.
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
        ending.answer = json.object("answer").flatMap { JobAnswer($0) }
        ending.lacksBody = json.flag("lacks_body")
        // An end of which a part cannot be read may not pass for another.
        guard (ending.error != nil) == (json.object("failure") != nil),
            (ending.answer != nil) == (json.object("answer") != nil)
        else { return .nothing }
        return .ending(ending, Progress(progress))
    }

    /// Removes what is of no use after the end.
    func removeRemains(_ id: String) {
        removeBody(id)
        removeEnding(id)
    }
}
