// Wherry: results as JSON objects, for --json-output.
// SPDX-License-Identifier: Apache-2.0

import WherryAsync
import WherrySystem

/// The JSON objects of results, documented in docs/cli.md.
enum Report {
    static func success(_ response: Response) -> ResultObject {
        let metrics = response.metrics
        var object: JSONObject = [
            "ok": true, "url": .string(response.url), "status": JSON(response.status),
        ]
        object["headers"] = fields(response)
        if response.isFromCache { object["from_cache"] = true }
        if response.isStale { object["stale"] = true }
        if response.isRevalidated { object["revalidated"] = true }
        if response.isLengthUnverified { object["length_unverified"] = true }
        object["redirects"] = JSON(metrics.redirects)
        object["seconds"] = seconds(metrics.total)
        return ResultObject(object)
    }

    static func failure(_ error: WherryError, _ status: Int32) -> ResultObject {
        var object = ResultObject(["ok": false, "exit": JSON(status)])
        var told: JSONObject = [
            "reason": .string(error.reason), "message": .string(message(of: error)),
        ]
        told["retryable"] = .bool(error.isRetryable)
        if let wait = error.retryAfter { told["retry_after"] = seconds(wait) }
        if let path = error.partialPath { told["partial"] = .string(path) }
        object["error"] = .object(told)
        if let response = error.response {
            object["url"] = .string(response.url)
            object["status"] = JSON(response.status)
            object["headers"] = fields(response)
            add(response.body, of: response, to: &object)
        }
        return object
    }

    static func failure(_ message: String, reason: String, _ status: Int32) -> ResultObject {
        ResultObject([
            "ok": false, "exit": JSON(status),
            "error": ["reason": .string(reason), "message": .string(message), "retryable": false],
        ])
    }

    /// The message of an error, with the options of the command in place of those of the library.
    static func message(of error: WherryError) -> String {
        let text = OptionAdvice.replaced(in: error.message) { advice in
            switch advice {
            case .makeDirectories: "Create it, or use --create-dirs."
            case .overwrite: "Use another path, or --overwrite to replace the file."
            case .maxRedirects: "Check the URL, or raise --max-redirects."
            case .keepAuthAcrossHosts: "If you trust that origin, send the request there."
            case .codedBody: "Leave out --body-coding or the Content-Encoding field."
            case .httpsOnly: "Use an https URL, or leave out --https-only."
            case .keyFile: "Name the file of the key with --key."
            case .keepAlive: "Leave it out."
            }
        }
        guard let hint = hint(for: error) else { return text }
        return text + (text.hasSuffix(".") ? " " : ". ") + hint
    }

    /// The options of the command that matter for an error whose message names none.
    private static func hint(for error: WherryError) -> String? {
        switch ErrorReason(rawValue: error.reason) {
        case .httpStatus where error.httpStatus == 401:
            "Send credentials with --user or --bearer, or check those that you sent."
        case .httpStatus where error.httpStatus == 407:
            "Send credentials with --proxy-user, or check those that you sent."
        case .proxy: "See --proxy and --proxy-user."
        case .badPin: "--pinnedpubkey takes sha256//BASE64 or a file."
        case .pin: "Check --pinnedpubkey."
        case .connectTimeout: "See --connect-timeout."
        case .idleTimeout: "Raise --timeout if the server needs longer."
        case .totalTimeout: "Raise --total-timeout if the transfer needs longer."
        default: nil
        }
    }

    /// Adds the body as `json` or `text`, or as `base64` for other bytes.
    static func add(_ body: Bytes, of response: Response, to object: inout ResultObject) {
        object["bytes"] = JSON(body.count)
        guard !body.isEmpty else { return }
        let type = response.header("content-type").flatMap { MediaType($0) }
        if type?.isJSON ?? false, let json = JSONText.line(body) {
            object.body = json
        } else if let text = String(validating: body, as: UTF8.self) {
            object["text"] = .string(text)
        } else {
            object["base64"] = .string(Base64.encode(body))
        }
    }

    static func progress(_ progress: TransferProgress, named name: String) -> JSONObject {
        var object: JSONObject = [
            "event": "progress", "name": .string(name), "completed": JSON(progress.completed),
        ]
        object["total"] = progress.total.map { JSON($0) } ?? .null
        object["resumed_at"] = JSON(progress.resumedAt)
        object["bytes_per_second"] = progress.bytesPerSecond.map { JSON($0) } ?? .null
        object["seconds_left"] = progress.remaining.map { seconds($0) } ?? .null
        return object
    }

    /// A quality of libjpeg, 1 to 100, as `--quality` takes it.
    static func ratio(_ quality: Int) -> JSON { .double(Double(quality) / 100) }

    static func seconds(_ duration: Duration) -> JSON {
        .double((duration.inSeconds * 1000).rounded() / 1000)
    }

    private static func fields(_ response: Response) -> JSON {
        .array(
            response.headers.fields.map { [.string($0.name), .string($0.value ?? "")] })
    }
}
