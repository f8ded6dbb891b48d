// Wherry: the options with text values.
// SPDX-License-Identifier: Apache-2.0
// Written by scripts/make-options from options.toml.

/// An option with a text value. The raw values are those of `wherry_text_option`.
package enum TextOption: Int32, CaseIterable, Sendable {
    /// The base URL against which relative URLs are resolved (RFC 3986).
    case baseURL = 1
    /// The application's version.
    case appVersion = 2
    /// The User-Agent header.
    case userAgent = 3
    /// The name of the storage directory in the user's cache directory.
    case storageName = 4
    /// The absolute path of the storage directory, used instead of `storage_name`.
    case storageDirectory = 5
    /// The application's name for `user_agent`.
    case appName = 6
    /// The URL of a proxy for all requests, with the scheme http, https, socks4, socks4a, socks5,
    /// or socks5h. "" uses no proxy.
    case proxy = 7
    /// `name:password` for all proxies, sent as Basic to proxies only.
    case proxyCredentials = 8
    /// The hosts to connect to without a proxy.
    case noProxy = 9
    /// The path of a PEM file of CA certificates to trust instead of the system's.
    case caFile = 10
    /// The folders of CA certificates to trust instead of the system's, separated by ":" and hashed
    /// with `openssl rehash`.
    case caDirectory = 11
    /// The path of a PEM file of revocation lists.
    case crlFile = 12
    /// The token of `Authorization: Bearer`.
    case bearerToken = 14
    /// A name that you choose for a group of transfers.
    case tag = 15
    /// The names of the form fields of images: `index` (`photo0`, `photo1`), `repeat` (`photo`), or
    /// `brackets` (`photo[]`).
    case imageNames = 16
    /// The content type of JPEG images.
    case jpegType = 17
    /// The path of `wherry-agent`.
    case agentPath = 18
    /// The absolute path of a session's directory.
    case stateDirectory = 19
    /// Known addresses of hosts, used instead of a name lookup.
    case resolve = 20
    /// The network interface ("eth0") or local address of outgoing connections.
    case interface = 21
    /// The absolute path of a Unix socket for all connections, regardless of the URL's host.
    case unixSocket = 22
    /// The proxy for http URLs. "" uses none.
    case proxyHTTP = 23
    /// The proxy for https URLs. "" uses none.
    case proxyHTTPS = 24
    /// The path of a .netrc file with credentials by host.
    case netrc = 25
}

extension TextOption {
    /// The name, scope, and kind of text.
    package var declaration: Declaration {
        switch self {
        case .baseURL:
            Declaration("base_url", [.build, .live])
        case .appVersion:
            Declaration("app_version", [.build, .live])
        case .userAgent:
            Declaration("user_agent", [.build, .live])
        case .storageName:
            Declaration("storage_name", [.build])
        case .storageDirectory:
            Declaration("storage_directory", [.build], isPath: true)
        case .appName:
            Declaration("app_name", [.build, .live])
        case .proxy:
            Declaration("proxy", [.build])
        case .proxyCredentials:
            Declaration("proxy_credentials", [.build])
        case .noProxy:
            Declaration("no_proxy", [.build])
        case .caFile:
            Declaration("ca_file", [.build], isPath: true)
        case .caDirectory:
            Declaration("ca_directory", [.build], isPath: true)
        case .crlFile:
            Declaration("crl_file", [.build], isPath: true)
        case .bearerToken:
            Declaration("bearer_token", [.build, .live, .request])
        case .tag:
            Declaration("tag", [.request])
        case .imageNames:
            Declaration("image_names", [.build, .live, .request])
        case .jpegType:
            Declaration("jpeg_type", [.build, .live, .request])
        case .agentPath:
            Declaration("agent_path", [.build], isPath: true)
        case .stateDirectory:
            Declaration("state_directory", [.build], isPath: true)
        case .resolve:
            Declaration("resolve", [.build])
        case .interface:
            Declaration("interface", [.build])
        case .unixSocket:
            Declaration("unix_socket", [.build], isPath: true)
        case .proxyHTTP:
            Declaration("proxy_http", [.build])
        case .proxyHTTPS:
            Declaration("proxy_https", [.build])
        case .netrc:
            Declaration("netrc", [.build], isPath: true)
        }
    }
}
