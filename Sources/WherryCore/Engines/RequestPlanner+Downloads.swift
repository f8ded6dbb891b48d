// Wherry: the validation of download requests.
// SPDX-License-Identifier: Apache-2.0

import WherryTransport

extension RequestPlanner {
    /// Checks a download request, and resolves its URL and the URLs of its mirrors against the base
    /// URL. Shared by clients and background sessions.
    static func download(
        _ request: Request, settings: ClientSettings
    ) throws(WherryError) -> (options: OptionTable, url: HTTPURL, mirrors: [HTTPURL]) {
        for value in request.overrides { try value.option.check(value.value, in: .request) }
        try request.checkFields()
        var options = settings.options.overridden(by: request.overrides)
        options[.defaultParameters] = 0
        guard (request.method ?? "GET") == "GET" else {
            throw WherryError(.badMethod, "A download is a GET request")
        }
        guard case .none = request.body else {
            throw WherryError(
                .badParameters, "A download has no body; query parameters it may have")
        }
        guard request.jsonShape == nil else {
            throw WherryError(.badOption, "A download is not read, and so has no shape of JSON")
        }
        guard request.mirrors.isEmpty || request.expectedDigest != nil else {
            throw WherryError(
                .badDigest, "Mirrors need a digest, which proves that they have the same bytes")
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
