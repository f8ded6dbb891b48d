// Wherry: the command that runs bulk jobs.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import WherrySystem

/// Replaces this process with Python, which runs the plan, because the engines of bulk jobs are
/// Python packages.
struct BulkCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bulk",
        abstract:
            "Download and process a list of URLs of any length, on one machine, Dask, or Ray.",
        discussion: """
            EXAMPLES
              wherry bulk plan.toml --dry-run
              wherry bulk plan.toml --workers 4

            If the output folder contains part of the same job, the command processes only the \
            missing shards. The guide 'Bulk jobs' describes plans.

            The command requires Python 3.9 or newer with the package wherry. It runs python3 in \
            PATH, or the interpreter that WHERRY_PYTHON names. The exit status is 1 if shards \
            failed.
            """)

    @Argument(
        help: "A TOML file with the source, the steps, and the output.", completion: .file())
    var plan: String

    @Flag(help: "Count the rows and try a sample, without writing anything.")
    var dryRun = false

    @Option(
        help: ArgumentHelp(
            """
            With --dry-run: the bytes per second that all workers together can receive, such as \
            1.25e9.
            """, valueName: "bytes"))
    var bandwidth: Double?

    @Option(help: "Override the engine of the plan.")
    var engine: Engine?

    @Option(
        help: ArgumentHelp("Override the number of workers of the plan.", valueName: "number"))
    var workers: Int?

    @Flag(name: .shortAndLong, help: "Print no progress, only the result and errors.")
    var quiet = false

    @Flag(help: "Print the result as a JSON object to standard output.")
    var jsonOutput = false

    enum Engine: String, ExpressibleByArgument, CaseIterable {
        case local, dask, ray
    }

    /// The Python code, which exits with status 2 and one sentence instead of a traceback if the
    /// package is missing.
    private static let program = """
        import sys
        try:
            from wherry.bulk.__main__ import main
        except ImportError as error:
            print(f"wherry bulk: the Python package wherry cannot be imported: {error}. "
                  f"Install it for {sys.executable}, or set WHERRY_PYTHON to another interpreter.", file=sys.stderr)
            sys.exit(2)
        sys.exit(main())
        """

    func run() throws {
        let python = Environment.trusted("WHERRY_PYTHON") ?? "python3"
        setenv("WHERRY_PROGRAM", "wherry bulk", 1)
        Interrupts.unblock()
        var given = [plan]
        if dryRun { given.append("--dry-run") }
        if let bandwidth { given.append("--bandwidth=\(bandwidth)") }
        if let engine { given.append("--engine=\(engine.rawValue)") }
        if let workers { given.append("--workers=\(workers)") }
        if quiet { given.append("--quiet") }
        if jsonOutput { given.append("--json-output") }
        var words = ([python, "-c", Self.program] + given).map { word in
            (PathText.bytes(word) + [0]).withUnsafeBufferPointer { bytes in
                strdup(UnsafeRawPointer(bytes.baseAddress!).assumingMemoryBound(to: CChar.self))
            }
        }
        words.append(nil)
        execvp(python, &words)
        throw ValidationError(
            """
            \(python) could not be started: \(String(cString: strerror(errno))). Install Python 3.9 \
            or newer, or set WHERRY_PYTHON to its path.
            """)
    }
}
