// Wherry: the settings of a client that are one option each.
// SPDX-License-Identifier: Apache-2.0
// Written by scripts/make-options from options.toml.

import WherryRequests

extension Client.Configuration {
    /// The maximum time without a byte in either direction. Zero: no limit. Default: 20 s.
    public var idleTimeout: Duration {
        get { .milliseconds(values.options[.idleTimeout]) }
        set { values.options[.idleTimeout] = newValue.settingMilliseconds }
    }
    /// The maximum time for name lookup, connection, and handshakes together. 0: libcurl's default
    /// of 300 s. Default: 10 s.
    public var connectTimeout: Duration {
        get { .milliseconds(values.options[.connectTimeout]) }
        set { values.options[.connectTimeout] = newValue.settingMilliseconds }
    }
    /// The maximum time from the last byte sent to the first byte received. Zero: no limit.
    /// Default: 30 s.
    ///
    /// A shorter ``idleTimeout`` also limits this wait, except for downloads.
    public var firstByteTimeout: Duration {
        get { .milliseconds(values.options[.firstByteTimeout]) }
        set { values.options[.firstByteTimeout] = newValue.settingMilliseconds }
    }
    /// The maximum time of a transfer, including redirects and retries. Zero: no limit. Default:
    /// none.
    public var totalTimeout: Duration {
        get { .milliseconds(values.options[.totalTimeout]) }
        set { values.options[.totalTimeout] = newValue.settingMilliseconds }
    }
    /// The maximum number of redirects. 0 returns the redirect response. Range: 0 to 100. Default:
    /// 10.
    public var maxRedirects: Int {
        get { Int(values.options[.maxRedirects]) }
        set { values.options[.maxRedirects] = Int64(newValue) }
    }
    /// Whether to send the user's languages as Accept-Language, taken from the environment
    /// (`LANGUAGE`, `LC_ALL`, `LC_MESSAGES`, `LANG`). A header that you set overrides it. Default:
    /// false.
    public var sendsLanguages: Bool {
        get { values.options[.sendLanguages] == 1 }
        set { values.options[.sendLanguages] = newValue ? 1 : 0 }
    }
    /// The maximum size in bytes of a body collected in memory, after decoding. Default: 64 MiB.
    public var maxBodyBytes: Int64 {
        get { values.options[.maxBodyBytes] }
        set { values.options[.maxBodyBytes] = newValue }
    }
    /// The maximum number of connections to one origin. Range: 1 to 100,000. Default: 6.
    public var maxPerHost: Int {
        get { Int(values.options[.maxPerHost]) }
        set { values.options[.maxPerHost] = Int64(newValue) }
    }
    /// The maximum number of connections. Range: 1 to 100,000. Default: 32.
    public var maxConnections: Int {
        get { Int(values.options[.maxConnections]) }
        set { values.options[.maxConnections] = Int64(newValue) }
    }
    /// Whether requests without a cache policy use the HTTP cache (RFC 9111). Default: false.
    public var usesHTTPCache: Bool {
        get { values.options[.httpCache] == 1 }
        set { values.options[.httpCache] = newValue ? 1 : 0 }
    }
    /// The maximum size in bytes of each of the two caches on disk. The least recently used entries
    /// are removed first. A response larger than an eighth of the size is not stored. Default:
    /// 256 MiB.
    public var cacheMaxBytes: Int64 {
        get { values.options[.cacheMaxBytes] }
        set { values.options[.cacheMaxBytes] = newValue }
    }
    /// The maximum size in bytes of the responses that each of the two caches keeps in memory.
    /// 0 keeps none. Default: 16 MiB.
    public var cacheMemoryBytes: Int64 {
        get { values.options[.cacheMemoryBytes] }
        set { values.options[.cacheMemoryBytes] = newValue }
    }
    /// The maximum size in bytes of the decoded images that the image loader keeps in memory. The
    /// least recently used ones are removed first. 0 keeps none. Default: 64 MiB.
    public var imageMemoryBytes: Int64 {
        get { values.options[.imageMemoryBytes] }
        set { values.options[.imageMemoryBytes] = newValue }
    }
    /// The maximum number of requests per ``rateInterval``. Further requests wait in the order of
    /// their `priority`. 0: no limit. Range: 0 to 1,000,000. Default: 0.
    ///
    /// The limit is a token bucket: tokens arrive at even intervals, and at most ``rateBurst`` of
    /// them are saved. Redirects, retries, and the segments of a download count; cache hits do not.
    /// If the number of connections of a download was set, its additional connections count but do
    /// not wait. ``totalTimeout`` includes the wait.
    public var rateLimit: Int {
        get { Int(values.options[.rateLimit]) }
        set { values.options[.rateLimit] = Int64(newValue) }
    }
    /// The maximum number of requests per ``rateInterval`` to each origin (scheme, host, and port),
    /// in addition to ``rateLimit``. 0: no limit. Range: 0 to 1,000,000. Default: 0.
    public var hostRateLimit: Int {
        get { Int(values.options[.hostRateLimit]) }
        set { values.options[.hostRateLimit] = Int64(newValue) }
    }
    /// The maximum number of requests that may start at once after an idle period. 0: the number
    /// that may start in one ``rateInterval``. Range: 0 to 10,000. Default: 0.
    public var rateBurst: Int {
        get { Int(values.options[.rateBurst]) }
        set { values.options[.rateBurst] = Int64(newValue) }
    }
    /// The interval of ``rateLimit`` and ``hostRateLimit``. Range: 0.001 s to 86400 s. Default:
    /// 1 s.
    public var rateInterval: Duration {
        get { .milliseconds(values.options[.rateInterval]) }
        set { values.options[.rateInterval] = newValue.settingMilliseconds }
    }
    /// Whether to accept every certificate. For tests only: prints one warning per process to
    /// standard error. Default: false.
    public var isInsecure: Bool {
        get { values.options[.insecure] == 1 }
        set { values.options[.insecure] = newValue ? 1 : 0 }
    }
    /// The minimum speed of a download in bytes per second. A download that is slower for
    /// `stallTimeout` has stalled and is retried. With 0, only the idle timeout applies. Default:
    /// 1,000.
    public var stallBytesPerSecond: Int64 {
        get { values.options[.stallSpeed] }
        set { values.options[.stallSpeed] = newValue }
    }
    /// Whether to write all events to standard error, without secrets or bodies. A new value
    /// applies immediately. Default: false.
    ///
    /// The warning about ``isInsecure`` is written in any case. The environment variable
    /// `WHERRY_LOG` also enables logging; see docs/logging.md.
    public var isDebugging: Bool {
        get { values.options[.debug] == 1 }
        set { values.options[.debug] = newValue ? 1 : 0 }
    }
    /// The base URL against which relative URLs are resolved (RFC 3986). A missing trailing slash
    /// is added. Default: none.
    public var baseURL: String? {
        get { values.texts[.baseURL] }
        set { values.texts[.baseURL] = newValue }
    }
    /// The application's version. Cache entries of other versions are misses. Default: "1".
    public var appVersion: String {
        get { values.texts[.appVersion] ?? "1" }
        set { values.texts[.appVersion] = newValue }
    }
    /// The name of the storage directory in the user's cache directory. Default: the program's
    /// name.
    public var storageName: String? {
        get { values.texts[.storageName] }
        set { values.texts[.storageName] = newValue }
    }
    /// The absolute path of the storage directory, used instead of ``storageName``. Default: none.
    public var storageDirectory: String? {
        get { values.texts[.storageDirectory] }
        set { values.texts[.storageDirectory] = newValue }
    }
    /// The application's name for ``userAgent``. Accents are removed, and other non-ASCII
    /// characters are percent-encoded. Default: none.
    public var appName: String? {
        get { values.texts[.appName] }
        set { values.texts[.appName] = newValue }
    }
    /// The URL of a proxy for all requests, with the scheme http, https, socks4, socks4a, socks5,
    /// or socks5h. "" uses no proxy. Default: from the environment.
    ///
    /// Any other value fails with `bad_value`. If this option is not set, the client reads the
    /// environment (`http_proxy`, `https_proxy`, `all_proxy`) when it is created.
    public var proxy: String? {
        get { values.texts[.proxy] }
        set { values.texts[.proxy] = newValue }
    }
    /// `name:password` for all proxies, sent as Basic to proxies only. Overrides the user
    /// information in proxy URLs. Default: none.
    public var proxyCredentials: String? {
        get { values.texts[.proxyCredentials] }
        set { values.texts[.proxyCredentials] = newValue }
    }
    /// The path of a PEM file of CA certificates to trust instead of the system's. Default: none.
    public var caFile: String? {
        get { values.texts[.caFile] }
        set { values.texts[.caFile] = newValue }
    }
    /// The token of `Authorization: Bearer`. Default: none.
    public var bearerToken: String? {
        get { values.texts[.bearerToken] }
        set { values.texts[.bearerToken] = newValue }
    }
    /// The network interface ("eth0") or local address of outgoing connections. Default: chosen by
    /// the system.
    public var interface: String? {
        get { values.texts[.interface] }
        set { values.texts[.interface] = newValue }
    }
    /// The absolute path of a Unix socket for all connections, regardless of the URL's host.
    /// Proxies are then not used. Default: none.
    public var unixSocket: String? {
        get { values.texts[.unixSocket] }
        set { values.texts[.unixSocket] = newValue }
    }
    /// The proxy for http URLs. "" uses none. Default: ``proxy``.
    public var proxyHTTP: String? {
        get { values.texts[.proxyHTTP] }
        set { values.texts[.proxyHTTP] = newValue }
    }
    /// The proxy for https URLs. "" uses none. Default: ``proxy``.
    public var proxyHTTPS: String? {
        get { values.texts[.proxyHTTPS] }
        set { values.texts[.proxyHTTPS] = newValue }
    }
    /// The path of a .netrc file with credentials by host. A leading `~/` stands for the home
    /// directory. "" reads no file. Default: none.
    ///
    /// The file is read when the client is created. At that time, a missing or malformed file is an
    /// error. Passwords are sent preemptively as Basic, including to hosts that redirects lead to.
    /// ``credentials``, ``bearerToken``, an Authorization header, and the request's own credentials
    /// override the file. The permissions of the file are not checked.
    public var netrc: String? {
        get { values.texts[.netrc] }
        set { values.texts[.netrc] = newValue }
    }
}
