// Wherry: the command that downloads a file.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import WherryAsync
import WherrySystem

struct DownloadCommand: ConnectingCommand {
    static let configuration = CommandConfiguration(
        commandName: "download",
        abstract: "Download files, and resume interrupted downloads.",
        discussion: """
            EXAMPLES
              wherry download https://example.org/debian.iso
              wherry download https://example.org/latest -o app.tar.gz --sha256 HEX
              wherry download https://example.org/files/7 -d ~/Downloads --remote-name
              wherry download https://example.org/{1,2,3}.iso --max-active 2
              wherry download https://example.org/debian.iso --background

            The file appears when it is complete and verified. Until then, a hidden partial file next \
            to it keeps what arrived. Run the same command again to resume, provided that the file on \
            the server has not changed. Several files are downloaded independently: one failure does \
            not stop the others. They start, and JSON results are printed, in the order of the \
            arguments. The exit status is that of the first argument that failed.
            """)

    @Argument(
        help: "URLs; without a scheme they are http://.", transform: { try Address.complete($0) })
    var url: [String]

    @Option(
        name: [.customShort("o"), .customLong("output")],
        help: ArgumentHelp("The path of the file.", valueName: "file"), completion: .file())
    var file: String?

    @Option(
        name: [.customShort("d"), .customLong("directory")],
        help: ArgumentHelp(
            "The directory for the files. (default: the current directory)", valueName: "directory"),
        completion: .directory)
    var directory: String?

    @Flag(
        name: [.customShort("O"), .customLong("remote-name")],
        help: "Name the file as the server suggests. (default without --output)")
    var remoteName = false

    @Flag(inversion: .prefixedNo, help: "Resume an earlier attempt.")
    var resume = true

    @Flag(help: "Replace an existing file, once the download is complete.")
    var overwrite = false

    @Option(
        name: .customLong("sha256"),
        help: ArgumentHelp("The SHA-256 checksum that the file must have.", valueName: "digits"))
    var sha256: String?

    @Option(
        name: .customLong("md5"),
        help: ArgumentHelp(
            "The MD5 checksum that the file must have. It detects damage, but not attacks.",
            valueName: "digits"))
    var md5: String?

    @Option(
        help: ArgumentHelp(
            "The checksum that the file must have, with its algorithm: md5, sha1, sha256, or sha512.",
            valueName: "algorithm=digits"))
    var checksum: ChecksumArgument?

    @Option(
        help: ArgumentHelp(
            "Another URL of the same file, used if the previous one fails; repeatable. Needs --sha256, or --checksum with sha256 or sha512.",
            valueName: "url"), transform: { try Address.complete($0) })
    var mirror: [String] = []

    // options: begin (scripts/make-options)
    @Option(
        name: [.customLong("retries"), .customLong("retry")],
        help: ArgumentHelp(
            "Maximum number of retries after a dropped connection. (default: 5)",
            valueName: "count"))
    var maxRetries: Int?

    @Option(
        name: .customLong("limit-rate"),
        help: ArgumentHelp(
            "Maximum bytes per second; k, M, and G multiply by 1000, 1000000, and 1000000000. (default: no limit)",
            valueName: "rate"))
    var maxReceiveSpeed: ByteRate?

    @Flag(
        name: .customLong("create-dirs"),
        help: "Create missing directories.")
    var makeDirectories = false

    @Option(
        name: .customLong("segments"),
        help: ArgumentHelp(
            "Connections per file: 1 to 16, or auto, which adds connections while they help. (default: auto)",
            valueName: "count"))
    var segments: SegmentCount?

    @Option(
        name: .customLong("stall-timeout"),
        help: ArgumentHelp(
            "Retry after this long below 1 kB/s. If you set it, it also limits the wait for the first byte. (default: 10; first byte: 30)",
            valueName: "seconds"))
    var stallTimeout: Seconds?

    @Flag(
        name: [.customShort("R"), .customLong("remote-time")],
        help: "Set the modification time of the file to the server's Last-Modified.")
    var keepServerTime = false
    // options: end

    @Option(
        help: ArgumentHelp(
            "Maximum number of files downloaded at once. (default: 4)",
            valueName: "count"))
    var maxActive: Int?

    @Flag(
        name: [.long, .customLong("detach")],
        help: ArgumentHelp(
            "Download in the background, and print the id of each job.",
            discussion: "Use 'wherry jobs' to see and control them."))
    var background = false

    @OptionGroup(title: "SESSION") var session: SessionOptions
    @OptionGroup(title: "CONNECTION") var connection: ConnectionOptions
    @OptionGroup(title: "PROXY") var proxy: ProxyOptions
    @OptionGroup(title: "TLS") var tls: TLSOptions
    @OptionGroup(title: "OUTPUT") var output: OutputOptions

    mutating func validate() throws {
        if file != nil && (directory != nil || remoteName) {
            throw ValidationError(
                "--output cannot be combined with --directory or --remote-name.")
        }
        if file == "-" {
            throw ValidationError(
                "A download needs a file. Use 'wherry get URL' for standard output.")
        }
        let digests = [sha256 != nil, md5 != nil, checksum != nil].count { $0 }
        if url.count > 1 && (file != nil || digests > 0) {
            throw ValidationError(
                "--output, --sha256, --md5, and --checksum need exactly one URL.")
        }
        if digests > 1 {
            throw ValidationError("Use only one of --sha256, --md5, and --checksum.")
        }
        if !background && session.isGiven {
            throw ValidationError(
                "--session and --state-dir need --background.")
        }
        if background && maxActive != nil {
            throw ValidationError("--max-active and --background cannot be combined.")
        }
        if let maxActive, !(1...1000).contains(maxActive) {
            throw ValidationError("--max-active takes 1 to 1000, not \(maxActive).")
        }
        try validateFlags()
        if let sha256, Hex.decode(sha256)?.count != 32 {
            throw ValidationError("--sha256 takes 64 hexadecimal digits.")
        }
        if let md5, Hex.decode(md5)?.count != 16 {
            throw ValidationError("--md5 takes 32 hexadecimal digits.")
        }
        let isStrong = expectedDigest.map { [.sha256, .sha512].contains($0.algorithm) } ?? false
        if !mirror.isEmpty && !isStrong {
            throw ValidationError(
                "--mirror needs --sha256, or --checksum with sha256 or sha512, to prove that both files are the same."
            )
        }
    }

    mutating func perform(_ console: Console) async throws {
        if background { return try await handOver(console) }
        let command = self
        try await use(client(for: url), console) { try await command.download($0, console) }
    }

    private func download(_ client: Client, _ console: Console) async throws {
        if url.count == 1 {
            let name = file.map(Self.lastComponent) ?? guessedName(of: url[0])
            let listener = DownloadListener(console.progress(named: name), named: name)
            let result = try await follow(start(url[0], client), listener)
            if console.isJSON { try console.print(result) }
            return
        }
        try client.setMaxDownloads(maxActive ?? 4)
        let rows = BarRows()
        let command = self
        let statuses = await withTaskGroup(of: (Int, Int32, String?).self) { group in
            for (number, url) in command.url.enumerated() {
                let name = guessedName(of: url)
                let listener = DownloadListener(
                    console.progress(named: name, in: rows), named: name)
                // Tasks start in any order, so the downloads are started here.
                let begun = Result { try command.start(url, client) }
                group.addTask {
                    do {
                        let report = try await command.follow(begun.get(), listener)
                        return (number, 0, report.line)
                    } catch let error as WherryError {
                        let complaint = console.complaint(error, about: name, url: url)
                        return (number, complaint.status, complaint.line)
                    } catch {
                        return (number, console.complain(error), nil)
                    }
                }
            }
            var statuses = command.url.map { _ in Int32(0) }
            var lines: [Int: String?] = [:]
            var next = 0
            for await (number, status, line) in group {
                statuses[number] = status
                lines[number] = line
                while let line = lines[next] {
                    next += 1
                    guard console.isJSON, let line else { continue }
                    do { try console.print(line) } catch {
                        statuses[next - 1] = console.complain(error)
                    }
                }
            }
            return statuses
        }
        if let status = statuses.first(where: { $0 != 0 }) { throw ToldFailure(status: status) }
    }

    /// Starts a background download for each file, and prints their ids.
    private func handOver(_ console: Console) async throws {
        let session = try session.open(configuration(for: url))
        var status: Int32 = 0
        for url in url {
            do {
                // As in the foreground, a file that an earlier job has downloaded does not count.
                let id = try session.download(request(url), to: path, keepsFinished: false)
                guard console.isJSON else {
                    try console.print(id)
                    continue
                }
                try console.print(["ok": true, "job": .string(id), "url": .string(url)])
            } catch let error as WherryError {
                let told = console.complain(error, about: guessedName(of: url), url: url)
                if status == 0 { status = told }
            }
        }
        if status != 0 { throw ToldFailure(status: status) }
    }

    /// The checksum of the options.
    private var expectedDigest: ExpectedDigest? {
        if let checksum { return checksum.digest }
        if let value = sha256.flatMap({ Hex.decode($0) }) {
            return ExpectedDigest(algorithm: .sha256, value: value)
        }
        return md5.flatMap { Hex.decode($0) }.map { ExpectedDigest(algorithm: .md5, value: $0) }
    }

    /// The path of the file, or of its directory.
    private var path: String {
        file ?? directory ?? (try? Directory.absolute("")) ?? "."
    }

    /// Starts the download of a file.
    private func start(_ url: String, _ client: Client) throws -> WatchedTransfer {
        let (asked, path) = (try request(url), path)
        return try WatchedTransfer { observer throws(WherryError) in
            try client.download(asked, to: path, observer: observer)
        }
    }

    /// Shows the progress of a download until it ends, and returns its report.
    private func follow(_ transfer: WatchedTransfer, _ listener: DownloadListener) async throws
        -> ResultObject
    {
        let outcome = await transfer.outcome { listener.hear($0) }
        if let error = outcome.error {
            listener.stop()
            throw error
        }
        listener.finish(
            outcome.path, hasGivenName: file != nil,
            verified: expectedDigest?.algorithm.title)
        var result = outcome.response.map(Report.success) ?? ResultObject(["ok": true])
        result["file"] = outcome.path.map { .string($0) }
        result["bytes"] = JSON(listener.progress.completed)
        result["resumed_at"] = JSON(listener.progress.resumedAt)
        return result
    }

    /// The request for a file.
    private func request(_ url: String) throws -> Request {
        var request = Request(url)
        try connection.addHeaders(to: &request)
        request.resumes = resume
        request.overwrites = overwrite
        if file == nil { request.set(.targetIsDirectory, 1) }
        applyFlags(to: &request)
        request.expectedDigest = expectedDigest
        request.mirrors = mirror
        return request
    }

    private static func lastComponent(_ path: String) -> String {
        path.split(separator: "/").last.map(String.init) ?? path
    }
}

/// The name that a download of the URL probably gets.
func guessedName(of url: String) -> String {
    let path = url.prefix { $0 != "?" && $0 != "#" }
    let name = path.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
    guard !name.isEmpty else { return url }
    let decoded = PercentCoding.decode(name.utf8)
    return decoded.flatMap { String(validating: $0, as: UTF8.self) } ?? String(name)
}

/// Shows the progress of a download.
private final class DownloadListener: @unchecked Sendable {  // one event after the other
    private(set) var progress = TransferProgress()
    private let display: (any ProgressDisplay)?
    private let name: String

    init(_ display: (any ProgressDisplay)?, named name: String) {
        self.name = name
        self.display = display
    }

    func hear(_ event: TransferEvent) {
        switch event {
        case .progress(let progress):
            // Events of a poll may overtake earlier ones.
            guard
                progress.generation != self.progress.generation
                    || progress.completed >= self.progress.completed
            else { return }
            if self.progress.resumedAt == 0, progress.resumedAt > 0 {
                display?.remark("resumes at \(Units.bytes(progress.resumedAt))")
            }
            self.progress = progress
            display?.update(progress)
        case .state(.waiting, let reason):
            display?.remark("waits before a retry" + because(reason))
        case .state(.restarted, let reason):
            display?.remark("starts from the beginning" + because(reason))
        case .state(_, .alreadyComplete):
            display?.remark("is already complete")
        default: break
        }
    }

    private func because(_ reason: ErrorReason?) -> String {
        reason.map { ": \($0.rawValue)" } ?? ""
    }

    /// - Parameter verified: The name of the checksum that was verified.
    func finish(_ path: String?, hasGivenName: Bool, verified: String?) {
        let place = path.map { Self.shortened($0) }.flatMap { $0 == name ? nil : "saved as \($0)" }
        let verified = verified.map { "\($0) matches" }
        let notes = [verified, hasGivenName ? nil : place].compactMap { $0 }
        display?.finish(progress, note: notes.isEmpty ? nil : notes.joined(separator: ", "))
    }

    func stop() { display?.stop() }

    private static func shortened(_ path: String) -> String {
        guard let here = try? Directory.absolute("") else { return path }
        let plain = "/" + path.split(separator: "/").filter { $0 != "." }.joined(separator: "/")
        return (plain.hasPrefix(here) ? String(plain.dropFirst(here.count)) : plain).printable
    }
}
