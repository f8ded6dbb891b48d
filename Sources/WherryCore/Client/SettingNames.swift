// Wherry: option names in configuration files and errors.
// SPDX-License-Identifier: Apache-2.0

extension Option: CustomStringConvertible {
    /// The options that a configuration accepts, by name.
    package static let settings = named.filter { $0.value.scope.contains(.build) }

    /// The name, as in Python. Swift uses the same name in camel case.
    package var description: String { Self.names[self] ?? "\(rawValue)" }

    private static let names = Dictionary(uniqueKeysWithValues: named.map { ($1, $0) })

    /// All options by their lower-case names in wherry.h.
    package static let named: [String: Option] = [
        "idle_timeout_ms": .idleTimeout,
        "connect_timeout_ms": .connectTimeout,
        "first_byte_timeout_ms": .firstByteTimeout,
        "total_timeout_ms": .totalTimeout,
        "decision_timeout_ms": .decisionTimeout,
        "max_redirects": .maxRedirects,
        "keep_auth_across_hosts": .keepAuthAcrossHosts,
        "max_retries": .maxRetries,
        "retry_unsafe_methods": .retryUnsafeMethods,
        "send_languages": .sendLanguages,
        "wait_for_network_ms": .waitForNetwork,
        "http_version": .httpVersion,
        "accept_status_min": .acceptStatusMin,
        "accept_status_max": .acceptStatusMax,
        "compressed": .compressed,
        "max_body_bytes": .maxBodyBytes,
        "max_header_bytes": .maxHeaderBytes,
        "max_send_bytes_per_second": .maxSendSpeed,
        "max_receive_bytes_per_second": .maxReceiveSpeed,
        "max_download_bytes_per_second": .maxDownloadSpeed,
        "json_only": .jsonOnly,
        "array_style": .arrayStyle,
        "cookies": .cookies,
        "want_progress": .wantProgress,
        "unreadable_images": .unreadableImages,
        "separate_images": .separateImages,
        "image_retries": .imageRetries,
        "extended_names": .extendedNames,
        "body_digest": .bodyDigest,
        "part_digests": .partDigests,
        "body_coding": .bodyCoding,
        "body_coding_min_bytes": .bodyCodingMinBytes,
        "coded_body": .codedBody,
        "max_per_host": .maxPerHost,
        "max_connections": .maxConnections,
        "max_downloads": .maxDownloads,
        "member_style": .memberStyle,
        "bool_style": .boolStyle,
        "deny_metered": .denyMetered,
        "rate_limit": .rateLimit,
        "host_rate_limit": .hostRateLimit,
        "rate_burst": .rateBurst,
        "rate_interval_ms": .rateInterval,
        "http_cache": .httpCache,
        "cache_max_bytes": .cacheMaxBytes,
        "cache_memory_bytes": .cacheMemoryBytes,
        "deny_addresses": .denyAddresses,
        "insecure": .insecure,
        "https_only": .httpsOnly,
        "ignore_proxy_environment": .ignoreProxyEnvironment,
        "require_tls_1_3": .requireTLS13,
        "require_staple": .requireStaple,
        "allow_invalid": .allowInvalid,
        "check_name": .checkName,
        "pin_mode": .pinMode,
        "require_pins": .requirePins,
        "report_pins": .reportPins,
        "target_exists": .targetExists,
        "make_directories": .makeDirectories,
        "segments": .segments,
        "durability": .durability,
        "stall_bytes_per_second": .stallSpeed,
        "stall_timeout_ms": .stallTimeout,
        "max_retry_after_ms": .maxRetryAfter,
        "debug": .debug,
        "autostart": .autostart,
        "agent_idle_ms": .agentIdle,
        "keep_server_time": .keepServerTime,
        "require_verified_length": .requireVerifiedLength,
        "keep_alive": .keepAlive,
        "default_parameters": .defaultParameters,
        "ignore_base": .ignoreBase,
        "priority": .priority,
        "rewindable_body": .rewindableBody,
        "want_head": .wantHead,
        "coalesce": .coalesce,
        "cache_stream": .cacheStream,
        "resume": .resume,
        "target_is_directory": .targetIsDirectory,
        "partial_of": .partialOf,
    ]
}

extension TextOption: CustomStringConvertible {
    /// The options that a configuration accepts, by name.
    package static let settings = named.filter { $0.value.scope.contains(.build) }

    /// The name, as in Python. Swift uses the same name in camel case.
    package var description: String { Self.names[self] ?? "\(rawValue)" }

    private static let names = Dictionary(uniqueKeysWithValues: named.map { ($1, $0) })

    /// All options by their lower-case names in wherry.h.
    package static let named: [String: TextOption] = [
        "base_url": .baseURL,
        "app_version": .appVersion,
        "user_agent": .userAgent,
        "storage_name": .storageName,
        "storage_directory": .storageDirectory,
        "app_name": .appName,
        "proxy": .proxy,
        "proxy_credentials": .proxyCredentials,
        "no_proxy": .noProxy,
        "ca_file": .caFile,
        "ca_directory": .caDirectory,
        "crl_file": .crlFile,
        "bearer_token": .bearerToken,
        "image_names": .imageNames,
        "jpeg_type": .jpegType,
        "agent_path": .agentPath,
        "state_directory": .stateDirectory,
        "resolve": .resolve,
        "interface": .interface,
        "unix_socket": .unixSocket,
        "proxy_http": .proxyHTTP,
        "proxy_https": .proxyHTTPS,
        "netrc": .netrc,
        "tag": .tag,
    ]
}
