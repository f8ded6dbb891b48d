// Wherry: one request sent, its answer printed while it arrives.
// SPDX-License-Identifier: Apache-2.0

import Wherry

/// Sends a request and brings the answer to standard output or a file.
struct Exchange {
    /// The longest JSON that is held back to be laid out; a longer one goes through as it came.
    private static let longestPretty = 8 << 20

    private var request: Request
    private let options: RequestOptions
    private let console: Console

    init(_ request: Request, _ options: RequestOptions, _ console: Console) {
        self.request = request
        self.options = options
        self.console = console
    }

    func run() async throws {
        guard options.caching.isUsed, let problem = options.caching.storage.problem() else {
            return try await perform(isStored: true)
        }
        // A request for stored responses alone cannot do without.
        guard options.caching.usesNetwork else { throw problem }
        console.note("warning: nothing is cached: \(problem.message)")
        var uncached = self
        uncached.request.cachePolicy = .off
        try await uncached.perform(isStored: false)
    }

    /// - Parameter isStored: whether there is a folder to store in.
    private func perform(isStored: Bool) async throws {
        let client = try options.connection.client(for: [request.url], options.printing) {
            if isStored { options.caching.storage.apply(to: &$0) }
        }
        defer { options.connection.finish(client, console) }
        if options.printing.jsonOutput && options.output == nil {
            try await collect(client)
        } else {
            try await stream(client)
        }
    }

    /// The body goes into the JSON object of the result.
    private func collect(_ client: Client) async throws {
        let response = try await client.send(request)
        var result = Report.success(response)
        Report.add(response.body, of: response, to: &result)
        try console.print(result)
    }

    /// Says that a stored answer may no longer be what the server would say.
    private func noteAge(of response: Response) {
        guard response.isStale, !response.isRevalidated, !console.isJSON else { return }
        console.note("A stored answer, older than it should be: the server did not confirm it.")
    }

    private func stream(_ client: Client) async throws {
        let file = try options.output.map { path throws(OutputError) in try OutputFile(path) }
        let streamed: StreamedResponse
        do {
            var request = request
            // Without this there are no figures of speed.
            if file != nil { request.set(.wantProgress, 1) }
            // Also a body that is larger than what memory may hold.
            request.cachesStream = options.caching.isUsed
            streamed = try await client.stream(request)
        } catch {
            try showRefusal(error)
            throw error
        }
        noteAge(of: streamed.head)
        let output = file ?? OutputFile()
        if showsHead { try (file == nil ? output : OutputFile()).write(head(of: streamed.head)) }
        let progress = file == nil ? nil : console.progress(named: file?.path ?? "")
        let isPretty = file == nil && layout(of: streamed.head)
        do {
            try await copy(streamed.body, to: output, isPretty: isPretty, progress)
        } catch {
            progress?.stop()
            throw error
        }
        try output.finish()
        progress?.finish(streamed.body.transfer.progress, note: nil)
        if options.printing.jsonOutput {
            var result = Report.success(streamed.head)
            result["file"] = output.path.map { .string($0) }
            result["bytes"] = JSON(output.count)
            try console.print(result)
        }
    }

    private func copy(
        _ body: BodyStream, to output: OutputFile, isPretty: Bool, _ progress: ProgressDisplay?
    ) async throws {
        var held: [UInt8] = []
        var isHolding = isPretty
        var told = ContinuousClock.now
        for try await piece in body {
            if isHolding {
                held.append(contentsOf: piece)
                if held.count <= Self.longestPretty { continue }
                isHolding = false
                try output.write(Bytes(held))
                held = []
            } else {
                try output.write(piece)
            }
            // Ten figures a second are enough; pieces come faster.
            if let progress, ContinuousClock.now - told >= .milliseconds(100) {
                told = .now
                progress.update(body.transfer.progress)
            }
        }
        if isHolding, !held.isEmpty { try output.write(JSONText.lines(Bytes(held), on: .output)) }
    }

    /// The server's own words about a refusal: to standard output, or to standard error where a
    /// file was to take the answer.
    private func showRefusal(_ error: WherryError) throws {
        guard let response = error.response, !options.printing.jsonOutput else { return }
        if options.output != nil {
            if !options.printing.quiet, !response.body.isEmpty {
                console.note(String(response.text.prefix(2000)).printableLines)
            }
            return
        }
        let output = OutputFile()
        if showsHead { try output.write(head(of: response)) }
        if layout(of: response) {
            try output.write(JSONText.lines(response.body, on: .output))
        } else {
            try output.write(response.body)
        }
    }

    private var showsHead: Bool {
        (options.include || request.method == "HEAD") && !options.printing.jsonOutput
    }

    private func layout(of response: Response) -> Bool {
        let isJSON = response.header("content-type").map { MediaType($0)?.isJSON ?? false } ?? false
        return isJSON && (options.pretty ?? Terminal.output.isTerminal)
    }

    private func head(of response: Response) -> String { Self.head(of: response) }

    /// Status and fields, as they are printed.
    static func head(of response: Response) -> String {
        let terminal = Terminal.output
        var text = terminal.paint("HTTP \(response.status)", response.status < 400 ? .green : .red)
        text += "\n"
        for field in response.headers.fields {
            let value = terminal.isTerminal ? (field.value ?? "").printable : field.value ?? ""
            text += terminal.paint(field.name, .cyan) + ": \(value)\n"
        }
        return text + "\n"
    }
}
