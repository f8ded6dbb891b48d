// Wherry: the options of clients and requests.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherrySystem
import WherryTransport

/// An option with a numeric value. The raw values are those of `wherry_option`.
package enum Option: Int32, CaseIterable, Sendable {
    case idleTimeout = 1
    case connectTimeout = 2
    case firstByteTimeout = 3
    case totalTimeout = 4
    case decisionTimeout = 5
    case maxRedirects = 10
    case keepAuthAcrossHosts = 11
    case maxRetries = 12
    case retryUnsafeMethods = 13
    case sendLanguages = 14
    case waitForNetwork = 15
    case httpVersion = 16
    case acceptStatusMin = 17
    case acceptStatusMax = 18
    case compressed = 19
    case maxBodyBytes = 20
    case maxHeaderBytes = 21
    case maxSendSpeed = 22
    case maxReceiveSpeed = 23
    case maxDownloadSpeed = 24
    case defaultParameters = 25
    case ignoreBase = 26
    case jsonOnly = 27
    case arrayStyle = 28
    case cookies = 29
    case priority = 30
    case rewindableBody = 31
    case wantHead = 32
    case wantProgress = 33
    case unreadableImages = 34
    case separateImages = 35
    case imageRetries = 36
    case extendedNames = 37
    case bodyDigest = 38
    case partDigests = 39
    case maxPerHost = 40
    case maxConnections = 41
    case maxDownloads = 42
    case memberStyle = 43
    case boolStyle = 44
    case coalesce = 45
    case bodyCoding = 46
    case denyMetered = 47
    case bodyCodingMinBytes = 48
    case codedBody = 49
    case httpCache = 50
    case cacheMaxBytes = 51
    case cacheMemoryBytes = 52
    case rateLimit = 53
    case hostRateLimit = 54
    case rateBurst = 55
    case rateInterval = 56
    case denyAddresses = 59
    case insecure = 60
    case httpsOnly = 61
    case ignoreProxyEnvironment = 62
    case requireTLS13 = 63
    case requireStaple = 64
    case allowInvalid = 65
    case checkName = 66
    case pinMode = 67
    case requirePins = 68
    case reportPins = 69
    case resume = 70
    case targetExists = 71
    case targetIsDirectory = 72
    case makeDirectories = 73
    case segments = 74
    case durability = 75
    case stallSpeed = 76
    case stallTimeout = 77
    case partialOf = 78
    case maxRetryAfter = 79
    case debug = 80
    case autostart = 81
    case agentIdle = 82
    case keepServerTime = 90
    case requireVerifiedLength = 100
    case keepAlive = 130
    case cacheStream = 131

    /// Whether the option is a switch that accepts `true` and `false`.
    var isSwitch: Bool { range.upperBound == 1 || self == .compressed || self == .cookies }

    /// Whether the option is part of the request rate limit.
    var isOfRequestRate: Bool {
        switch self {
        case .rateLimit, .hostRateLimit, .rateBurst, .rateInterval: true
        default: false
        }
    }

    /// The places where an option can be set.
    package struct Scope: OptionSet, Sendable {
        package let rawValue: UInt8
        package init(rawValue: UInt8) { self.rawValue = rawValue }
        /// In the configuration of a new client.
        package static let build = Scope(rawValue: 1)
        /// On an existing client, for requests that start afterwards.
        package static let live = Scope(rawValue: 2)
        /// On a request, overriding the client.
        package static let request = Scope(rawValue: 4)
    }

    package var scope: Scope {
        switch self {
        case .defaultParameters, .ignoreBase, .priority, .wantHead, .resume, .targetIsDirectory,
            .partialOf, .rewindableBody, .coalesce, .cacheStream:
            .request
        case .sendLanguages, .maxPerHost, .maxConnections, .maxDownloads, .maxDownloadSpeed,
            .httpCache, .cacheMaxBytes, .cacheMemoryBytes, .debug, .rateLimit, .hostRateLimit,
            .rateBurst, .rateInterval:
            [.build, .live]
        case .insecure, .ignoreProxyEnvironment, .autostart, .agentIdle, .denyAddresses, .httpsOnly,
            .requireTLS13, .requireStaple, .allowInvalid, .checkName, .pinMode, .requirePins,
            .reportPins:
            .build
        default: [.build, .live, .request]
        }
    }

    /// The default value. Times are in milliseconds, sizes in bytes, and switches 0 or 1.
    package var defaultValue: Int64 {
        switch self {
        case .idleTimeout: 20_000
        case .connectTimeout: 10_000
        case .firstByteTimeout: 30_000
        case .decisionTimeout: 30_000
        case .maxRedirects: 10
        case .acceptStatusMin: 200
        case .acceptStatusMax: 299
        case .maxBodyBytes: 67_108_864
        case .maxHeaderBytes: 307_200
        case .compressed, .cookies, .defaultParameters, .resume, .durability, .autostart,
            .checkName, .keepAlive, .partialOf:
            1
        case .agentIdle: 5000
        case .cacheMaxBytes: 268_435_456
        case .cacheMemoryBytes: 16_777_216
        case .maxPerHost: 6
        case .maxConnections: 32
        case .stallSpeed: 1000
        case .stallTimeout: 10_000
        case .maxRetryAfter: 60_000
        case .bodyCodingMinBytes: 1024
        case .rateInterval: 1000
        // -1 depends on the kind of transfer, as wherry.h describes.
        case .wantProgress, .maxRetries, .waitForNetwork: -1
        default: 0
        }
    }

    /// The valid values.
    package var range: ClosedRange<Int64> {
        switch self {
        case .maxRedirects: 0...100
        case .maxRetries: -1...1000
        case .imageRetries, .separateImages: 0...1000
        case .httpVersion: 0...20
        case .acceptStatusMin, .acceptStatusMax: 100...999
        case .compressed, .arrayStyle, .targetExists, .durability, .partialOf, .bodyCoding, .codedBody,
            .unreadableImages:
            0...2
        case .segments: 0...16
        case .priority: -100...100
        case .maxDownloads: 0...100_000
        case .denyAddresses: 0...31
        case .maxPerHost, .maxConnections: 1...100_000
        case .maxHeaderBytes: 1024...307_200
        case .rateLimit, .hostRateLimit: 0...1_000_000
        case .rateBurst: 0...10_000
        case .rateInterval: 1...86_400_000
        case .wantProgress: -1...1
        case .waitForNetwork: -1...Int64.max
        case .keepAuthAcrossHosts, .retryUnsafeMethods, .defaultParameters, .ignoreBase, .jsonOnly,
            .wantHead, .httpCache, .insecure, .ignoreProxyEnvironment, .resume, .targetIsDirectory,
            .makeDirectories, .debug, .keepServerTime, .requireVerifiedLength, .extendedNames,
            .autostart, .denyMetered, .rewindableBody,
            .memberStyle, .boolStyle, .sendLanguages, .coalesce, .keepAlive, .cacheStream:
            0...1
        case .httpsOnly, .requireTLS13, .requireStaple, .allowInvalid, .checkName, .pinMode,
            .requirePins, .reportPins:
            0...1
        case .cookies: 0...3
        case .bodyDigest, .partDigests: 0...4
        default: 0...Int64.max
        }
    }

    /// Validates a value for the given place.
    package func check(_ value: Int64, in place: Scope) throws(WherryError) {
        guard scope.contains(place) else {
            throw WherryError(
                .badOption, "The option \(self) cannot be set here. Set it \(scopeText).")
        }
        if self == .bodyDigest || self == .partDigests, value == 2 {
            throw WherryError(
                .badValue,
                "The option \(self) does not support SHA-1. Use MD5, SHA-256, or SHA-512.")
        }
        guard range.contains(value), self != .httpVersion || [0, 11, 20].contains(value) else {
            throw WherryError(
                .badValue,
                "The option \(self) takes \(valuesText), not \(value)"
            )
        }
    }

    private var valuesText: String {
        if self == .httpVersion { return "0, 11, or 20" }
        if range.upperBound == .max { return "a value of \(range.lowerBound) or more" }
        return "a value from \(range.lowerBound) to \(range.upperBound)"
    }

    private var scopeText: String {
        if scope == .request { return "on a request" }
        if scope == .build { return "in a configuration" }
        return "in a configuration or on a client"
    }
}

/// The values of all numeric options. Copies share memory until one is changed.
package struct OptionTable: Sendable, Hashable {
    private var values: [Int64]
    /// Whether the caller has set a stall timeout, even to the default.
    package private(set) var hasStallTimeout = false

    private static let count = 1 + Int(Option.allCases.map(\.rawValue).max() ?? 0)

    /// Creates a table with default values.
    package init() {
        values = Array(repeating: 0, count: Self.count)
        for option in Option.allCases { values[Int(option.rawValue)] = option.defaultValue }
    }

    package subscript(option: Option) -> Int64 {
        get { values[Int(option.rawValue)] }
        set {
            values[Int(option.rawValue)] = newValue
            if option == .stallTimeout { hasStallTimeout = true }
        }
    }

    /// Returns a copy in which the request's values replace the client's.
    package func overridden(by values: [OptionValue]) -> OptionTable {
        guard !values.isEmpty else { return self }
        var table = self
        for value in values { table[value.option] = value.value }
        return table
    }
}

extension OptionTable {
    /// The request rate limit.
    package var requestRate: RequestRate {
        var rate = RequestRate()
        rate.total = self[.rateLimit]
        rate.perHost = self[.hostRateLimit]
        rate.burst = self[.rateBurst]
        rate.span = .milliseconds(self[.rateInterval])
        return rate
    }
}

/// The value of an option on a request.
package struct OptionValue: Sendable, Hashable {
    package var option: Option
    package var value: Int64
}

/// An option with a text value. The raw values are those of `wherry_text_option`.
package enum TextOption: Int32, CaseIterable, Sendable {
    case baseURL = 1
    case appVersion = 2
    case userAgent = 3
    case storageName = 4
    case storageDirectory = 5
    case appName = 6
    case proxy = 7
    case proxyCredentials = 8
    case noProxy = 9
    case caFile = 10
    case caDirectory = 11
    case crlFile = 12
    case bearerToken = 14
    case tag = 15
    case imageNames = 16
    case jpegType = 17
    case agentPath = 18
    case stateDirectory = 19
    case resolve = 20
    case interface = 21
    case unixSocket = 22
    case proxyHTTP = 23
    case proxyHTTPS = 24
    case netrc = 25

    package var scope: Option.Scope {
        switch self {
        case .baseURL, .appVersion, .userAgent, .appName: [.build, .live]
        case .storageName, .storageDirectory, .proxy, .caFile, .agentPath, .stateDirectory,
            .caDirectory, .crlFile, .proxyCredentials, .noProxy, .resolve, .interface, .unixSocket,
            .proxyHTTP, .proxyHTTPS, .netrc:
            .build
        case .bearerToken, .imageNames, .jpegType: [.build, .live, .request]
        case .tag: .request
        }
    }

    /// Whether the value is a path, whose bytes need not be UTF-8.
    package var isPath: Bool {
        switch self {
        case .storageDirectory, .caFile, .caDirectory, .crlFile, .agentPath, .stateDirectory,
            .unixSocket, .netrc:
            true
        default: false
        }
    }

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
            guard value.utf8.contains(0x3A), !value.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F })
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
