// Wherry: the validation of download requests.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherryTransport

extension RequestPlanner {
    /// Checks a download request, and resolves its URL and the URLs of its mirrors against the base
    /// URL. Shared by clients and background sessions.
    package static func download(
        _ request: Request, settings: ClientSettings
    ) throws(WherryError) -> (options: OptionTable, url: HTTPURL, mirrors: [HTTPURL]) {
        for value in request.overrides { try value.option.check(value.value, in: .request) }
        try request.checkFields()
        var options = settings.options.overridden(by: request.overrides)
        options[.defaultParameters] = 0
        guard (request.method ?? "GET") == "GET" else {
            throw WherryError(
                .badMethod, "A download cannot use another method than GET. Leave the method out.")
        }
        guard case .none = request.body else {
            throw WherryError(
                .badParameters, "A download cannot have a body. Use query parameters instead.")
        }
        for name in ["Range", "If-Range"] where request.headers.contains(name) {
            throw WherryError(
                .badHeader,
                "A download sets the header \(name) itself, to resume. Remove it. To receive a part of a file, send a GET request and save its body."
            )
        }
        guard !request.isStreamed else {
            throw WherryError(
                .badOption,
                "A download writes the body to its file and cannot stream it too. Turn streaming off, or send a GET request."
            )
        }
        guard request.jsonShape == nil else {
            throw WherryError(
                .badOption, "The JSON shape of a download cannot be checked. Remove the shape.")
        }
        guard request.mirrors.isEmpty || request.expectedDigest != nil else {
            throw WherryError(
                .badDigest,
                "Mirrors require an expected digest, which verifies that all of them serve the same file. Set the digest."
            )
        }
        let url = try RequestPlanner.url(
            of: request, method: "GET", settings: settings, options: options)
        let base = try settings.base(named: request.base)
        var mirrors: [HTTPURL] = []
        for text in request.mirrors {
            mirrors.append(try RequestPlanner.target(text, base: base, options: options))
        }
        return (options, url, mirrors)
    }
}
