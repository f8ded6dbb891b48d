// Wherry: names, places, and valid values of options with texts.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherrySystem
import WherryTransport

extension TextOption {
    /// What options.toml declares of an option.
    package struct Declaration: Sendable {
        /// The name in settings files and errors, as in Python. Swift uses it in camel case.
        package let name: String
        package let scope: Option.Scope
        /// Whether the value is a path, whose bytes need not be UTF-8.
        package let isPath: Bool

        init(_ name: String, _ scope: Option.Scope, isPath: Bool = false) {
            self.name = name
            self.scope = scope
            self.isPath = isPath
        }
    }

    package var scope: Option.Scope { declaration.scope }
    package var isPath: Bool { declaration.isPath }

    /// All options by name.
    package static let named = Dictionary(
        uniqueKeysWithValues: allCases.map { ($0.declaration.name, $0) })

    /// The options that a configuration accepts, by name.
    package static let settings = named.filter { $0.value.scope.contains(.build) }

    /// Validates a value for the given place.
    package func check(_ value: String?, in place: Option.Scope) throws(WherryError) {
        guard scope.contains(place) else {
            throw WherryError(.badOption, "The option \(self) cannot be set here")
        }
        guard let value else { return }
        switch self {
        case .userAgent, .bearerToken, .jpegType:
            if let violation = FieldRules.violation(value: value, of: "\(self)") {
                throw WherryError(.badHeader, violation.message)
            }
        case .imageNames:
            guard ["index", "repeat", "brackets"].contains(value) else {
                throw WherryError(
                    .badValue,
                    "\(self) must be \"index\", \"repeat\", or \"brackets\", not \"\(value)\"")
            }
        case .storageName:
            guard !value.isEmpty, value != ".", value != "..", !value.utf8.contains(0x2F),
                value.utf8.count <= 255
            else {
                throw WherryError(
                    .badValue,
                    "The storage name \"\(value)\" is not a file name. Use 1 to 255 bytes without a slash."
                )
            }
        case .storageDirectory, .agentPath, .stateDirectory, .unixSocket:
            guard value.utf8.first == 0x2F else {
                throw WherryError(.badPath, "\(self) must be an absolute path, not \"\(value)\"")
            }
            // The size of sockaddr_un.sun_path.
            let count = PathText.bytes(value).count
            guard self != .unixSocket || count < 108 else {
                throw WherryError(
                    .badPath,
                    "The socket path \"\(value)\" is too long: it has \(count) bytes, and the limit is 107. Use a shorter path."
                )
            }
        case .proxy, .proxyHTTP, .proxyHTTPS:
            guard value.isEmpty || ProxyURL(value) != nil else {
                throw WherryError(
                    .badValue,
                    "\(self) is not a proxy URL: \"\(HTTPURL.redacted(value))\". Use a URL such as http://host:8080 "
                        + "(or https, socks4, socks4a, socks5, socks5h), or an empty text for no proxy."
                )
            }
        case .noProxy:
            guard let word = ProxyExceptions(value).invalid.first else { return }
            throw WherryError(
                .badValue,
                "\"\(HTTPURL.redacted(word))\", in the list of hosts without a proxy, is not a host, address, or "
                    + "network. Write example.org, example.org:8080, 10.0.0.0/8, [::1], or *."
            )
        case .proxyCredentials:
            guard value.utf8.contains(0x3A),
                !value.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F })
            else {
                throw WherryError(
                    .badValue,
                    "The credentials of the proxy are not valid. Use \"name:password\" without control characters."
                )
            }
        case .appName:
            guard !value.isEmpty, value.utf8.count <= 256 else {
                throw WherryError(.badValue, "The name of the application must have 1 to 256 bytes")
            }
        case .resolve: _ = try ResolvedHost.all(in: value)
        case .baseURL: _ = try HTTPURL.base(value)
        default: break
        }
    }
}

extension TextOption: CustomStringConvertible {
    /// The name.
    package var description: String { declaration.name }
}
