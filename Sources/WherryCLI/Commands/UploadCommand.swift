// Wherry: the command that uploads images.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import WherryAsync
import WherryImaging

struct UploadCommand: ConnectingCommand {
    static let configuration = CommandConfiguration(
        commandName: "upload",
        abstract: "Compress images and upload them as a form.",
        discussion: """
            EXAMPLES
              wherry upload https://example.org/photos beach.jpg
              wherry upload https://example.org/photos *.jpg --quality 0.5 --max-width 1600
              wherry upload https://example.org/album a.png b.png --name photo --field album=summer
              wherry upload https://example.org/photos beach.jpg --detach

            GPS positions and other metadata are removed, and images are rotated upright. By \
            default, nothing is sent if an image cannot be read.
            """)

    @Argument(
        help: "The URL; without a scheme it is http://.", transform: { try Address.complete($0) })
    var url: String

    @Argument(
        help: "Image files; - is standard input.",
        completion: .file(extensions: ImageFormat.readableExtensions))
    var image: [String]

    @OptionGroup var compression: CompressionOptions

    @Option(help: ArgumentHelp("The field name of the images.", valueName: "name"))
    var name = "image"

    @Option(
        help: ArgumentHelp(
            "How the fields of several images are named.",
            discussion: "index: image0, image1; repeat: image, image; brackets: image[], image[].",
            valueName: "style"))
    var names = NameStyle.index

    @Option(
        help: ArgumentHelp(
            "Add a text field; repeatable. name@FILE and name@- read the value from a file or standard input.",
            valueName: "name=value"))
    var field: [PairArgument] = []

    // options: begin (scripts/make-options)
    @Option(
        name: .customLong("separate"),
        help: ArgumentHelp(
            "Send each image in a separate request, at most this many at once. If one fails, the others are still sent.",
            valueName: "count"))
    var separateImages: Int?

    @Option(
        name: .customLong("retries"),
        help: ArgumentHelp(
            "With --separate, the maximum number of retries of an image after a transient failure. (default: 0)",
            valueName: "count"))
    var imageRetries: Int?

    @Flag(
        name: .customLong("extended-names"),
        help: "Also send filename* for file names that are not ASCII.")
    var extendedNames = false

    @Option(
        name: .customLong("body-digest"),
        help: ArgumentHelp(
            "Send the digest of the body: md5 as Content-MD5, sha256 and sha512 as Content-Digest.",
            valueName: "kind"))
    var bodyDigest: DigestKindArgument?

    @Option(
        name: .customLong("part-digests"),
        help: ArgumentHelp(
            "Send the digest of each image in the headers of its part.",
            valueName: "kind"))
    var partDigests: DigestKindArgument?
    // options: end

    @Option(
        help: ArgumentHelp(
            "What to do with files that cannot be read as images. (default: fail)",
            discussion:
                "fail: send nothing; skip: omit them; send: send them unchanged, with all metadata.",
            valueName: "mode"))
    var unreadable: UnreadableMode?

    @Flag(help: "The same as --unreadable skip.")
    var skipBroken = false

    @Option(
        help: ArgumentHelp(
            "Add a header to the part of each image; repeatable.",
            valueName: "field"))
    var partHeader: [HeaderArgument] = []

    @Flag(
        name: .shortAndLong,
        help: "Do not print the body of an error response. Its exit status is 3 in both cases.")
    var fail = false

    @Flag(
        help: ArgumentHelp(
            "Upload in the background, and print the id of the job.",
            discussion: "Use 'wherry jobs' to see and control it."))
    var detach = false

    @OptionGroup(title: "SESSION") var session: SessionOptions
    @OptionGroup(title: "CONNECTION") var connection: ConnectionOptions
    @OptionGroup(title: "PROXY") var proxy: ProxyOptions
    @OptionGroup(title: "TLS") var tls: TLSOptions
    @OptionGroup(title: "OUTPUT") var output: OutputOptions

    mutating func validate() throws {
        if image.isEmpty {
            throw ValidationError("No image to upload. Name image files.")
        }
        try checkOrder()
        try compression.checkBox()
        if skipBroken, let unreadable, unreadable != .skip {
            throw ValidationError(
                "--skip-broken and --unreadable \(unreadable.rawValue) cannot be combined.")
        }
        try validateFlags()
        if imageRetries != nil, separateImages == nil {
            throw ValidationError("--retries needs --separate.")
        }
        if !detach && session.isGiven {
            throw ValidationError(
                "--session and --state-dir need --detach.")
        }
        if detach && separateImages != nil {
            throw ValidationError(
                "--separate and --detach cannot be combined. Run the command for each image instead."
            )
        }
    }

    /// - Throws: `ValidationError` if an image is in the place of the URL.
    private func checkOrder() throws(ValidationError) {
        if let place = image.first(where: { $0.hasPrefix("http://") || $0.hasPrefix("https://") }) {
            throw ValidationError(
                "\(place) is not an image. The URL comes before the images: wherry upload URL IMAGE..."
            )
        }
        let typed = url.hasPrefix("http://") ? String(url.dropFirst("http://".count)) : url
        if OutputFile.isRegularFile(typed) {
            throw ValidationError(
                "\(typed) is a file. The URL comes before the images: wherry upload URL \(typed)")
        }
    }

    mutating func perform(_ console: Console) async throws {
        let request = try makeRequest()
        if detach { return try await handOver(request, console) }
        let command = self
        try await use(client(for: [url]), console) { try await command.send(request, $0, console) }
    }

    private func send(_ request: Request, _ client: Client, _ console: Console) async throws {
        let label =
            image.count == 1 ? Self.lastComponent(image[0]) : "\(image.count) images"
        let listener = UploadListener(
            console, named: label, images: image.map(Self.lastComponent),
            skipBroken: skips, hidesRefusals: fail)
        let outcome = try await watch { observer throws(WherryError) in
            try client.send(request, observer: observer)
        } _: { event in
            listener.hear(event)
        }
        if var error = outcome.error {
            if fail { error = error.with { $0.response = $0.response?.bodiless } }
            listener.stop()
            if !console.isJSON {
                // The message that follows names the first image, or the upload as a whole.
                let isNamed = error.failedImages.count < 2 || separateImages == nil
                for image in error.failedImages.dropFirst(isNamed ? 1 : 0)
                where image.error?.message != error.message {
                    console.note((image.error.map(Report.message) ?? image.fileName).printable)
                }
                if separateImages != nil {
                    try show(listener.responses)
                } else if let response = error.response {
                    try show(response)
                }
            }
            guard console.isJSON else { throw error }
            // If the one form failed, none of its encoded images was sent.
            let rows = separateImages == nil ? listener.failures : listener.results
            throw ToldFailure(status: console.complain(error, images: rows))
        }
        listener.finish()
        guard let response = outcome.response else { return }
        if response.isLengthUnverified { console.noteUnverifiedLength() }
        if console.isJSON {
            var result = Report.success(response)
            Report.add(response.body, of: response, to: &result)
            result.images = listener.results
            try console.print(result)
        } else if separateImages != nil {
            try show(listener.responses)
        } else {
            try show(response)
        }
    }

    /// Starts a background upload, and prints its id.
    private func handOver(_ request: Request, _ console: Console) async throws {
        let session = try session.open(configuration(for: [url]))
        let id = try await session.upload(request)
        guard console.isJSON else { return try console.print(id) }
        try console.print(["ok": true, "job": .string(id), "url": .string(url)])
    }

    private func makeRequest() throws -> Request {
        let settings = try compression.settings()
        var parts = try field.map { argument in
            let pair = try argument.pair()
            return Request.Part.field(pair.name, pair.value)
        }
        var headers = Headers()
        for field in try partHeader.flatMap({ try $0.fields() }) {
            headers.append(field.name, field.value ?? "")
        }
        for path in image {
            parts.append(
                Request.Part(
                    name: name,
                    content: .image(
                        path == "-"
                            ? .bytes(try FileBytes.contents("-")) : .file(path: path), settings),
                    fileName: path == "-"
                        ? nil : compression.format.named(Self.lastComponent(path)),
                    headers: headers))
        }
        var request = Request(url, method: "POST")
        request.body = .multipart(parts)
        request.imageNames = names.rawValue
        applyFlags(to: &request)
        request.unreadableImages = skips ? .skip : unreadable?.mode
        try connection.addHeaders(to: &request)
        return request
    }

    private var skips: Bool { skipBroken || unreadable == .skip }

    /// Prints the responses to several requests, each on separate lines.
    private func show(_ responses: [Response]) throws {
        for (index, response) in responses.enumerated() {
            try show(response)
            let isLine = response.body.array.last == UInt8(ascii: "\n")
            if index < responses.count - 1, !response.body.isEmpty, !isLine {
                try OutputFile().write("\n")
            }
        }
    }

    private func show(_ response: Response) throws {
        let isJSON = response.header("content-type").map { MediaType($0)?.isJSON ?? false } ?? false
        let isPretty = isJSON && Terminal.output.isTerminal
        try OutputFile().write(
            isPretty ? JSONText.lines(response.body, on: .output) : response.body)
    }

    private static func lastComponent(_ path: String) -> String {
        path.split(separator: "/").last.map(String.init) ?? path
    }
}

/// The handling of images that cannot be read.
enum UnreadableMode: String, ExpressibleByArgument, CaseIterable {
    case fail, skip, send

    var mode: UnreadableImages {
        switch self {
        case .fail: .fail
        case .skip: .skip
        case .send: .send
        }
    }
}

/// How the fields of several images are named.
enum NameStyle: String, ExpressibleByArgument, CaseIterable {
    case index, `repeat`, brackets
}

/// Reports the progress of an upload.
private final class UploadListener: @unchecked Sendable {  // one event after the other
    /// The rows and outcomes of the images so far, by their index.
    private var rows: [Int: (row: ResultObject, outcome: ImageOutcome)] = [:]
    private var inOrder: [(row: ResultObject, outcome: ImageOutcome)] {
        rows.sorted { $0.key < $1.key }.map(\.value)
    }
    /// The rows in the order of the arguments.
    var results: [ResultObject] { inOrder.map(\.row) }
    /// The rows of the images that failed.
    var failures: [ResultObject] { results.filter { $0["error"] != nil } }
    private var progress = TransferProgress()
    private let console: Console
    private let display: (any ProgressDisplay)?
    private let images: [String]
    private let skipBroken: Bool
    /// Whether the bodies of error responses are left out.
    private let hidesRefusals: Bool

    init(
        _ console: Console, named name: String, images: [String], skipBroken: Bool,
        hidesRefusals: Bool
    ) {
        self.console = console
        self.skipBroken = skipBroken
        self.hidesRefusals = hidesRefusals
        self.images = images
        display = console.progress(named: name)
    }

    /// The responses to separate requests, in the order of the arguments.
    var responses: [Response] { inOrder.compactMap { shownResponse(of: $0.outcome) } }

    private func shownResponse(of image: ImageOutcome) -> Response? {
        hidesRefusals && image.error != nil ? nil : image.response
    }

    func hear(_ event: TransferEvent) {
        switch event {
        case .progress(let progress):
            self.progress = progress
            display?.update(progress)
        case .image(let image): hear(image)
        default: break
        }
    }

    private func hear(_ image: ImageOutcome) {
        let name = images.indices.contains(image.index) ? images[image.index] : image.fileName
        var result = ResultObject(["name": .string(name)])
        if let error = image.error {
            result["error"] = .string(error.reason)
            if let response = image.response { result["status"] = JSON(response.status) }
            if skipBroken, image.encodedBytes < 0, !console.isJSON {
                display?.stop()
                console.note(Report.message(of: error).printable)
            }
        } else {
            if let response = image.response { result["status"] = JSON(response.status) }
            result["original_bytes"] = JSON(image.originalBytes)
            result["sent_bytes"] = JSON(image.encodedBytes)
            result["width"] = JSON(image.width)
            result["height"] = JSON(image.height)
            if let quality = image.quality { result["quality"] = Report.ratio(quality) }
            if !console.isJSON {
                display?.stop()
                console.note(
                    "\(name.printable): " + Units.change(image.originalBytes, image.encodedBytes))
            }
        }
        if let response = shownResponse(of: image) {
            Report.add(response.body, of: response, to: &result)
        }
        rows[image.index] = (result, image)
    }

    func finish() {
        let skipped = failures.count
        if skipped > 0 {
            let sent = images.count - skipped
            display?.rename(sent == 1 ? "1 image" : "\(sent) images")
        }
        display?.finish(progress, note: skipped > 0 ? "\(skipped) skipped" : nil)
    }

    func stop() { display?.stop() }
}
