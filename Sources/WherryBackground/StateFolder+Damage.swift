// Wherry: placeholders for job records that cannot be read.
// SPDX-License-Identifier: Apache-2.0

import WherryCore
import WherryHTTP
import WherrySystem

extension StateFolder {
    /// Returns a failed job in place of a record that cannot be read. `nil` if the file
    /// does not exist.
    ///
    /// - Parameter hasBody: Whether there is a stored upload body for this job.
    func damaged(_ id: String, hasBody: Bool) -> JobRecord? {
        guard let status = try? jobs.status(of: Self.recordName(id)) else { return nil }
        let text = jobs.contents(of: Self.recordName(id), limit: JobRecord.mostBytes)
        let json = text.flatMap { JobRecord.object($0.array) }
        // Show every member that is still readable.
        let known = json?.object("job")
        var job = BackgroundJob(
            id: id, kind: hasBody || known?.integer("kind") == 2 ? .upload : .download,
            url: known?.text("url") ?? "", path: known?.text("path"))
        job.tag = known?.text("tag")
        job.state = .failed
        job.reason = ErrorReason.damagedJob.rawValue
        job.startedAt =
            known?.number("started_at") ?? Double(status.modifiedNanoseconds) / 1e9
        job.changedAt = Double(status.modifiedNanoseconds) / 1e9
        job.failure = JobFailure(
            WherryError(
                .damagedJob,
                "The record of a background job, \(jobs.path(of: Self.recordName(id))), could not be read: \(Self.problem(status, text, json)). Acknowledge the job to delete it (`wherry jobs clean \(id)`)."
            ))
        return JobRecord(damaged: job)
    }

    private static func problem(_ status: FileStatus, _ text: Bytes?, _ json: JSONObject?)
        -> String
    {
        guard status.kind == .regular else { return "it is not a regular file" }
        guard status.size > 0 else { return "it is empty" }
        guard status.size <= Int64(JobRecord.mostBytes) else {
            return "it has \(status.size) bytes, and the limit is \(JobRecord.mostBytes)"
        }
        guard text != nil else { return "the file could not be opened" }
        guard let json else { return "it is not valid JSON" }
        if let version = json.integer("version"), version != JobRecord.version {
            return
                "it has version \(version), and this release of Wherry reads \(JobRecord.version)"
        }
        return "members are missing or have invalid values"
    }
}
