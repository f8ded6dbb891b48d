// Wherry: the commands that list and control background jobs.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import WherryAsync
import WherrySystem

struct JobsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "jobs",
        abstract: "List, follow, pause, resume, and cancel background jobs.",
        discussion: """
            Without a subcommand, it lists the jobs.

            EXAMPLES
              wherry jobs
              wherry jobs follow 3f2a91
              wherry jobs cancel --all
              wherry jobs clean

            Name a job by its id, by at least 4 digits from the beginning of its id, or by the file \
            that it downloads. Finished jobs stay in the list until you run 'wherry jobs clean' or a \
            program acknowledges them.
            """,
        subcommands: [
            JobsListCommand.self, JobsShowCommand.self, JobsPauseCommand.self,
            JobsResumeCommand.self, JobsCancelCommand.self, JobsFollowCommand.self,
            JobsCleanCommand.self,
        ], defaultSubcommand: JobsListCommand.self)
}

/// A command about a session.
protocol SessionCommand: NetworkCommand {
    var session: SessionOptions { get }
    func perform(_ session: BackgroundSession, _ console: Console) async throws
}

extension SessionCommand {
    mutating func perform(_ console: Console) async throws {
        try await perform(session.open(), console)
    }
}

/// A selection of jobs.
struct JobChoice: ParsableArguments, Sendable {
    @Argument(help: JobName.help, transform: { try JobName($0) })
    var job: [JobName] = []

    @Flag(help: "All jobs of the session.")
    var all = false

    @OptionGroup var urls: JobURLs

    mutating func validate() throws {
        guard [!job.isEmpty, all, !urls.url.isEmpty].count(where: { $0 }) == 1 else {
            throw ValidationError("Name jobs, or use --all or --url.")
        }
    }

    /// The selected jobs, in the order of their names.
    func find(in session: BackgroundSession) async throws -> [BackgroundJob] {
        if let jobs = try await urls.find(in: session) { return jobs }
        let jobs = try await session.jobs()
        return all ? jobs : try job.map { try Self.find($0, in: jobs) }
    }

    /// - Throws: `not_found` if the name matches no job or several.
    static func find(_ name: JobName, in jobs: [BackgroundJob]) throws(WherryError) -> BackgroundJob
    {
        let found = jobs.filter { name.matches($0) }
        guard let first = found.first, found.count == 1 else {
            throw WherryError(
                .notFound,
                found.isEmpty
                    ? "The session has no job \(name.text). Run wherry jobs list."
                    : "\(name.text) names \(found.count) jobs. Use more digits of the id.")
        }
        return first
    }
}

/// Jobs by their URLs.
struct JobURLs: ParsableArguments, Sendable {
    @Option(
        name: .customLong("url"), help: "Every job of this URL, with any query; repeatable.",
        transform: { try Address.complete($0) })
    var url: [String] = []

    /// The jobs of these URLs; `nil` if no URL was given.
    ///
    /// - Throws: `not_found` for a URL without a job.
    func find(in session: BackgroundSession) async throws -> [BackgroundJob]? {
        if url.isEmpty { return nil }
        for one in url where try await session.jobs(.url(one)).isEmpty {
            throw WherryError(
                .notFound, "The session has no job of the URL \(one). Run wherry jobs list.")
        }
        return try await session.jobs(.urls(url))
    }
}

struct JobsListCommand: SessionCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the jobs of the session, oldest first.",
        discussion: "EXAMPLES\n  wherry jobs list --session photos")
    @OptionGroup(title: "SESSION") var session: SessionOptions
    @OptionGroup(title: "OUTPUT") var output: OutputOptions

    func perform(_ session: BackgroundSession, _ console: Console) async throws {
        let jobs = try await session.jobs()
        for job in jobs {
            if console.isJSON {
                try console.print(JobReport.object(job))
            } else {
                try console.print(JobReport.line(job))
            }
        }
        if jobs.isEmpty { console.note("There are no jobs.") }
        for error in jobs.compactMap(\.error) where error.reason == "damaged_job" {
            console.note(Report.message(of: error))
        }
    }
}

struct JobsShowCommand: SessionCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Print the details of a job.",
        discussion: "EXAMPLES\n  wherry jobs show 3f2a91 --json-output")
    @Argument(
        help: "The id of the job, at least 4 digits from its beginning, or its file.",
        transform: { try JobName($0) })
    var job: JobName
    @OptionGroup(title: "SESSION") var session: SessionOptions
    @OptionGroup(title: "OUTPUT") var output: OutputOptions

    func perform(_ session: BackgroundSession, _ console: Console) async throws {
        let found = try JobChoice.find(job, in: try await session.jobs())
        if console.isJSON { return try console.print(JobReport.object(found)) }
        for line in JobReport.lines(found) { try console.print(line) }
    }
}

/// A command that changes jobs.
protocol JobsVerbCommand: SessionCommand {
    var choice: JobChoice { get }
    func apply(to job: BackgroundJob, of session: BackgroundSession) async throws(WherryError)
}

extension JobsVerbCommand {
    func perform(_ session: BackgroundSession, _ console: Console) async throws {
        var status: Int32 = 0
        let jobs = try await choice.find(in: session)
        var failures: [String: WherryError] = [:]
        // The newest first; otherwise each job that stops would let a waiting one start.
        for job in jobs.reversed() {
            failures[job.id] = await failure { () async throws(WherryError) in
                try await apply(to: job, of: session)
            }
        }
        for job in jobs {
            if let error = failures[job.id] {
                let told = console.complain(error, about: JobReport.name(job), url: job.url)
                if status == 0 { status = told }
                continue
            }
            guard console.isJSON else { continue }
            if let now = try await session.job(job.id) {
                try console.print(JobReport.object(now))
            }
        }
        if status != 0 { throw ToldFailure(status: status) }
    }
}

/// Returns the error that `body` throws.
private func failure(
    _ body: () async throws(WherryError) -> Void
) async -> WherryError? {
    do throws(WherryError) {
        try await body()
        return nil
    } catch {
        return error
    }
}

struct JobsPauseCommand: JobsVerbCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause", abstract: "Pause jobs, and keep what they have downloaded.",
        discussion: "EXAMPLES\n  wherry jobs pause --all")
    @OptionGroup var choice: JobChoice
    @OptionGroup(title: "SESSION") var session: SessionOptions
    @OptionGroup(title: "OUTPUT") var output: OutputOptions

    func apply(to job: BackgroundJob, of session: BackgroundSession) async throws(WherryError) {
        try await session.pause(job.id)
    }
}

struct JobsResumeCommand: JobsVerbCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume", abstract: "Resume paused and interrupted jobs.",
        discussion: "EXAMPLES\n  wherry jobs resume 3f2a91")
    @OptionGroup var choice: JobChoice
    @OptionGroup(title: "SESSION") var session: SessionOptions
    @OptionGroup(title: "OUTPUT") var output: OutputOptions

    func apply(to job: BackgroundJob, of session: BackgroundSession) async throws(WherryError) {
        try await session.resume(job.id)
    }
}

struct JobsCancelCommand: JobsVerbCommand {
    static let configuration = CommandConfiguration(
        commandName: "cancel", abstract: "Cancel jobs, and delete what they have downloaded.",
        discussion: "EXAMPLES\n  wherry jobs cancel debian.iso")
    @OptionGroup var choice: JobChoice
    @OptionGroup(title: "SESSION") var session: SessionOptions
    @OptionGroup(title: "OUTPUT") var output: OutputOptions

    func apply(to job: BackgroundJob, of session: BackgroundSession) async throws(WherryError) {
        try await session.cancel(job.id)
    }
}

struct JobsCleanCommand: SessionCommand {
    static let configuration = CommandConfiguration(
        commandName: "clean", abstract: "Remove finished jobs from the list, and print them.",
        discussion: "EXAMPLES\n  wherry jobs clean --json-output")
    @Argument(help: JobName.help, transform: { try JobName($0) })
    var job: [JobName] = []
    @OptionGroup var urls: JobURLs
    @OptionGroup(title: "SESSION") var session: SessionOptions
    @OptionGroup(title: "OUTPUT") var output: OutputOptions

    mutating func validate() throws {
        if !job.isEmpty, !urls.url.isEmpty {
            throw ValidationError("Name jobs or use --url, not both.")
        }
    }

    func perform(_ session: BackgroundSession, _ console: Console) async throws {
        let jobs = try await session.jobs()
        let wanted =
            try await urls.find(in: session)
            ?? (job.isEmpty ? jobs : job.map { try JobChoice.find($0, in: jobs) })
        for job in wanted where job.isFinal {
            if let error = await failure({ () async throws(WherryError) in
                try await session.acknowledge(job.id)
            }) {
                // Another program has acknowledged the job.
                guard error.reason == ErrorReason.notFound.rawValue else { throw error }
                continue
            }
            if console.isJSON {
                try console.print(JobReport.object(job))
            } else {
                try console.print(JobReport.line(job))
            }
        }
    }
}

struct JobsFollowCommand: SessionCommand {
    static let configuration = CommandConfiguration(
        commandName: "follow",
        abstract: "Show the progress of jobs until they end, and exit with the first error.",
        discussion: """
            EXAMPLES
              wherry jobs follow
              wherry jobs follow debian.iso --progress json

            Without arguments, it follows all unfinished jobs, and also reports those that have \
            already failed. Ctrl-C ends the command, but not the jobs. The command acknowledges \
            no job, so other programs still receive its result.
            """)
    @Argument(help: JobName.help, transform: { try JobName($0) })
    var job: [JobName] = []
    @OptionGroup(title: "SESSION") var session: SessionOptions
    @OptionGroup(title: "OUTPUT") var output: OutputOptions

    func perform(_ session: BackgroundSession, _ console: Console) async throws {
        let jobs = try await session.jobs()
        let wanted =
            try job.isEmpty
            ? jobs.filter { !$0.isFinal || $0.state == .failed }
            : job.map { try JobChoice.find($0, in: jobs) }
        if wanted.isEmpty { console.note("There are no jobs to follow.") }
        let rows = BarRows()
        let statuses = await withTaskGroup(of: (Int, Int32).self) { group in
            for (number, job) in wanted.enumerated() {
                let display = JobDisplay(console, job, rows)
                group.addTask { (number, await Self.follow(job, of: session, console, display)) }
            }
            var statuses = wanted.map { _ in Int32(0) }
            for await (number, status) in group { statuses[number] = status }
            return statuses
        }
        if let status = statuses.first(where: { $0 != 0 }) { throw ToldFailure(status: status) }
    }

    /// Follows a job until it ends, and returns its exit status.
    private static func follow(
        _ job: BackgroundJob, of session: BackgroundSession, _ console: Console,
        _ display: JobDisplay
    ) async -> Int32 {
        var iterator = session.follow(job.id).makeAsyncIterator()
        do {
            while let now = try await iterator.next() {
                display.hear(now)
                guard now.isFinal else { continue }
                if let error = now.error {
                    return console.complain(error, about: JobReport.name(now), url: now.url)
                }
                if console.isJSON { try console.print(JobReport.object(now)) }
                return 0
            }
            // Interrupted. The job continues.
            display.stop()
            return Interrupts.status ?? ExitStatus.other.rawValue
        } catch {
            display.stop()
            return console.complain(error)
        }
    }
}

/// Shows the progress of a job.
private final class JobDisplay: @unchecked Sendable {  // one change after the other
    private let display: (any ProgressDisplay)?
    private var state: TransferState?

    init(_ console: Console, _ job: BackgroundJob, _ rows: BarRows) {
        display = console.progress(named: JobReport.name(job), in: rows)
    }

    func hear(_ job: BackgroundJob) {
        if job.state != state,
            job.state == .waiting || job.state == .restarted || job.state == .paused
                || job.state == .interrupted
        {
            display?.remark("\(job.state)" + (job.reason.map { ": \($0)" } ?? ""))
        }
        if state == nil { display?.begin(at: job.progress.completed) }
        state = job.state
        guard job.isFinal else {
            display?.update(job.progress)
            return
        }
        if job.state == .done { display?.finish(job.progress, note: nil) } else { stop() }
    }

    func stop() { display?.stop() }
}
