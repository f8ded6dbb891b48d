// Wherry: formats background jobs as lines and as JSON objects.
// SPDX-License-Identifier: Apache-2.0

import WherryAsync

/// Descriptions of a job.
enum JobReport {
    /// The name of its file, or else its URL.
    static func name(_ job: BackgroundJob) -> String {
        guard let path = job.filePath else { return job.url.isEmpty ? job.id : job.url }
        let last = path.split(separator: "/").last.map(String.init)
        // The response will name the file.
        return path.hasSuffix("/") ? guessedName(of: job.url) : last ?? path
    }

    /// `3f2a91c07d5e  running   62 %  158.7 of 256.0 MiB  /home/me/debian.iso`
    static func line(_ job: BackgroundJob) -> String {
        let percent = ProgressText.percent(job.progress).map { "\($0) %" } ?? "-"
        var text = "\(job.id.prefix(12))  " + "\(job.state)".padded(to: 11)
        text += "  " + String(repeating: " ", count: max(0, 5 - percent.count)) + percent
        text += "  \(ProgressText.amount(job.progress))  \((job.filePath ?? job.url).printable)"
        if let reason = job.error?.reason ?? job.reason, job.state != .done {
            text += "  (\(reason))"
        }
        return text
    }

    /// Each property on a separate line.
    static func lines(_ job: BackgroundJob) -> [String] {
        object(job).map { member in
            let value: String
            if case .string(let text) = member.value {
                value = text.printable
            } else {
                value = member.value.description
            }
            return member.name.padded(to: 17) + value
        }
    }

    static func object(_ job: BackgroundJob) -> JSONObject {
        var object: JSONObject = [
            "job": .string(job.id), "kind": .string("\(job.kind)"),
            "state": .string("\(job.state)"),
            "url": .string(job.url),
        ]
        object["file"] = job.filePath.map { .string($0) }
        object["tag"] = job.tag.map { .string($0) }
        object["completed"] = JSON(job.progress.completed)
        object["total"] = job.progress.total.map { JSON($0) } ?? .null
        if !job.isFinal {
            object["bytes_per_second"] = job.progress.bytesPerSecond.map { JSON($0) } ?? .null
            object["seconds_left"] = job.progress.remaining.map { Report.seconds($0) } ?? .null
        }
        object["started_at"] = .double(job.startedAt)
        object["changed_at"] = .double(job.changedAt)
        object["retry_at"] = job.retryAt.map { .double($0) }
        object["reason"] = job.reason.map { .string($0) }
        if let response = job.response { object["status"] = JSON(response.status) }
        for (name, value) in job.digests.sorted(by: <) { object[name] = .string(value) }
        if let error = job.error {
            var told: JSONObject = [
                "reason": .string(error.reason), "message": .string(Report.message(of: error)),
            ]
            told["retryable"] = .bool(error.isRetryable)
            if error.httpStatus != 0 { told["status"] = JSON(error.httpStatus) }
            if let path = error.partialPath { told["partial"] = .string(path) }
            object["error"] = .object(told)
        }
        return object
    }
}

extension String {
    /// The text, padded with spaces to align columns.
    fileprivate func padded(to count: Int) -> String {
        self + String(repeating: " ", count: max(0, count - self.count))
    }
}
