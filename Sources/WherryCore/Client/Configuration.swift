// Wherry: the configuration of a client.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
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

        /// The base URL against which relative URLs are resolved (RFC 3986). A missing trailing
        /// slash is added. Default: none.
        public var baseURL: String? {
            get { values.texts[.baseURL] }
            set { values.texts[.baseURL] = newValue }
        }
        /// The base URLs that requests select by name: `request.base = "cdn"`. Default: none.
        public var bases: [String: String] {
            get { values.bases }
            set { values.bases = newValue }
        }
        /// The app version. Responses stored under another version count as missing. Default: "1".
        public var appVersion: String {
            get { values.texts[.appVersion] ?? "1" }
            set { values.texts[.appVersion] = newValue }
        }
        /// The application's name for ``userAgent``. Accents are removed, and other non-ASCII
        /// characters are percent-encoded. Default: none.
        public var appName: String? {
            get { values.texts[.appName] }
            set { values.texts[.appName] = newValue }
        }
        /// Whether to send the user's languages as Accept-Language, taken from the environment
        /// (`LANGUAGE`, `LC_ALL`, `LC_MESSAGES`, `LANG`). A header that you set overrides it.
        /// Default: false.
        public var sendsLanguages: Bool {
            get { values.options[.sendLanguages] == 1 }
            set { values.options[.sendLanguages] = newValue ? 1 : 0 }
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
        /// The token of `Authorization: Bearer`. Default: none.
        public var bearerToken: String? {
            get { values.texts[.bearerToken] }
            set { values.texts[.bearerToken] = newValue }
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
        /// The path of a .netrc file with credentials by host. A leading `~/` is the home
        /// directory. Default: `nil`, which like "" reads no file.
        ///
        /// The file is read when the client is created. A file that is missing or cannot be parsed
        /// is an error then. Passwords are sent preemptively as Basic, also to hosts that redirects
        /// lead to. ``credentials``, ``bearerToken``, an Authorization header, and the request's
        /// own credentials override the file. The permissions of the file are not checked.
        public var netrc: String? {
            get { values.texts[.netrc] }
            set { values.texts[.netrc] = newValue }
        }
        /// Whether to store and send cookies. See ``Client/cookies``. Default: true.
        public var usesCookies: Bool {
            get { values.options.cookieHandling != .off }
            set { values.options[.cookies] = newValue ? 1 : 0 }
        }
        /// How requests use cookies, unless they set it themselves. Default: `.jar` (C14).
        public var cookieHandling: CookieHandling {
            get { values.options.cookieHandling }
            set { values.options[.cookies] = newValue.rawValue }
        }
        /// The maximum time without a byte in either direction. Default: 20 s.
        public var idleTimeout: Duration {
            get { duration(.idleTimeout) }
            set { values.options[.idleTimeout] = newValue.settingMilliseconds }
        }
        /// The maximum time for name lookup, connection, and handshake together. Default: 10 s.
        public var connectTimeout: Duration {
            get { duration(.connectTimeout) }
            set { values.options[.connectTimeout] = newValue.settingMilliseconds }
        }
        /// The maximum time from the last byte sent to the first byte received. Default: 30 s.
        ///
        /// A shorter ``idleTimeout`` also limits this wait, except for downloads.
        public var firstByteTimeout: Duration {
            get { duration(.firstByteTimeout) }
            set { values.options[.firstByteTimeout] = newValue.settingMilliseconds }
        }
        /// The maximum time of a transfer, including redirects and retries. Default: none.
        public var totalTimeout: Duration {
            get { duration(.totalTimeout) }
            set { values.options[.totalTimeout] = newValue.settingMilliseconds }
        }
        /// The maximum number of redirects. 0 returns the redirect response. Default: 10.
        public var maxRedirects: Int {
            get { Int(values.options[.maxRedirects]) }
            set { values.options[.maxRedirects] = Int64(newValue) }
        }
        /// The maximum number of connections to one origin. Default: 6.
        public var maxPerHost: Int {
            get { Int(values.options[.maxPerHost]) }
            set { values.options[.maxPerHost] = Int64(newValue) }
        }
        /// The maximum number of connections. Default: 32.
        public var maxConnections: Int {
            get { Int(values.options[.maxConnections]) }
            set { values.options[.maxConnections] = Int64(newValue) }
        }
        /// The maximum number of requests per ``rateInterval``, at most 1,000,000. 0, the default,
        /// means no limit. Further requests wait in the order of their ``Request/priority``. The
        /// limit is a token bucket: tokens arrive at even intervals, and at most ``rateBurst`` of
        /// them are saved.
        ///
        /// Redirects, retries, and the segments of a download count; cache hits do not. If the
        /// number of a download's connections was set, further connections count but do not wait.
        /// ``totalTimeout`` includes the wait.
        public var rateLimit: Int {
            get { Int(values.options[.rateLimit]) }
            set { values.options[.rateLimit] = Int64(newValue) }
        }
        /// The same limit for each origin (scheme, host, and port), in addition to ``rateLimit``.
        /// Default: no limit.
        public var hostRateLimit: Int {
            get { Int(values.options[.hostRateLimit]) }
            set { values.options[.hostRateLimit] = Int64(newValue) }
        }
        /// The maximum number of requests that may start at once after a quiet time, at most
        /// 10,000. 0, the default, allows as many as ``rateInterval`` does.
        public var rateBurst: Int {
            get { Int(values.options[.rateBurst]) }
            set { values.options[.rateBurst] = Int64(newValue) }
        }
        /// The interval of ``rateLimit`` and ``hostRateLimit``, at most one day. Default: 1 s.
        public var rateInterval: Duration {
            get { duration(.rateInterval) }
            set { values.options[.rateInterval] = newValue.settingMilliseconds }
        }
        /// The maximum size of a body collected in memory, after decoding. Default: 64 MiB.
        public var maxBodyBytes: Int64 {
            get { values.options[.maxBodyBytes] }
            set { values.options[.maxBodyBytes] = newValue }
        }
        /// The minimum speed of a download in bytes per second. A download that is slower for
        /// `stallTimeout` has stalled and is retried. Default: 1,000. With 0, only the idle timeout
        /// applies.
        public var stallBytesPerSecond: Int64 {
            get { values.options[.stallSpeed] }
            set { values.options[.stallSpeed] = newValue }
        }
        /// Whether to accept every certificate. For tests only: prints one warning per process to
        /// standard error. Default: false.
        public var isInsecure: Bool {
            get { values.options[.insecure] == 1 }
            set { values.options[.insecure] = newValue ? 1 : 0 }
        }
        /// The path of a PEM file of CA certificates to trust instead of the system's.
        public var caFile: String? {
            get { values.texts[.caFile] }
            set { values.texts[.caFile] = newValue }
        }
        /// The URL of a proxy for all requests, with the scheme http, https, socks4, socks4a,
        /// socks5, or socks5h. "" uses no proxy. Any other value is `bad_value`. Default: `nil`,
        /// which reads the environment (`http_proxy`, `https_proxy`, `all_proxy`) when the client
        /// is created.
        public var proxy: String? {
            get { values.texts[.proxy] }
            set { values.texts[.proxy] = newValue }
        }
        /// The proxy for http URLs. "" uses none. Default: `nil`, which uses ``proxy``.
        public var proxyHTTP: String? {
            get { values.texts[.proxyHTTP] }
            set { values.texts[.proxyHTTP] = newValue }
        }
        /// The proxy for https URLs. "" uses none. Default: `nil`, which uses ``proxy``.
        public var proxyHTTPS: String? {
            get { values.texts[.proxyHTTPS] }
            set { values.texts[.proxyHTTPS] = newValue }
        }
        /// `name:password` for all proxies, sent as Basic to proxies only. Overrides the user
        /// information in proxy URLs. Default: none.
        public var proxyCredentials: String? {
            get { values.texts[.proxyCredentials] }
            set { values.texts[.proxyCredentials] = newValue }
        }
        /// The hosts to connect to without a proxy. Default: `nil`, which reads `no_proxy` from the
        /// environment when the client is created.
        ///
        /// An entry is a name (`example.org` or `.example.org`: the host and all hosts below it),
        /// an address, a network (`10.0.0.0/8`, `fe80::/10`), or `*` for every host. A port
        /// restricts an entry: `example.org:8080`, `[::1]:8080`. Any other value is `bad_value`.
        public var noProxy: [String]? {
            get { values.texts[.noProxy]?.split(separator: ",").map(String.init) }
            set { values.texts[.noProxy] = newValue?.joined(separator: ",") }
        }
        /// Known addresses of hosts, used instead of a name lookup (C19). An entry is
        /// `host:port:address[,address]...` as for `curl --resolve`; `*` is every host. The host
        /// name, also for the certificate check, does not change. Default: none.
        public var resolve: [String] {
            get { values.texts[.resolve]?.split(separator: " ").map(String.init) ?? [] }
            set { values.texts[.resolve] = newValue.isEmpty ? nil : newValue.joined(separator: " ") }
        }
        /// The network interface ("eth0") or local address of outgoing connections. Default: chosen
        /// by the system.
        public var interface: String? {
            get { values.texts[.interface] }
            set { values.texts[.interface] = newValue }
        }
        /// The absolute path of a Unix socket for all connections, whatever the URL's host.
        /// Disables proxies. Default: none.
        public var unixSocket: String? {
            get { values.texts[.unixSocket] }
            set { values.texts[.unixSocket] = newValue }
        }
        /// The name of the storage folder in the user's cache directory. Default: the program's
        /// name.
        public var storageName: String? {
            get { values.texts[.storageName] }
            set { values.texts[.storageName] = newValue }
        }
        /// The absolute path of the storage folder, instead of ``storageName``. Default: none.
        public var storageDirectory: String? {
            get { values.texts[.storageDirectory] }
            set { values.texts[.storageDirectory] = newValue }
        }
        /// Whether to store responses and answer requests from the HTTP cache (RFC 9111). See
        /// ``Request/cachePolicy``. Default: false, which lets only requests with a cache policy
        /// use the cache.
        public var usesHTTPCache: Bool {
            get { values.options[.httpCache] == 1 }
            set { values.options[.httpCache] = newValue ? 1 : 0 }
        }
        /// The maximum size of each of the two caches on disk, in bytes. The least recently used
        /// entries are removed first. A response larger than an eighth of the size is not stored.
        /// Default: 256 MiB.
        public var cacheMaxBytes: Int64 {
            get { values.options[.cacheMaxBytes] }
            set { values.options[.cacheMaxBytes] = newValue }
        }
        /// The maximum size of the responses that each of the two caches keeps in memory, in bytes.
        /// 0 keeps none. Default: 16 MiB.
        public var cacheMemoryBytes: Int64 {
            get { values.options[.cacheMemoryBytes] }
            set { values.options[.cacheMemoryBytes] = newValue }
        }
        /// Whether to write all events to standard error, without secrets and bodies. Default:
        /// false, which writes only the warning about `isInsecure`. The environment variable
        /// `WHERRY_LOG` also enables logging; see docs/logging.md.
        public var isDebugging: Bool {
            get { values.options[.debug] == 1 }
            set { values.options[.debug] = newValue ? 1 : 0 }
        }

        /// The names of headers, parameters, and JSON members with secret values. Logs,
        /// descriptions, and ``Client/curlCommand(of:revealingSecrets:)`` leave these values out.
        /// Authorization, Cookie, and names that contain words such as token, secret, or password
        /// are always secret. Case, `-`, and `_` are ignored. Default: none.
        public var secretNames: Set<String> {
            get { values.secretNames }
            set { values.secretNames = newValue }
        }

        private func duration(_ option: Option) -> Duration {
            .milliseconds(values.options[option])
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
