// Wherry: prints results, notes, progress, and errors.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import WherryAsync

/// Results go to standard output, everything else to standard error.
struct Console: Sendable {
    let isQuiet: Bool
    let isJSON: Bool
    private let kind: ProgressKind

    init(_ options: OutputOptions) {
        isQuiet = options.quiet
        isJSON = options.jsonOutput
        kind = options.progress
    }

    /// For errors of the command line itself.
    init(isJSON: Bool, hasJSONLines: Bool) {
        isQuiet = false
        self.isJSON = isJSON
        kind = hasJSONLines ? .json : .none
    }

    /// Whether standard error has JSON lines only.
    private var hasJSONLines: Bool { kind == .json }

    /// Prints a result as a line of JSON.
    func print(_ result: ResultObject) throws(OutputError) {
        try print(result.line)
    }

    /// Prints a result as a line of JSON.
    func print(_ result: JSONObject) throws(OutputError) {
        try print(ResultObject(result))
    }

    /// Prints a result as a line of text.
    func print(_ line: String) throws(OutputError) {
        try OutputFile().write(line + "\n")
    }

    /// Prints a note to standard error, unless --quiet is given.
    func note(_ text: String) {
        if isQuiet { return }
        let line =
            hasJSONLines ? JSON.object(["event": "note", "text": .string(text)]).description : text
        FileBytes.writeLine(line, to: STDERR_FILENO)
    }

    /// Warns that the body of a response may have been cut. `--json-output` has a member instead.
    func noteUnverifiedLength() {
        if isJSON { return }
        note(
            "warning: the body may be incomplete: it has no length, and the connection ended without "
                + "close_notify. Use --require-verified-length to make this an error.")
    }

    /// Returns the progress display of the options; `nil` for none.
    ///
    /// - Parameter rows: The rows of the terminal, shared by transfers that run at once.
    func progress(named name: String, in rows: BarRows = BarRows()) -> ProgressDisplay? {
        if isQuiet { return nil }
        switch kind {
        case .none: return nil
        case .bar: return ProgressBar(named: name, in: rows)
        case .lines: return ProgressLines(named: name)
        case .json: return ProgressRecords(named: name)
        case .auto:
            return Terminal.error.isTerminal
                ? ProgressBar(named: name, in: rows) : ProgressLines(named: name)
        }
    }

    /// Prints the error of an upload as JSON, with a row for each of `images`. Returns the exit status.
    func complain(_ error: WherryError, images: [ResultObject]) -> Int32 {
        let isInterrupted = error.code == .cancelled && Interrupts.status != nil
        let status = isInterrupted ? Interrupts.status ?? 0 : ExitStatus(error.code).rawValue
        var report = Report.failure(error, status)
        report.images = images
        printFailure(report.line)
        return status
    }

    /// Prints the error of one of several transfers, and returns its exit status.
    func complain(_ error: WherryError, about name: String, url: String) -> Int32 {
        let complaint = complaint(error, about: name, url: url)
        if isJSON { printFailure(complaint.line) }
        return complaint.status
    }

    /// The same, but returns the JSON instead of printing it, so that the caller can keep the order.
    func complaint(_ error: WherryError, about name: String, url: String)
        -> (status: Int32, line: String)
    {
        let isInterrupted = error.code == .cancelled && Interrupts.status != nil
        let status = isInterrupted ? Interrupts.status ?? 0 : ExitStatus(error.code).rawValue
        var report = Report.failure(error, status)
        report["url"] = .string(url)
        // A transfer that was interrupted before it started gets no line.
        let partial = error.partialPath.map { "interrupted; \(Self.kept($0))" }
        if !isJSON, let text = isInterrupted ? partial : Self.sentence(of: error) {
            tell("\(name): \(text)", report)
        }
        return (status, report.line)
    }

    /// Prints an error, and returns its exit status.
    func complain(_ error: any Error) -> Int32 {
        let interrupted = Interrupts.status
        switch error {
        case let error as ToldFailure:
            if let interrupted, !isJSON {
                tell("interrupted", Report.failure("interrupted", reason: "cancelled", interrupted))
                return interrupted
            }
            return interrupted ?? error.status
        case let error as WherryError:
            if let interrupted, error.code == .cancelled {
                let kept = error.partialPath.map { "; \(Self.kept($0))" }
                tell("interrupted" + (kept ?? ""), Report.failure(error, interrupted))
                return interrupted
            }
            let status = ExitStatus(error.code).rawValue
            tell(Self.sentence(of: error), Report.failure(error, status))
            return status
        case let error as OutputError:
            if error.isBrokenPipe { return 128 + SIGPIPE }
            let status = ExitStatus.file.rawValue
            let message = MessageText.shortened(error.message)
            let report = Report.failure(message, reason: "io", status)
            if error.isStandardOutput { warn(message, report) } else { tell(message, report) }
            return status
        case let error as ValidationError:
            let status = ExitStatus.usage.rawValue
            let message = MessageText.shortened(error.message)
            tell(message, Report.failure(message, reason: "usage", status))
            return status
        case let verdict as Verdict: return verdict.status.rawValue
        case is CancellationError:
            let status = interrupted ?? ExitStatus.other.rawValue
            tell("interrupted", Report.failure("interrupted", reason: "cancelled", status))
            return status
        default:
            let status = ExitStatus.other.rawValue
            tell("\(error)", Report.failure("\(error)", reason: "internal", status))
            return status
        }
    }

    private static func sentence(of error: WherryError) -> String {
        var text = "\(error.reason): \(Report.message(of: error))"
        // An error of two sentences ends with a period.
        func add(_ clause: String) { text += text.hasSuffix(".") ? " \(clause)." : "; \(clause)" }
        if let wait = error.retryAfter { add("try again in \(Units.time(wait))") }
        if let path = error.partialPath {
            // With an existing file, the same command would fail again.
            let isTaken = error.reason == ErrorReason.exists.rawValue
            add(kept(path, with: isTaken ? " with --overwrite" : ""))
        }
        return text
    }

    /// Says how to continue with a partial file.
    private static func kept(_ path: String, with option: String = "") -> String {
        "\(path) is kept, and the same command\(option) resumes if the server supports it"
    }

    /// Prints an error where results or messages go.
    private func tell(_ text: String, _ report: ResultObject) {
        if isJSON { printFailure(report.line) } else { warn(text, report) }
    }

    /// Prints the error of a file that is written besides the result to standard error. Returns its
    /// exit status.
    func warn(of error: WherryError) -> Int32 {
        let status = ExitStatus(error.code).rawValue
        warn(Self.sentence(of: error), Report.failure(error, status))
        return status
    }

    /// Prints an error to standard error.
    private func warn(_ text: String, _ report: ResultObject) {
        if hasJSONLines {
            return FileBytes.writeLine(report.event("error").line, to: STDERR_FILENO)
        }
        let name = Terminal.error.paint("wherry:", .red)
        FileBytes.writeLine("\(name) \(text.printableLines)", to: STDERR_FILENO)
    }

    /// Prints the JSON of a failure, which already sets the exit status.
    private func printFailure(_ line: String) {
        do throws(OutputError) {
            try print(line)
        } catch {
            _ = complain(error)
        }
    }
}
