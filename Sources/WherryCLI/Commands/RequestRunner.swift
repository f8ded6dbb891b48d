// Wherry: sends a request, and prints the response while it arrives.
// SPDX-License-Identifier: Apache-2.0

import WherryAsync

/// Sends a request, and writes the response to standard output or a file.
struct RequestRunner {
    /// The maximum size of JSON that is indented. Larger JSON is printed unchanged, as it arrives.
    private static let longestPretty = 8 << 20

    private var request: Request
    private let command: any MethodCommand
    private let console: Console

    init(_ request: Request, _ command: any MethodCommand, _ console: Console) {
        self.request = request
        self.command = command
        self.console = console
    }

    private var options: RequestOptions { command.request }

    func run() async throws {
        guard command.caching.isUsed, let problem = command.caching.storageProblem() else {
            return try await perform(isStored: true)
        }
        // A request that may not use the network needs the storage.
        guard command.caching.usesNetwork else { throw problem }
        console.note("warning: the response cannot be stored: \(Report.message(of: problem))")
        var uncached = self
        uncached.request.cachePolicy = .off
        try await uncached.perform(isStored: false)
    }

    /// - Parameter isStored: Whether responses can be stored.
    private func perform(isStored: Bool) async throws {
        let client = try command.client(for: [request.url]) {
            if isStored { command.caching.applyStorage(to: &$0) }
        }
        try await command.use(client, console) { client in
            do {
                if command.output.jsonOutput && !options.hasFile {
                    try await collect(client)
                } else {
                    try await stream(client)
                }
            } catch let error as WherryError where options.fail {
                throw error.with { $0.response = $0.response?.bodiless }
            }
        }
    }

    /// Puts the body into the JSON object of the result.
    private func collect(_ client: Client) async throws {
        let response = try await client.send(request)
        var result = Report.success(response)
        Report.add(response.body, of: response, to: &result)
        try console.print(result)
    }

    /// Notes that a stored response may be out of date.
    private func noteAge(of response: Response) {
        guard response.isStale, !response.isRevalidated, !console.isJSON else { return }
        console.note("This stored response is stale, and the server did not confirm it.")
    }

    private func stream(_ client: Client) async throws {
        var file: OutputFile?
        // Before the request: if the file cannot be written, nothing is sent.
        if case .file(let path) = options.place { file = try OutputFile(path) }
        let streamed: StreamedResponse
        do {
            var request = request
            // The speed needs progress events.
            if options.hasFile { request.set(.wantProgress, 1) }
            // Store the body even if it is too large for memory.
            request.cachesStream = command.caching.isUsed
            streamed = try await client.stream(request)
        } catch {
            try showRefusal(error)
            throw error
        }
        noteAge(of: streamed.head)
        if case .suggestedName = options.place { file = try suggestedFile(for: streamed.head) }
        let output = file ?? OutputFile()
        if showsHead {
            try output.write(Self.head(of: streamed.head, on: file == nil ? .output : nil))
        }
        let headCount = output.count
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
        if streamed.body.isLengthUnverified { console.noteUnverifiedLength() }
        if command.output.jsonOutput {
            var result = Report.success(streamed.head)
            if streamed.body.isLengthUnverified { result["length_unverified"] = true }
            result["file"] = output.path.map { .string($0) }
            result["bytes"] = JSON(output.count - headCount)
            try console.print(result)
        }
    }

    /// Creates the file that the server names.
    ///
    /// - Throws: `exists` if the file exists: a server must not choose which file is replaced.
    private func suggestedFile(for head: Response) throws -> OutputFile {
        let name = SuggestedFileName.choose(
            contentDisposition: head.header("content-disposition"), url: options.url)
        guard !OutputFile.exists(name) else {
            throw WherryError(
                .exists,
                "Could not write \(name): a file of that name exists. Use --output to choose another name."
            )
        }
        return try OutputFile(name)
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
            // Ten updates per second are enough.
            if let progress, ContinuousClock.now - told >= .milliseconds(100) {
                told = .now
                progress.update(body.transfer.progress)
            }
        }
        if isHolding, !held.isEmpty { try output.write(JSONText.lines(Bytes(held), on: .output)) }
    }

    /// Prints the body of an error response: to standard output, or to standard error if the response
    /// would have been written to a file.
    private func showRefusal(_ error: WherryError) throws {
        guard let response = error.response, !command.output.jsonOutput else { return }
        if options.hasFile {
            if !command.output.quiet, !options.fail, !response.body.isEmpty {
                console.note(String(response.text.prefix(2000)).printableLines)
            }
            return
        }
        let output = OutputFile()
        if showsHead { try output.write(Self.head(of: response, on: .output)) }
        if options.fail { return }
        if layout(of: response) {
            try output.write(JSONText.lines(response.body, on: .output))
        } else {
            try output.write(response.body)
        }
    }

    private var showsHead: Bool {
        (options.include || request.method == "HEAD")
            && (options.hasFile || !command.output.jsonOutput)
    }

    private func layout(of response: Response) -> Bool {
        let isJSON = response.header("content-type").map { MediaType($0)?.isJSON ?? false } ?? false
        return isJSON && (options.pretty ?? Terminal.output.isTerminal)
    }

    /// The status and headers as text, those of informational responses first.
    ///
    /// - Parameter terminal: Where the text is printed; `nil` for a file.
    static func head(of response: Response, on terminal: Terminal?) -> String {
        var text = ""
        for early in response.informational { text += head(early.status, early.headers, terminal) }
        return text + head(response.status, response.headers, terminal)
    }

    private static func head(_ status: Int, _ headers: Headers, _ terminal: Terminal?) -> String {
        func paint(_ text: String, _ colour: Terminal.Colour) -> String {
            terminal?.paint(text, colour) ?? text
        }
        var text = paint("HTTP \(status)", status < 400 ? .green : .red) + "\n"
        for field in headers.fields {
            let value =
                terminal?.isTerminal ?? false ? (field.value ?? "").printable : field.value ?? ""
            text += paint(field.name, .cyan) + ": \(value)\n"
        }
        return text + "\n"
    }
}
