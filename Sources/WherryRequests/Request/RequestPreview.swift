// Wherry: a request as the program sees it before an attempt.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherryTransport

/// A request as it will be sent, made for a program that edits or signs it before an attempt.
///
/// A transfer keeps its request as the caller wrote it: with a relative URL, and without the
/// headers and parameters of the client. Cache keys, identifiers, additional base URLs, and
/// redirects need that form. ``ownForm(of:)`` converts an edited preview back to it.
package final class RequestPreview: Sendable {
    /// The request as the transfer keeps it.
    private let own: Request
    /// The request with everything that its client adds.
    private let shown: Request
    /// The client's default parameters among those of `shown`.
    private let defaults: JSONObject
    /// Whether the URL contains the parameters.
    private let hasParametersInURL: Bool

    /// - Parameters:
    ///   - url: The URL of the attempt, with the whole query.
    ///   - headers: The result of `RequestPlanner.previewFields`.
    package init(
        _ own: Request, method: String, url: HTTPURL, headers: Headers, settings: ClientSettings,
        options: OptionTable
    ) {
        self.own = own
        hasParametersInURL = RequestPlanner.putsParametersIntoQuery(own, method: method)
        defaults = options[.defaultParameters] == 1 ? settings.values.parameters : JSONObject()
        var shown = own
        shown.method = method
        shown.url = url.text
        shown.headers = headers
        shown.parameters = RequestPlanner.merged(own, settings, options)
        // The bytes of a form depend on these options.
        for option in [Option.arrayStyle, .memberStyle, .boolStyle]
        where own.value(of: option) == nil && options[option] != 0 {
            shown.set(option, options[option])
        }
        self.shown = shown
    }

    /// The request for the program.
    package var request: Request {
        var request = shown
        request.preview = self
        return request
    }

    /// Converts an edited preview to the form that a transfer keeps: parts that the program left
    /// unchanged are as the caller wrote them.
    func ownForm(of edited: Request) -> Request {
        var request = edited
        request.preview = nil
        if edited.overrides == shown.overrides { request.overrides = own.overrides }
        if edited.method == shown.method { request.method = own.method }
        request.headers = ownHeaders(edited.headers)
        guard edited.url != shown.url else {
            request.url = own.url
            setParameters(of: &request, edited)
            return request
        }
        // An edited URL is complete: only pairs that the program added go into its query.
        request.query = added(to: edited.query)
        let method = edited.method ?? edited.effectiveMethod
        guard hasParametersInURL, RequestPlanner.putsParametersIntoQuery(edited, method: method)
        else {
            setParameters(of: &request, edited)
            return request
        }
        request.parameters = JSONObject()
        for member in edited.parameters where shown.parameters[member.name] != member.value {
            request.parameters[member.name] = member.value
        }
        request.set(.defaultParameters, 0)
        return request
    }

    /// Copies the parameters that the program changed, but no default that it left unchanged.
    private func setParameters(of request: inout Request, _ edited: Request) {
        let removed = shown.parameters.names.filter { edited.parameters[$0] == nil }
        guard removed.allSatisfy({ defaults[$0] == nil }) else {
            // The client would add the removed default again.
            request.parameters = edited.parameters
            request.set(.defaultParameters, 0)
            return
        }
        var parameters = own.parameters
        for name in removed { parameters[name] = nil }
        for member in edited.parameters where shown.parameters[member.name] != member.value {
            parameters[member.name] = member.value
        }
        request.parameters = parameters
    }

    /// Returns the pairs of a query that the program added.
    private func added(to query: [Request.Pair]) -> [Request.Pair] {
        var known = shown.query
        return query.filter { pair in
            guard let place = known.firstIndex(of: pair) else { return true }
            known.remove(at: place)
            return false
        }
    }

    /// Returns the headers of the caller, with the program's changes. A header that the program
    /// removed is suppressed, even if the client added it.
    private func ownHeaders(_ edited: Headers) -> Headers {
        guard edited != shown.headers else { return own.headers }
        var fields: [Headers.Field] = []
        var seen: Set<String> = []
        for field in edited.fields + own.headers.fields + shown.headers.fields {
            guard seen.insert(field.name.asciiLowercased).inserted else { continue }
            func named(_ headers: Headers) -> [Headers.Field] {
                headers.fields.filter { Headers.areEqual($0.name, field.name) }
            }
            let after = named(edited)
            if after.map(\.value) == named(shown.headers).map(\.value) {
                fields += named(own.headers)
            } else if after.isEmpty {
                fields.append(Headers.Field(name: field.name, value: nil))
            } else {
                fields += after
            }
        }
        return Headers(fields: fields)
    }
}

extension Request {
    /// The request as the caller wrote it, with the edits made to its preview: see
    /// ``RequestPreview``. The request itself if it is not a preview.
    package var ownForm: Request { preview?.ownForm(of: self) ?? self }
}

extension RequestPlanner {
    /// Returns the headers of a request as a program sees them before an attempt: as `fields` sends
    /// them, without the `Authorization` and `Cookie` of the client.
    ///
    /// The client adds those two when it sends the request. A token may be renewed first, a digest
    /// depends on the final request, and neither may reach another origin with an edited URL.
    package static func previewFields(
        of request: Request, contentType: String?, settings: ClientSettings,
        withholdsCredentials: Bool,
        added: AddedFields?, lostBody: Bool
    ) -> Headers {
        func isSent(_ field: Headers.Field) -> Bool {
            let name = field.name.asciiLowercased
            return mayGo(name, withholdsCredentials: withholdsCredentials, lostBody: lostBody)
                || !(lostBody && isAboutBody(name)) && added?.contains(name, field.value) == true
        }
        var fields = request.headers.fields.filter(isSent)
        for field in settings.fields
        where !request.headers.contains(field.name)
            && mayGo(
                field.name.asciiLowercased, withholdsCredentials: withholdsCredentials,
                lostBody: lostBody)
            && !Headers.areEqual(field.name, "Authorization")
            && !Headers.areEqual(field.name, "Cookie")
        {
            fields.append(field)
        }
        if let contentType, !request.headers.contains("Content-Type"),
            !fields.contains(where: { Headers.areEqual($0.name, "Content-Type") })
        {
            fields.append(Headers.Field(name: "Content-Type", value: contentType))
        }
        return Headers(fields: fields)
    }
}
