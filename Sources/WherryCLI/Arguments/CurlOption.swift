// Wherry: the equivalents of curl's options.
// SPDX-License-Identifier: Apache-2.0

/// The equivalent of a curl option that a command does not have.
enum CurlOption {
    /// The command always does that. `takesValue` if a value follows.
    case ignored(takesValue: Bool)
    /// Another option without a value.
    case flag(String)
    /// Another option, with the value that follows and `prefix` before it.
    case option(String, prefix: String = "")
    /// Nothing equivalent. `words` say what to use instead.
    case advice(String)

    /// The equivalents of an option for a command, the best first. An equivalent does not apply if the
    /// command does not have its option.
    ///
    /// - Parameter name: The option as it is given: `-L`, `--location`.
    static func meanings(of name: String, for command: String) -> [CurlOption] {
        ofCommands["\(command) \(name)"].map { [$0] } ?? table[name] ?? []
    }

    private static let table: [String: [CurlOption]] = {
        var table: [String: [CurlOption]] = [:]
        for (names, option) in all {
            for name in names.split(separator: " ") {
                table[String(name), default: []].append(option)
            }
        }
        return table
    }()

    /// Options with another equivalent for one command.
    private static let ofCommands: [String: CurlOption] = {
        let range = CurlOption.advice("Use 'wherry get --range RANGE URL --output FILE'.")
        let result = CurlOption.advice(
            "Write the result after the input: wherry image INPUT RESULT.")
        return [
            "head -I": .ignored(takesValue: false), "head --head": .ignored(takesValue: false),
            "download -J": .ignored(takesValue: false),
            "download --remote-header-name": .ignored(takesValue: false),
            "download -r": range, "download --range": range,
            "image -o": result, "image --output": result,
        ]
    }()

    private static let all: [(String, CurlOption)] = [
        (
            "-L --location -S --show-error -f --fail --fail-with-body --compressed -N --no-buffer "
                + "-g --globoff --no-progress-meter --tcp-nodelay --tlsv1.2",
            .ignored(takesValue: false)
        ),
        ("-s --silent", .flag("--quiet")),
        ("-v --verbose", .flag("--debug")),
        ("-k", .flag("--insecure")),
        ("-i --show-headers", .flag("--include")),
        ("-V", .flag("--version")),
        ("-O --remote-name-all", .flag("--remote-name")),
        ("-x", .option("--proxy")),
        ("-m --max-time", .option("--total-timeout")),
        ("--max-redirs", .option("--max-redirects")),
        ("--retry", .option("--retries")),
        ("-X", .option("--request")),
        ("-A --user-agent", .option("--header", prefix: "User-Agent: ")),
        ("-e --referer", .option("--header", prefix: "Referer: ")),
        ("-r --range", .option("--header", prefix: "Range: bytes=")),
        ("-E", .option("--cert")),
        ("-I --head", .advice("Use 'wherry head URL'.")),
        ("--data-ascii --data-binary", .option("--data")),
        ("--data-urlencode", .option("--field")),
        (
            "--data-raw",
            .advice("Use --data TEXT. To send a text that starts with @, use --data @FILE.")
        ),
        (
            "-d --data --data-ascii --data-binary --data-urlencode",
            .advice(
                "Use 'wherry post URL' with --field name=value for a form, --json TEXT, or --data TEXT or "
                    + "--data @FILE for any other body."
            )
        ),
        (
            "-F --form --form-string",
            .advice(
                "Use 'wherry upload URL FILE --name NAME --names repeat --unreadable send' for files in a form, "
                    + "with --field name=value for text, or 'wherry post URL --field name=value' for text alone."
            )
        ),
        ("--json", .advice("Use 'wherry post URL --json TEXT'.")),
        (
            "-T --upload-file",
            .advice(
                "Use 'wherry put URL --data @FILE --header 'Content-Type: TYPE'', or 'wherry put URL < FILE' for "
                    + "application/octet-stream.")
        ),
        ("-G --get", .advice("Use --param name=value.")),
        (
            "-w --write-out",
            .advice("Use --json-output: it prints status, URL, headers, bytes, and seconds.")
        ),
        ("-C --continue-at", .advice("Use 'wherry download URL', which resumes by itself.")),
        ("-D --dump-header", .advice("Use --include, or --json-output.")),
        ("-Z --parallel", .advice("Use 'wherry download URL...': it downloads several at once.")),
        ("--url", .advice("Write the URL without an option.")),
        ("-#  --progress-bar", .advice("Use --progress bar.")),
        (
            "-o --output",
            .advice("The command prints to standard output. Write '> FILE' behind it.")
        ),
        ("-b --cookie -c --cookie-jar", .advice("The command sends no cookies.")),
        ("-z --time-cond", .advice("Use --cache-policy protocol.")),
        (
            "--netrc-optional",
            .advice("Use --netrc, which fails if there is no ~/.netrc, or leave it out.")
        ),
        ("-R", .advice("Use 'wherry download URL --remote-time'.")),
    ]
}
