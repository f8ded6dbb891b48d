// Wherry: the configuration of a client.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherryReachability
import WherryRequests
import WherrySystem
import WherryTransport

extension Client {
    /// All settings of a client with their defaults. For durations, zero disables the limit.
    public struct Configuration: Sendable {
        package var values = ClientSettings.Values()
        /// The transport to use instead of the network in tests.
        package var stub: StubTransport?
        /// The source of network changes. Tests replace it.
        package var networks: ReachabilityCenter?
        /// The clock. Tests replace it with one that they control.
        package var clock: any Clock = SystemClock.shared

        /// Creates a configuration with default values.
        public init() {}

        /// The base URLs that requests select by name: `request.base = "cdn"`. Default: none.
        public var bases: [String: String] {
            get { values.bases }
            set { values.bases = newValue }
        }
        /// The User-Agent header. Default: "Wherry/<version>", or with ``appName`` "name/appVersion
        /// (Linux x86_64) Wherry/<version>" (C10).
        public var userAgent: String {
            get { BuiltInFields.userAgent(values) }
            set { values.texts[.userAgent] = newValue }
        }
        /// The headers of every request. Headers of the request override them.
        public var headers: Headers {
            get { values.headers }
            set { values.headers = newValue }
        }
        /// The default parameters of every request except downloads. Parameters of the request
        /// override them (C5). With GET, HEAD, and DELETE they go into the query. With other
        /// methods they become a JSON body, or fields of a form or a multipart body. If the request
        /// has its own body (JSON, bytes, a file, or a stream), they go into the query.
        public var parameters: JSONObject {
            get { values.parameters }
            set { values.parameters = newValue }
        }
        /// The credentials for the origin of each request. Default: none.
        public var credentials: Credentials? {
            get { values.credentials[""] }
            set { values.credentials[""] = newValue }
        }
        /// The credentials by origin: "https://host:port", or any URL of the origin. They override
        /// ``credentials``, and also apply to the target of a redirect. Default: none.
        public var originCredentials: [String: Credentials] {
            get { values.credentials.filter { !$0.key.isEmpty } }
            set {
                let common = credentials
                values.credentials = newValue
                credentials = common
            }
        }
        /// Whether to store and send cookies. See ``Client/cookies``. Default: true.
        public var usesCookies: Bool {
            get { values.options.cookieHandling != .off }
            set { values.options[.cookies] = newValue ? 1 : 0 }
        }
        /// How requests use cookies, unless a request has its own setting. Default: `.jar` (C14).
        public var cookieHandling: CookieHandling {
            get { values.options.cookieHandling }
            set { values.options[.cookies] = newValue.rawValue }
        }
        /// The hosts to connect to without a proxy. Default: `nil`, which reads `no_proxy` from the
        /// environment when the client is created.
        ///
        /// An entry is a name (`example.org` or `.example.org`, for the host and its subdomains),
        /// an address, a network (`10.0.0.0/8`, `fe80::/10`), or `*` for every host. A port
        /// restricts an entry: `example.org:8080`, `[::1]:8080`. Any other value fails with
        /// `bad_value`.
        public var noProxy: [String]? {
            get { values.texts[.noProxy]?.split(separator: ",").map(String.init) }
            set { values.texts[.noProxy] = newValue?.joined(separator: ",") }
        }
        /// Known addresses of hosts, used instead of a name lookup (C19). An entry is
        /// `host:port:address[,address]...` as for `curl --resolve`; `*` is every host. The host
        /// name does not change, including in the certificate check. Default: none.
        public var resolve: [String] {
            get { values.texts[.resolve]?.split(separator: " ").map(String.init) ?? [] }
            set {
                values.texts[.resolve] = newValue.isEmpty ? nil : newValue.joined(separator: " ")
            }
        }

        /// The names of headers, parameters, and JSON members with secret values. Logs,
        /// descriptions, and ``Client/curlCommand(of:revealingSecrets:)`` omit these values.
        /// Authorization, Cookie, and names that contain words such as token, secret, or password
        /// are always secret. Case, `-`, and `_` are ignored. Default: none.
        public var secretNames: Set<String> {
            get { values.secretNames }
            set { values.secretNames = newValue }
        }

        /// Validates all settings.
        package func check() throws(WherryError) {
            for option in Option.allCases where values.options[option] != option.defaultValue {
                try option.check(values.options[option], in: option.scope)
            }
            for (option, text) in values.texts { try option.check(text, in: option.scope) }
            for field in values.headers.fields { try Headers.check(field.name, field.value) }
        }

        /// Returns the transport's configuration. Reads all files of the trust policy.
        package func transport(base: HTTPURL?) throws(WherryError) -> TransportConfiguration {
            var transport = TransportConfiguration()
            let trust = trust
            transport.caFile = caFile
            transport.insecure = trust.trustsAnybody
            transport.trust = try trust.resolved(
                base: base, proxies: values.proxies.given)
            transport.proxies = values.proxies
            transport.proxyCredentials = proxyCredentials
            transport.resolve = try ResolvedHost.all(in: values.texts[.resolve] ?? "").map(\.text)
            transport.interface = interface
            transport.unixSocket = unixSocket
            transport.maxPerHost = maxPerHost
            transport.maxConnections = maxConnections
            transport.rate = values.options.requestRate
            return transport
        }
    }
}

extension Client.Configuration {
    /// Returns the values with the entries of the .netrc file. The file is read once for each
    /// client, so that later changes do not affect its requests.
    func valuesWithNetrc() throws(WherryError) -> ClientSettings.Values {
        guard let netrc, !netrc.isEmpty else { return values }
        var values = values
        values.netrc = try Netrc.load(netrc)
        return values
    }
}

extension Client.Configuration {
    /// The trust policy of the client.
    public var trust: TrustPolicy {
        get { values.trust }
        set { values.trust = newValue }
    }
}
