// Wherry: how a client is made.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem
import WherryTransport

extension Client {
    /// Every setting of a client, with its default. Times are durations; zero is none.
    public struct Configuration: Sendable {
        package var values = ClientSettings.Values()
        /// The transport to use instead of the network's, for tests.
        package var stub: StubTransport?
        /// What tells of networks; tests hand in one of their own.
        package var networks: ReachabilityCenter?
        /// What time is told by; tests hand in one that they move.
        package var clock: any Clock = SystemClock.shared

        /// Every setting at its default.
        public init() {}

        /// Joined with relative URLs by RFC 3986, a slash added if it has none. None by default.
        public var baseURL: String? {
            get { values.texts[.baseURL] }
            set { values.texts[.baseURL] = newValue }
        }
        /// Further base URLs, which requests take by name: `request.base = "cdn"`. None by default.
        public var bases: [String: String] {
            get { values.bases }
            set { values.bases = newValue }
        }
        /// What is stored under another version counts as missing. "1" by default.
        public var appVersion: String {
            get { values.texts[.appVersion] ?? "1" }
            set { values.texts[.appVersion] = newValue }
        }
        /// What the application is called, for ``userAgent``. Accents are left out, and what is not
        /// ASCII then is escaped as in URLs. None by default.
        public var appName: String? {
            get { values.texts[.appName] }
            set { values.texts[.appName] = newValue }
        }
        /// Tells servers the user's languages by Accept-Language, as the environment has them
        /// (`LANGUAGE`, `LC_ALL`, `LC_MESSAGES`, `LANG`). A field of one's own goes before it. Off.
        public var sendsLanguages: Bool {
            get { values.options[.sendLanguages] == 1 }
            set { values.options[.sendLanguages] = newValue ? 1 : 0 }
        }
        /// The User-Agent field; by default "Wherry/<version>", and with ``appName``
        /// "name/appVersion (Linux x86_64) Wherry/<version>" (C10).
        public var userAgent: String {
            get { BuiltInFields.userAgent(values) }
            set { values.texts[.userAgent] = newValue }
        }
        /// Fields of every request, under the request's own.
        public var headers: Headers {
            get { values.headers }
            set { values.headers = newValue }
        }
        /// Default parameters of every request except downloads; a parameter of the request wins (C5). With
        /// GET, HEAD, and DELETE they go into the query. With other methods they become a JSON body, or
        /// fields of a form or of parts. Beside a body that you made (JSON, bytes, a file, a stream) they
        /// go into the query.
        public var parameters: JSONObject {
            get { values.parameters }
            set { values.parameters = newValue }
        }
        /// Sent as `Authorization: Bearer`.
        public var bearerToken: String? {
            get { values.texts[.bearerToken] }
            set { values.texts[.bearerToken] = newValue }
        }
        /// A user name and a password for the origin that a request names; none by default.
        public var credentials: Credentials? {
            get { values.credentials[""] }
            set { values.credentials[""] = newValue }
        }
        /// User names and passwords by origin: "https://host:port", or any URL there. They go before
        /// ``credentials``, and also where a redirect leads to such an origin. None by default.
        public var originCredentials: [String: Credentials] {
            get { values.credentials.filter { !$0.key.isEmpty } }
            set {
                let common = credentials
                values.credentials = newValue
                credentials = common
            }
        }
        /// The path of a .netrc file with user names and passwords by host; `~/` at its beginning is the
        /// home directory. Default: `nil` or "", which reads no file.
        ///
        /// The file is read when the client is made. A file that is missing or cannot be parsed is an
        /// error then. Passwords are sent as Basic with the first request, also to the hosts that
        /// redirects lead to. ``credentials``, ``bearerToken``, an Authorization header, and those of the
        /// request win. The permissions of the file are not checked.
        public var netrc: String? {
            get { values.texts[.netrc] }
            set { values.texts[.netrc] = newValue }
        }
        /// Whether cookies are kept and sent back: on. See ``Client/cookies``.
        public var usesCookies: Bool {
            get { values.options[.cookies] == 1 }
            set { values.options[.cookies] = newValue ? 1 : 0 }
        }
        /// Time without a byte in either direction: 20 s.
        public var idleTimeout: Duration {
            get { duration(.idleTimeout) }
            set { values.options[.idleTimeout] = newValue.settingMilliseconds }
        }
        /// Name lookup, connection and handshake: 10 s.
        public var connectTimeout: Duration {
            get { duration(.connectTimeout) }
            set { values.options[.connectTimeout] = newValue.settingMilliseconds }
        }
        /// From the last byte sent to the first received: 30 s.
        ///
        /// That wait is silence too: but for downloads, ``idleTimeout`` ends it where it is shorter.
        public var firstByteTimeout: Duration {
            get { duration(.firstByteTimeout) }
            set { values.options[.firstByteTimeout] = newValue.settingMilliseconds }
        }
        /// All of a transfer, redirects and retries too: none.
        public var totalTimeout: Duration {
            get { duration(.totalTimeout) }
            set { values.options[.totalTimeout] = newValue.settingMilliseconds }
        }
        /// 10; 0 makes a redirect the answer.
        public var maxRedirects: Int {
            get { Int(values.options[.maxRedirects]) }
            set { values.options[.maxRedirects] = Int64(newValue) }
        }
        /// Connections to one origin: 6.
        public var maxPerHost: Int {
            get { Int(values.options[.maxPerHost]) }
            set { values.options[.maxPerHost] = Int64(newValue) }
        }
        /// Connections in all: 32.
        public var maxConnections: Int {
            get { Int(values.options[.maxConnections]) }
            set { values.options[.maxConnections] = Int64(newValue) }
        }
        /// How many requests may start in ``rateInterval``; the others wait for their turn, by
        /// their ``Request/priority``. 0, the default, is no limit. A bucket of tokens: they come at
        /// even distances, and so many as ``rateBurst`` says are kept. 1,000,000 at most.
        ///
        /// What goes out counts: redirects, attempts again and the parts of a download too, but not
        /// what a cache answers. Further connections of a download whose number was set count and
        /// do not wait. ``totalTimeout`` covers the wait.
        public var rateLimit: Int {
            get { Int(values.options[.rateLimit]) }
            set { values.options[.rateLimit] = Int64(newValue) }
        }
        /// The same for each origin (scheme, host and port) by itself, beside ``rateLimit``: no limit.
        public var hostRateLimit: Int {
            get { Int(values.options[.hostRateLimit]) }
            set { values.options[.hostRateLimit] = Int64(newValue) }
        }
        /// How many requests may start at once after a quiet time, 10,000 at most; 0, the default: as
        /// many as may in ``rateInterval``.
        public var rateBurst: Int {
            get { Int(values.options[.rateBurst]) }
            set { values.options[.rateBurst] = Int64(newValue) }
        }
        /// The span of time of ``rateLimit`` and ``hostRateLimit``: a second; at most a day.
        public var rateInterval: Duration {
            get { duration(.rateInterval) }
            set { values.options[.rateInterval] = newValue.settingMilliseconds }
        }
        /// The largest body collected in memory, decoded: 64 MiB.
        public var maxBodyBytes: Int64 {
            get { values.options[.maxBodyBytes] }
            set { values.options[.maxBodyBytes] = newValue }
        }
        /// A download that moves less than this over `stallTimeout` has stalled, and is tried again: 1,000;
        /// 0 waits for the idle timeout alone.
        public var stallBytesPerSecond: Int64 {
            get { values.options[.stallSpeed] }
            set { values.options[.stallSpeed] = newValue }
        }
        /// Trusts anybody: no certificate is checked, which standard error is told once in a process.
        /// Off; for tests only.
        public var isInsecure: Bool {
            get { values.options[.insecure] == 1 }
            set { values.options[.insecure] = newValue ? 1 : 0 }
        }
        /// A file of PEM certificates to trust instead of the system's.
        public var caFile: String? {
            get { values.texts[.caFile] }
            set { values.texts[.caFile] = newValue }
        }
        /// The URL of a proxy for every request. Its scheme is http, https, socks4, socks4a, socks5, or
        /// socks5h. "" uses no proxy. Default: `nil`, which reads the environment (`http_proxy`,
        /// `https_proxy`, `all_proxy`) when the client is made. Anything else is `bad_value`.
        public var proxy: String? {
            get { values.texts[.proxy] }
            set { values.texts[.proxy] = newValue }
        }
        /// The proxy for http URLs. "" uses none. Default: `nil`, which takes ``proxy``.
        public var proxyHTTP: String? {
            get { values.texts[.proxyHTTP] }
            set { values.texts[.proxyHTTP] = newValue }
        }
        /// The proxy for https URLs. "" uses none. Default: `nil`, which takes ``proxy``.
        public var proxyHTTPS: String? {
            get { values.texts[.proxyHTTPS] }
            set { values.texts[.proxyHTTPS] = newValue }
        }
        /// `name:password` for every proxy, sent as Basic to proxies only. Overrides the user
        /// information in their URLs. None by default.
        public var proxyCredentials: String? {
            get { values.texts[.proxyCredentials] }
            set { values.texts[.proxyCredentials] = newValue }
        }
        /// Hosts that are connected to without a proxy. Default: `nil`, which reads `no_proxy` from the
        /// environment when the client is made.
        ///
        /// An entry is a name (`example.org` or `.example.org`: the host and all hosts below it), an
        /// address, a network (`10.0.0.0/8`, `fe80::/10`), or `*` for every host. A port restricts it:
        /// `example.org:8080`, `[::1]:8080`. Anything else is `bad_value`.
        public var noProxy: [String]? {
            get { values.texts[.noProxy]?.split(separator: ",").map(String.init) }
            set { values.texts[.noProxy] = newValue?.joined(separator: ",") }
        }
        /// Addresses of hosts, which are not looked up then (C19): `host:port:address[,address]...`
        /// as for `curl --resolve`; `*` is every host. What the host is called, for its certificate
        /// too, stays. None by default.
        public var resolve: [String] {
            get { values.texts[.resolve]?.split(separator: " ").map(String.init) ?? [] }
            set { values.texts[.resolve] = newValue.isEmpty ? nil : newValue.joined(separator: " ") }
        }
        /// The network interface ("eth0") or the address of this machine by which connections go out.
        /// The system's choice by default.
        public var interface: String? {
            get { values.texts[.interface] }
            set { values.texts[.interface] = newValue }
        }
        /// The absolute path of a Unix socket to which every connection goes, whatever the URL's host;
        /// no proxy is used then. None by default.
        public var unixSocket: String? {
            get { values.texts[.unixSocket] }
            set { values.texts[.unixSocket] = newValue }
        }
        /// The name of the folder under the user's cache directory; the program's by default.
        public var storageName: String? {
            get { values.texts[.storageName] }
            set { values.texts[.storageName] = newValue }
        }
        /// An absolute path instead of a name.
        public var storageDirectory: String? {
            get { values.texts[.storageDirectory] }
            set { values.texts[.storageDirectory] = newValue }
        }
        /// Keeps answers as RFC 9111 says, and serves requests with them: see
        /// ``Request/cachePolicy``. Off; then only requests that ask for it use it.
        public var usesHTTPCache: Bool {
            get { values.options[.httpCache] == 1 }
            set { values.options[.httpCache] = newValue ? 1 : 0 }
        }
        /// How many bytes a cache may have on disk: 256 MiB, for each of the two. What was used
        /// longest ago goes first; an answer of more than an eighth is not stored.
        public var cacheMaxBytes: Int64 {
            get { values.options[.cacheMaxBytes] }
            set { values.options[.cacheMaxBytes] = newValue }
        }
        /// How many bytes of stored answers a cache holds in memory: 16 MiB, for each of the two;
        /// 0 holds none.
        public var cacheMemoryBytes: Int64 {
            get { values.options[.cacheMemoryBytes] }
            set { values.options[.cacheMemoryBytes] = newValue }
        }
        /// Writes everything that happens to standard error, without secrets and bodies. Off; then
        /// nothing but the word about `isInsecure` is written. `WHERRY_LOG` in the environment writes
        /// too: see docs/logging.md.
        public var isDebugging: Bool {
            get { values.options[.debug] == 1 }
            set { values.options[.debug] = newValue ? 1 : 0 }
        }

        /// Names of header fields, parameters and members of JSON whose values logs, descriptions and
        /// ``Client/curlCommand(of:revealingSecrets:)`` leave out, beside those that always are:
        /// Authorization, Cookie, and whatever has token, secret, password and the like in its name.
        /// Case, `-` and `_` do not count. None by default.
        public var secretNames: Set<String> {
            get { values.secretNames }
            set { values.secretNames = newValue }
        }

        private func duration(_ option: Option) -> Duration {
            .milliseconds(values.options[option])
        }

        /// Checks every setting.
        package func check() throws(WherryError) {
            for option in Option.allCases where values.options[option] != option.defaultValue {
                try option.check(values.options[option], in: option.scope)
            }
            for (option, text) in values.texts { try option.check(text, in: option.scope) }
            for field in values.headers.fields { try Headers.check(field.name, field.value) }
        }

        /// What connections have in common, with every file of the policy of trust read.
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
