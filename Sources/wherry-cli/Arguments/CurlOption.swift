// Wherry: options of curl, and what they are here.
// SPDX-License-Identifier: Apache-2.0

/// What becomes of an option of curl that a command does not have itself.
enum CurlOption {
    /// The command does that anyway. `takesValue` if a value follows.
    case ignored(takesValue: Bool)
    /// Another option without a value.
    case flag(String)
    /// Another option, with the value that follows and `prefix` before it.
    case option(String, prefix: String = "")
    /// Something else has to be written; `words` say what.
    case advice(String)

    /// The option of that name, written as it is given: `-L`, `--location`.
    static func named(_ name: String) -> CurlOption? { table[name] }

    private static let table: [String: CurlOption] = {
        var table: [String: CurlOption] = [:]
        for (names, option) in all {
            for name in names.split(separator: " ") { table[String(name)] = option }
        }
        return table
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
        ("-O --remote-name-all -J --remote-header-name", .flag("--remote-name")),
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
        (
            "-d --data --data-ascii --data-raw --data-binary --data-urlencode",
            .advice(
                "Use 'wherry post URL' with --field name=value for a form, --json TEXT, or --data TEXT or --data @FILE for any other body."
            )
        ),
        (
            "-F --form --form-string",
            .advice(
                "Use 'wherry upload URL PICTURE... --name NAME --field name=value' for pictures in a form, or 'wherry post URL --field name=value' for text alone."
            )
        ),
        ("--json", .advice("Use 'wherry post URL --json TEXT'.")),
        ("-T --upload-file", .advice("Use 'wherry put URL --data @FILE'.")),
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
        ("-o --output -c -b", .advice("This command writes no file and takes no cookies.")),
        ("-z --time-cond", .advice("Use --cache-policy protocol.")),
        (
            "--netrc-optional",
            .advice("Use --netrc, which fails if there is no ~/.netrc, or leave it out.")
        ),
        ("-R", .advice("Use 'wherry download URL --remote-time'.")),
    ]
}
