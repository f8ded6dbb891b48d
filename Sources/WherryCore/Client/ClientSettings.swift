// Wherry: what a client's requests have in common, as a snapshot.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem
import WherryTransport

/// Every setting of a client at one moment; never changes. A live setter makes a new one, so a
/// request that has started keeps its own.
package final class ClientSettings: Sendable {
    /// The values that setters change.
    package struct Values: Sendable {
        package var options = OptionTable()
        package var texts: [TextOption: String] = [:]
        /// Further bases by name, beside the one that is taken when none is named (C4).
        package var bases: [String: String] = [:]
        package var headers = Headers()
        package var parameters = JSONObject()
        /// By origin; under "" those for whichever origin a request names.
        package var credentials: [String: Credentials] = [:]
        /// The file that the option names, read when the client was made.
        package var netrc: Netrc?
        package var decisions: DecisionSet = []
        /// The lists of the policy of trust; the rest of it is among options and texts.
        package var trustLists = TrustPolicy()
        /// Names that are secret in logs beside those that always are.
        package var secretNames: Set<String> = []

        package init() {}

        /// The proxies of connections. A client that denies addresses, or is told so, does not read the
        /// environment; a Unix socket has no proxy.
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
    /// The base, with the slash that the joining rule adds; `nil` where there is none.
    package let base: HTTPURL?
    private let bases: [String: HTTPURL]
    /// By origin, as ``WherryTransport/Origin`` writes it.
    private let credentials: [String: Credentials]
    /// The fields of every request that does not override one. Accept, User-Agent and
    /// Accept-Encoding are not among them: the transport writes those.
    package let fields: [Headers.Field]
    package let headerList: HeaderList
    package let userAgent: String
    /// The `Host` header of every request that sets none; `nil` if there is none.
    package let ownHost: String?
    /// What logs leave out.
    package let secrets: Secrets
    /// The fields of the last request that had none of its own, and which codings it asked for.
    private let plainFields = Lock<(decoding: ContentDecoding, fields: SentFields)?>(nil)

    package init(_ values: Values) throws(WherryError) {
        self.values = values
        secrets = Secrets(values.secretNames)
        userAgent = BuiltInFields.userAgent(values)
        base = try values.texts[.baseURL].map(Self.parseBase)
        var bases: [String: HTTPURL] = [:]
        for (name, text) in values.bases { bases[name] = try Self.parseBase(text) }
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

    /// A base that can only fail, by the client's own policy of trust, is an error at once (S5).
    private static func checkTrust(
        _ values: Values, _ base: HTTPURL?, _ bases: [String: HTTPURL]
    ) throws(WherryError) {
        let open = ([base].compactMap { $0 } + bases.values).map(\.origin).filter { !$0.isSecure }
        guard let first = open.first else { return }
        if values.options[.httpsOnly] == 1 {
            throw WherryError(
                .httpsOnly, "The base URL \(first.text) is not https, and only that is allowed")
        }
        guard values.options[.reportPins] == 0 else { return }
        let table = values.trustLists.pins.isEmpty ? nil : try values.trust.pinTable()
        for origin in open where values.options[.requirePins] == 1 || table?.pins(of: origin.host) != nil {
            throw WherryError(
                .badPin, "The base URL \(origin.text) cannot be pinned: without https no key is proven")
        }
    }

    package var options: OptionTable { values.options }

    /// The fields of a request as they go out. Most have none of their own, and so the same.
    package func sentFields(of asked: borrowing ExchangeRequest) -> SentFields {
        guard asked.headers === headerList else { return SentFields(asked) }
        if let known = plainFields.withLock({ $0 }), known.decoding == asked.decoding {
            return known.fields
        }
        let fields = SentFields(asked)
        plainFields.withLock { $0 = (asked.decoding, fields) }
        return fields
    }

    /// The base of that name; `nil` takes the one without a name.
    package func base(named name: String?) throws(WherryError) -> HTTPURL? {
        guard let name else { return base }
        guard let base = bases[name] else {
            throw WherryError(.notFound, "There is no base URL named \"\(name)\"")
        }
        return base
    }

    package var hasCredentials: Bool { !credentials.isEmpty || values.netrc?.isEmpty == false }

    /// All users and passwords in one text, which differs for each set of them.
    package var credentialsText: String {
        let netrc = values.netrc.map { " " + $0.text } ?? ""
        return credentials.sorted { $0.key < $1.key }.map { origin, known in
            "\(origin) \(known.user.utf8.count):\(known.user)\(known.password.utf8.count):\(known.password)"
        }.joined(separator: " ") + netrc
    }

    /// The credentials of a request to an origin: those of the request, of the client, then those in the
    /// .netrc file. `nil` if there are none, or the request has an Authorization header.
    ///
    /// - Parameter isHome: the origin is the one that the request names, and not where a redirect led.
    package func credentials(
        of request: Request, at origin: Origin, isHome: Bool
    ) -> Credentials? {
        if isHome {
            if request.bearerToken != nil || request.headers.contains("Authorization") { return nil }
            if let own = request.credentials { return own }
        }
        if let known = credentials[origin.text] ?? (isHome ? credentials[""] : nil) { return known }
        // What the client sends to the first origin wins over the file too.
        guard let netrc = values.netrc,
            !isHome || values.texts[.bearerToken] == nil && !values.headers.contains("Authorization")
        else { return nil }
        return netrc.credentials(at: origin, isHome: isHome)
    }

    /// The origin of a URL, or the URL of an origin.
    static func origin(_ text: String) throws(WherryError) -> Origin {
        do {
            return try HTTPURL(text, as: "URL of credentials").origin
        } catch {
            throw WherryError(.badURL, error.message)
        }
    }

    package func text(_ option: TextOption) -> String? { values.texts[option] }

    /// A base URL as URLs are resolved against it: it ends in a slash.
    package static func parseBase(_ text: String) throws(WherryError) -> HTTPURL {
        do {
            let url = try HTTPURL(text, as: "base URL")
            if url.query != nil {
                throw WherryError(
                    .badURL, "The base URL \"\(HTTPURL.redacted(text))\" has a query")
            }
            return url.text.utf8.last == 0x2F ? url : try HTTPURL(url.text + "/")
        } catch let error as WherryError {
            throw error
        } catch let error as HTTPURL.Invalid {
            throw WherryError(.badURL, error.message)
        } catch {
            throw WherryError(.internal, "\(error)")
        }
    }

    /// The fields that were set, and that of the languages.
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
    /// "0.1.0".
    public static let version = "0.1.0"
}
