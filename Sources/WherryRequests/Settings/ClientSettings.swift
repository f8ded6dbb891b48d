// Wherry: an immutable snapshot of a client's settings.
// SPDX-License-Identifier: Apache-2.0

import WherryCache
import WherryHTTP
import WherrySystem
import WherryTransport

/// All settings of a client at one moment. Immutable: a setter creates a new object, so a running
/// request keeps its settings.
package final class ClientSettings: Sendable {
    /// The values that setters change.
    package struct Values: Sendable {
        package var options = OptionTable()
        package var texts: [TextOption: String] = [:]
        /// The base URLs by name, in addition to the unnamed one (C4).
        package var bases: [String: String] = [:]
        package var headers = Headers()
        package var parameters = JSONObject()
        /// The credentials by origin. The key "" applies to the origin of each request.
        package var credentials: [String: Credentials] = [:]
        /// The entries of the .netrc file, read when the client was created.
        package var netrc: Netrc?
        package var hooks: HookSet = []
        /// The lists of the trust policy. The rest of the policy is in `options` and `texts`.
        package var trustLists = TrustPolicy()
        /// The names that logs treat as secret, in addition to the built-in ones.
        package var secretNames: Set<String> = []

        package init() {}

        /// Whether requests have the same URL, headers, and credentials as with other settings, so
        /// that a server cannot tell them apart.
        package func makesEqualRequests(to other: Values) -> Bool {
            texts == other.texts && bases == other.bases && headers == other.headers
                && Array(parameters) == Array(other.parameters)
                && credentials == other.credentials && hooks == other.hooks
        }

        /// The proxies of connections. Denied addresses or `ignoreProxyEnvironment` disable the
        /// proxy settings of the environment. A Unix socket uses no proxy.
        package var proxies: ProxySettings {
            var proxies = ProxySettings()
            if texts[.unixSocket] != nil {
                proxies.all = ""
                return proxies
            }
            proxies.all = texts[.proxy]
            proxies.http = texts[.proxyHTTP]
            proxies.https = texts[.proxyHTTPS]
            proxies.exceptions = texts[.noProxy]
            if options[.ignoreProxyEnvironment] == 1 || !trust.deniedAddresses.isEmpty {
                proxies.all = proxies.all ?? ""
            }
            return proxies
        }
    }

    package let values: Values
    /// The base URL with a trailing slash. `nil` if there is none.
    package let base: HTTPURL?
    private let bases: [String: HTTPURL]
    /// The credentials by origin, in the form of ``WherryTransport/Origin``.
    private let credentials: [String: Credentials]
    /// The headers of every request that does not override them. Excludes Accept, User-Agent, and
    /// Accept-Encoding, which the transport writes.
    package let fields: [Headers.Field]
    package let headerList: HeaderList
    package let userAgent: String
    /// The `Host` header of every request that sets none; `nil` if there is none.
    package let ownHost: String?
    /// The values that logs leave out.
    package let secrets: Secrets
    /// The cached headers of the last request without its own headers, with its accepted codings.
    private let plainFields = Lock<(decoding: ContentDecoding, fields: SentFields)?>(nil)

    package init(_ values: Values) throws(WherryError) {
        self.values = values
        secrets = Secrets(values.secretNames)
        userAgent = BuiltInFields.userAgent(values)
        base = try values.texts[.baseURL].map(HTTPURL.base)
        var bases: [String: HTTPURL] = [:]
        for (name, text) in values.bases { bases[name] = try HTTPURL.base(text) }
        self.bases = bases
        try Self.checkTrust(values, base, bases)
        var credentials: [String: Credentials] = [:]
        for (origin, known) in values.credentials {
            try known.check()
            credentials[try origin.isEmpty ? "" : Self.origin(origin).text] = known
        }
        self.credentials = credentials
        try values.headers.checkHost()
        ownHost = values.headers["Host"]
        var fields = values.headers
        for field in Self.builtIn(values) where !fields.contains(field.name) {
            fields.set(field.name, field.value)
        }
        self.fields = fields.fields
        headerList = HeaderList(fields.fields.map { ($0.name, $0.value) })
    }

    /// Rejects a base URL that the client's trust policy can never allow (S5).
    private static func checkTrust(
        _ values: Values, _ base: HTTPURL?, _ bases: [String: HTTPURL]
    ) throws(WherryError) {
        let open = ([base].compactMap { $0 } + bases.values).map(\.origin).filter { !$0.isSecure }
        guard let first = open.first else { return }
        if values.options[.httpsOnly] == 1 {
            throw WherryError(
                .httpsOnly,
                "The base URL \(first.text) is not https, and only https is allowed. "
                    + OptionAdvice.httpsOnly.text)
        }
        guard values.options[.reportPins] == 0 else { return }
        let table = values.trustLists.pins.isEmpty ? nil : try values.trust.pinTable()
        for origin in open
        where values.options[.requirePins] == 1 || table?.pins(of: origin.host) != nil {
            throw WherryError(
                .badPin,
                "The base URL \(origin.text) cannot be pinned: only https servers prove their keys. Use an https URL."
            )
        }
    }

    package var options: OptionTable { values.options }

    /// Returns the headers of a request as sent. Requests without their own headers share one
    /// result.
    package func sentFields(of asked: borrowing ExchangeRequest) -> SentFields {
        guard asked.headers === headerList else { return SentFields(asked) }
        if let known = plainFields.withLock({ $0 }), known.decoding == asked.decoding {
            return known.fields
        }
        let fields = SentFields(asked)
        plainFields.withLock { $0 = (asked.decoding, fields) }
        return fields
    }

    /// Returns the base URL of a name. `nil` returns the unnamed one.
    package func base(named name: String?) throws(WherryError) -> HTTPURL? {
        guard let name else { return base }
        guard let base = bases[name] else {
            throw WherryError(.notFound, "There is no base URL named \"\(name)\"")
        }
        return base
    }

    package var hasCredentials: Bool { !credentials.isEmpty || values.netrc?.isEmpty == false }

    /// A text that is unique to the set of user names and passwords.
    package var credentialsText: String {
        let netrc = values.netrc.map { " " + $0.text } ?? ""
        return credentials.sorted { $0.key < $1.key }.map { origin, known in
            "\(origin) \(known.user.utf8.count):\(known.user)\(known.password.utf8.count):\(known.password)"
        }.joined(separator: " ") + netrc
    }

    /// Returns the credentials of a request for an origin: those of the request, else of the
    /// client, else of the .netrc file. `nil` if there are none, or if the request has an
    /// Authorization header.
    ///
    /// - Parameter isRequestedOrigin: Whether the request itself names the origin. `false` for the
    ///   target of a redirect.
    package func credentials(
        of request: Request, at origin: Origin, isRequestedOrigin: Bool
    ) -> Credentials? {
        if isRequestedOrigin {
            if request.bearerToken != nil || request.headers.contains("Authorization") {
                return nil
            }
            if let own = request.credentials { return own }
        }
        if let known = credentials[origin.text] ?? (isRequestedOrigin ? credentials[""] : nil) {
            return known
        }
        // The client's Authorization header for the first origin also overrides the file.
        guard let netrc = values.netrc,
            !isRequestedOrigin
                || values.texts[.bearerToken] == nil && !values.headers.contains("Authorization")
        else { return nil }
        return netrc.credentials(at: origin, isRequestedOrigin: isRequestedOrigin)
    }

    /// Returns the origin of a URL.
    package static func origin(_ text: String) throws(WherryError) -> Origin {
        do {
            return try HTTPURL(text, as: "URL of credentials").origin
        } catch {
            throw WherryError(.badURL, error.message)
        }
    }

    package func text(_ option: TextOption) -> String? { values.texts[option] }

    /// The headers set by the program, and Accept-Language if it is enabled.
    package var ownFields: [Headers.Field] {
        var fields = values.headers
        if let languages = Self.languages(values), !fields.contains(languages.name) {
            fields.set(languages.name, languages.value)
        }
        return fields.fields
    }

    private static func languages(_ values: Values) -> Headers.Field? {
        guard values.options[.sendLanguages] == 1,
            let languages = BuiltInFields.acceptLanguage({ Environment[$0] })
        else { return nil }
        return Headers.Field(name: "Accept-Language", value: languages)
    }

    private static func builtIn(_ values: Values) -> [Headers.Field] {
        var fields: [Headers.Field] = []
        if let token = values.texts[.bearerToken] {
            fields.append(Headers.Field(name: "Authorization", value: "Bearer \(token)"))
        }
        if let languages = languages(values) { fields.append(languages) }
        return fields
    }
}

/// The version of this library.
public enum WherryLibrary {
    package static let versionNumber: Int32 = 1000
    /// The version as text.
    public static let version = "0.1.0"
}
