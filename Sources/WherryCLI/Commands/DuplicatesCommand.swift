// Wherry: the command that finds images that look the same.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import WherryAsync
import WherryImaging

struct DuplicatesCommand: NetworkCommand {
    static let configuration = CommandConfiguration(
        commandName: "duplicates",
        abstract: "List images that look the same, even if they were resized or recompressed.",
        discussion: """
            EXAMPLES
              wherry duplicates ~/Pictures
              wherry duplicates ~/Pictures --distance 0
              wherry duplicates new.jpg ~/Pictures --json-output

            The command prints the paths of each group, one per line, with an empty line between \
            groups. It deletes nothing. It reads the images in folders and their \
            subfolders, and does not follow symbolic links. Files that cannot be read are \
            reported, but do not change the exit status. 'wherry image --hash' prints the hashes \
            that the command compares.
            """)

    @Argument(
        help: "Folders and image files.",
        completion: .file(extensions: ImageFormat.readableExtensions))
    var path: [String]

    @Option(
        help: ArgumentHelp(
            "The maximum number of bits in which the hashes of similar images differ, from 0 to 64.",
            valueName: "bits"))
    var distance = 4

    @Option(
        help: ArgumentHelp(
            "The kind of hash to compare.",
            discussion: "perceptual survives more edits; difference is faster.",
            valueName: "kind"))
    var hash = HashKindArgument.perceptual

    @OptionGroup(title: "OUTPUT") var output: OutputOptions

    mutating func validate() throws {
        guard (0...64).contains(distance) else {
            throw ValidationError("--distance takes 0 to 64, not \(distance).")
        }
    }

    mutating func perform(_ console: Console) async throws {
        var search = ImageSearch()
        for path in path { try search.add(path) }
        let files = search.files
        let kind = hash.kind
        let results = try await Self.concurrently(files) { Result(of: $0, kind) }
        let readable = zip(files, results).compactMap { path, result in
            result.hash.map { (path: path, hash: $0) }
        }
        let groups = ImageHash.groups(of: readable.map(\.hash), within: distance)
            .map { $0.map { readable[$0] } }
        var failures = search.failures
        for (path, result) in zip(files, results) {
            if let failure = result.failure { failures.append((path, failure)) }
        }
        if console.isJSON {
            let found = groups.map { group in
                JSON.array(
                    group.map { image in
                        .object([
                            "path": .string(image.path), "hash": .string("\(image.hash)"),
                        ])
                    })
            }
            let unread = failures.map { path, error in
                JSON.object([
                    "path": .string(path), "reason": .string(error.reason),
                    "message": .string(error.message),
                ])
            }
            return try console.print([
                "ok": true, "images": JSON(readable.count), "groups": .array(found),
                "unreadable": .array(unread),
            ])
        }
        for (path, error) in failures {
            console.note("\(path.printable): \(error.reason): \(error.message)")
        }
        for (index, group) in groups.enumerated() {
            if index > 0 { try console.print("") }
            for image in group { try console.print(image.path.printable) }
        }
        if groups.isEmpty {
            let images = readable.count == 1 ? "1 image" : "\(readable.count) images"
            console.note("No similar images among \(images).")
        }
    }

    /// The hash of an image, or the error if it has none.
    private struct Result: Sendable {
        var hash: ImageHash?
        var failure: WherryError?

        init(of path: String, _ kind: ImageHash.Kind) {
            do throws(ImagingError) {
                hash = try ImageHash.hashes(of: .file(path: path), [kind])[0]
            } catch {
                failure = WherryError(error)
            }
        }
    }

    /// Returns the result of `body` for each path, computed on all processors.
    private static func concurrently<Value: Sendable>(
        _ paths: [String], _ body: @escaping @Sendable (String) -> Value
    ) async throws -> [Value] {
        try await withThrowingTaskGroup(of: (Int, Value).self) { group in
            var values = [Value?](repeating: nil, count: paths.count)
            var started = 0
            func startNext() {
                guard started < paths.count else { return }
                let index = started
                started += 1
                group.addTask {
                    try Task.checkCancellation()
                    return (index, body(paths[index]))
                }
            }
            for _ in 0..<max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) { startNext() }
            while let (index, value) = try await group.next() {
                values[index] = value
                startNext()
            }
            return values.compactMap(\.self)
        }
    }
}

/// A kind of hash.
enum HashKindArgument: String, ExpressibleByArgument, CaseIterable {
    case perceptual, difference

    var kind: ImageHash.Kind { self == .perceptual ? .perceptual : .difference }
}
