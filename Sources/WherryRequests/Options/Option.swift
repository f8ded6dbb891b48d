// Wherry: the options with numeric values.
// SPDX-License-Identifier: Apache-2.0
// Written by scripts/make-options from options.toml.

/// An option with a numeric value. The raw values are those of `wherry_option`.
package enum Option: Int32, CaseIterable, Sendable {
    /// The maximum time without a byte in either direction. In milliseconds.
    case idleTimeout = 1
    /// The maximum time for name lookup, connection, and handshakes together. 0: libcurl's default
    /// of 300 s. In milliseconds.
    case connectTimeout = 2
    /// The maximum time from the last byte sent to the first byte received. In milliseconds.
    case firstByteTimeout = 3
    /// The maximum time of a transfer, including redirects and retries. In milliseconds.
    case totalTimeout = 4
    /// The timeout of a hook. In milliseconds.
    case hookTimeout = 5
    /// The maximum number of redirects. 0 returns the redirect response.
    case maxRedirects = 10
    /// Whether to send credentials, the headers that you set, and the body after a redirect to
    /// another scheme, host, or port.
    case keepAuthAcrossHosts = 11
    /// The maximum number of automatic retries of transient failures.
    case maxRetries = 12
    /// Whether to retry requests with methods that are not idempotent, such as POST.
    case retryUnsafeMethods = 13
    /// The maximum time that a transfer waits while its host is unreachable. 0: no wait. In
    /// milliseconds.
    case waitForNetwork = 15
    /// Whether to send the user's languages as Accept-Language, taken from the environment
    /// (`LANGUAGE`, `LC_ALL`, `LC_MESSAGES`, `LANG`).
    case sendLanguages = 14
    /// The HTTP version.
    case httpVersion = 16
    /// The lowest status that counts as success.
    case acceptStatusMin = 17
    /// The highest status that counts as success.
    case acceptStatusMax = 18
    /// The content encodings to request and decode.
    case compressed = 19
    /// The maximum size in bytes of a body collected in memory, after decoding.
    case maxBodyBytes = 20
    /// The maximum size of the response headers in bytes.
    case maxHeaderBytes = 21
    /// The maximum send rate of one transfer in bytes per second. 0: no limit.
    case maxSendSpeed = 22
    /// The maximum receive rate of one transfer in bytes per second. 0: no limit.
    case maxReceiveSpeed = 23
    /// The maximum total receive rate of all downloads in bytes per second.
    case maxDownloadSpeed = 24
    /// Whether to add the client's default parameters.
    case defaultParameters = 25
    /// Whether to ignore the client's base URL, both for the request's URL and for its identifier.
    case ignoreBase = 26
    /// Whether a response fails if its content type is not JSON or its body is not valid JSON.
    case jsonOnly = 27
    /// The encoding of arrays in queries and forms.
    case arrayStyle = 28
    /// How requests use cookies.
    case cookies = 29
    /// The priority among requests that wait for a connection, and among queued downloads.
    case priority = 30
    /// Whether the writer of a streamed body can send it again from the start, as a redirect or a
    /// 401 response may require.
    case rewindableBody = 31
    /// Whether the event queue reports the response headers before the body.
    case wantHeaders = 32
    /// Whether the event queue reports progress: 0 no, 1 yes.
    case wantProgress = 33
    /// What an upload does with an image that it cannot read.
    case unreadableImages = 34
    /// The number of images to upload concurrently, each in its own form.
    case separateImages = 35
    /// The maximum number of retries of an image after a transient failure, with `separate_images`.
    case imageRetries = 36
    /// Whether to send non-ASCII file names a second time as `filename*`.
    case extendedNames = 37
    /// The digest of the body, sent in a header.
    case bodyDigest = 38
    /// The digest of each image and file of a form, sent in the headers of its part.
    case partDigests = 39
    /// The maximum number of connections to one origin.
    case maxPerHost = 40
    /// The maximum number of connections.
    case maxConnections = 41
    /// The maximum number of concurrent downloads.
    case maxDownloads = 42
    /// The encoding of object members in queries and forms.
    case memberStyle = 43
    /// The encoding of bools in queries and forms.
    case boolStyle = 44
    /// Whether to share the response of an identical request of this client that is in progress,
    /// instead of sending a second one.
    case coalesce = 45
    /// The content encoding of request bodies.
    case bodyCoding = 46
    /// Whether to fail with `metered` instead of connecting over a mobile network.
    case denyMetered = 47
    /// The minimum body size in bytes for `body_coding`.
    case bodyCodingMinBytes = 48
    /// How `body_coding` treats a request with a Content-Encoding header, set on the request or on
    /// the client.
    case codedBody = 49
    /// Whether requests without a cache policy use the HTTP cache (RFC 9111).
    case httpCache = 50
    /// The maximum size in bytes of each of the two caches on disk.
    case cacheMaxBytes = 51
    /// The maximum size in bytes of the responses that each of the two caches keeps in memory.
    /// 0 keeps none.
    case cacheMemoryBytes = 52
    /// The maximum size in bytes of the decoded images that the image loader keeps in memory.
    case imageMemoryBytes = 132
    /// Whether an image load reports previews while the image arrives: one after each scan of a
    /// progressive JPEG except the last, and one after each of the first six passes of an
    /// interlaced PNG.
    case imagePreviews = 133
    /// Identifies the hooks of a request for image loads: those with the same key have hooks that
    /// give the same answers, and share requests and images in memory.
    case hooksKey = 134
    /// The maximum number of requests per `rate_interval_ms`.
    case rateLimit = 53
    /// The maximum number of requests per `rate_interval_ms` to each origin (scheme, host, and
    /// port), in addition to `rate_limit`. 0: no limit.
    case hostRateLimit = 54
    /// The maximum number of requests that may start at once after an idle period. 0: the number
    /// that may start in one `rate_interval_ms`.
    case rateBurst = 55
    /// The interval of `rate_limit` and `host_rate_limit`. In milliseconds.
    case rateInterval = 56
    /// The addresses to which the client must not connect, also after redirects.
    case denyAddresses = 59
    /// Whether to accept every certificate.
    case insecure = 60
    /// Whether to reject requests without https before anything is sent.
    case httpsOnly = 61
    /// Whether to ignore the proxies of the environment.
    case ignoreProxyEnvironment = 62
    /// Whether to require TLS 1.3.
    case requireTLS13 = 63
    /// Whether to refuse servers that do not staple a good OCSP response.
    case requireStaple = 64
    /// Whether pins alone decide if a pinned host is trusted.
    case allowInvalid = 65
    /// Whether the certificate must match the host name.
    case checkName = 66
    /// How certificates in the pins are used.
    case pinMode = 67
    /// Whether to refuse hosts without pins.
    case requirePins = 68
    /// Whether a pin mismatch only prints a warning to standard error, once per host, and the
    /// connection continues.
    case reportPins = 69
    /// Whether a download resumes an existing partial file.
    case resume = 70
    /// What a download does if the target file already exists.
    case targetExists = 71
    /// Whether the path of a download is a directory.
    case targetIsDirectory = 72
    /// Whether to create the missing directories of a file.
    case makeDirectories = 73
    /// When downloaded bytes count as saved.
    case durability = 75
    /// The number of parallel connections of a download. 0 chooses automatically.
    case segments = 74
    /// The minimum speed of a download in bytes per second.
    case stallSpeed = 76
    /// The time that a download may be slower than `stall_bytes_per_second` before it counts as
    /// stalled. In milliseconds.
    case stallTimeout = 77
    /// The partial files that a download resumes, if the server confirms their validator and
    /// length.
    case partialOf = 78
    /// The maximum wait that a server may request with Retry-After. In milliseconds.
    case maxRetryAfter = 79
    /// Whether to write all events to standard error, without secrets or bodies.
    case debug = 80
    /// Whether the next agent resumes the jobs of an agent that died.
    case autostart = 81
    /// The time that an idle agent stays alive. In milliseconds.
    case agentIdle = 82
    /// Whether to set the modification time of a downloaded file to the server's Last-Modified.
    case keepServerTime = 90
    /// Whether a response over TLS whose body may be incomplete fails with `length_unverified`.
    case requireVerifiedLength = 100
    /// Whether to reuse connections.
    case keepAlive = 130
    /// Whether the caches also serve and store a streamed response.
    case cacheStream = 131
}

extension Option {
    /// The name, scope, default, and valid values.
    package var declaration: Declaration {
        switch self {
        case .idleTimeout:
            Declaration("idle_timeout_ms", [.build, .live, .request], 20_000, 0...Int64.max)
        case .connectTimeout:
            Declaration("connect_timeout_ms", [.build, .live, .request], 10_000, 0...Int64.max)
        case .firstByteTimeout:
            Declaration("first_byte_timeout_ms", [.build, .live, .request], 30_000, 0...Int64.max)
        case .totalTimeout:
            Declaration("total_timeout_ms", [.build, .live, .request], 0, 0...Int64.max)
        case .hookTimeout:
            Declaration("hook_timeout_ms", [.build, .live, .request], 30_000, 0...Int64.max)
        case .maxRedirects:
            Declaration("max_redirects", [.build, .live, .request], 10, 0...100)
        case .keepAuthAcrossHosts:
            Declaration(
                "keep_auth_across_hosts", [.build, .live, .request], 0, 0...1, acceptsBool: true)
        case .maxRetries:
            Declaration("max_retries", [.build, .live, .request], -1, -1...1000)
        case .retryUnsafeMethods:
            Declaration(
                "retry_unsafe_methods", [.build, .live, .request], 0, 0...1, acceptsBool: true)
        case .waitForNetwork:
            Declaration("wait_for_network_ms", [.build, .live, .request], -1, -1...Int64.max)
        case .sendLanguages:
            Declaration("send_languages", [.build, .live], 0, 0...1, acceptsBool: true)
        case .httpVersion:
            Declaration("http_version", [.build, .live, .request], 0, 0...20, only: [0, 11, 20])
        case .acceptStatusMin:
            Declaration("accept_status_min", [.build, .live, .request], 200, 100...999)
        case .acceptStatusMax:
            Declaration("accept_status_max", [.build, .live, .request], 299, 100...999)
        case .compressed:
            Declaration("compressed", [.build, .live, .request], 1, 0...2, acceptsBool: true)
        case .maxBodyBytes:
            Declaration("max_body_bytes", [.build, .live, .request], 67_108_864, 0...Int64.max)
        case .maxHeaderBytes:
            Declaration("max_header_bytes", [.build, .live, .request], 307_200, 1024...307_200)
        case .maxSendSpeed:
            Declaration("max_send_bytes_per_second", [.build, .live, .request], 0, 0...Int64.max)
        case .maxReceiveSpeed:
            Declaration(
                "max_receive_bytes_per_second", [.build, .live, .request], 0, 0...Int64.max)
        case .maxDownloadSpeed:
            Declaration("max_download_bytes_per_second", [.build, .live], 0, 0...Int64.max)
        case .defaultParameters:
            Declaration("default_parameters", [.request], 1, 0...1, acceptsBool: true)
        case .ignoreBase:
            Declaration("ignore_base", [.request], 0, 0...1, acceptsBool: true)
        case .jsonOnly:
            Declaration("json_only", [.build, .live, .request], 0, 0...1, acceptsBool: true)
        case .arrayStyle:
            Declaration("array_style", [.build, .live, .request], 0, 0...2)
        case .cookies:
            Declaration("cookies", [.build, .live, .request], 1, 0...3, acceptsBool: true)
        case .priority:
            Declaration("priority", [.request], 0, -100...100)
        case .rewindableBody:
            Declaration("rewindable_body", [.request], 0, 0...1, acceptsBool: true)
        case .wantHeaders:
            Declaration("want_headers", [.request], 0, 0...1, acceptsBool: true)
        case .wantProgress:
            Declaration("want_progress", [.build, .live, .request], -1, -1...1, acceptsBool: true)
        case .unreadableImages:
            Declaration("unreadable_images", [.build, .live, .request], 0, 0...2)
        case .separateImages:
            Declaration("separate_images", [.build, .live, .request], 0, 0...1000)
        case .imageRetries:
            Declaration("image_retries", [.build, .live, .request], 0, 0...1000)
        case .extendedNames:
            Declaration("extended_names", [.build, .live, .request], 0, 0...1, acceptsBool: true)
        case .bodyDigest:
            Declaration("body_digest", [.build, .live, .request], 0, 0...4, only: [0, 1, 3, 4])
        case .partDigests:
            Declaration("part_digests", [.build, .live, .request], 0, 0...4, only: [0, 1, 3, 4])
        case .maxPerHost:
            Declaration("max_per_host", [.build, .live], 6, 1...100_000)
        case .maxConnections:
            Declaration("max_connections", [.build, .live], 32, 1...100_000)
        case .maxDownloads:
            Declaration("max_downloads", [.build, .live], 0, 0...100_000)
        case .memberStyle:
            Declaration("member_style", [.build, .live, .request], 0, 0...1, acceptsBool: true)
        case .boolStyle:
            Declaration("bool_style", [.build, .live, .request], 0, 0...1, acceptsBool: true)
        case .coalesce:
            Declaration("coalesce", [.request], 0, 0...1, acceptsBool: true)
        case .bodyCoding:
            Declaration("body_coding", [.build, .live, .request], 0, 0...2)
        case .denyMetered:
            Declaration("deny_metered", [.build, .live, .request], 0, 0...1, acceptsBool: true)
        case .bodyCodingMinBytes:
            Declaration("body_coding_min_bytes", [.build, .live, .request], 1024, 0...Int64.max)
        case .codedBody:
            Declaration("coded_body", [.build, .live, .request], 0, 0...2)
        case .httpCache:
            Declaration("http_cache", [.build, .live], 0, 0...1, acceptsBool: true)
        case .cacheMaxBytes:
            Declaration("cache_max_bytes", [.build, .live], 268_435_456, 0...Int64.max)
        case .cacheMemoryBytes:
            Declaration("cache_memory_bytes", [.build, .live], 16_777_216, 0...Int64.max)
        case .imageMemoryBytes:
            Declaration("image_memory_bytes", [.build, .live], 67_108_864, 0...Int64.max)
        case .imagePreviews:
            Declaration("image_previews", [.build, .live, .request], 0, 0...1, acceptsBool: true)
        case .hooksKey:
            Declaration("hooks_key", [.request], 0, 0...Int64.max)
        case .rateLimit:
            Declaration("rate_limit", [.build, .live], 0, 0...1_000_000)
        case .hostRateLimit:
            Declaration("host_rate_limit", [.build, .live], 0, 0...1_000_000)
        case .rateBurst:
            Declaration("rate_burst", [.build, .live], 0, 0...10_000)
        case .rateInterval:
            Declaration("rate_interval_ms", [.build, .live], 1000, 1...86_400_000)
        case .denyAddresses:
            Declaration("deny_addresses", [.build], 0, 0...31)
        case .insecure:
            Declaration("insecure", [.build], 0, 0...1, acceptsBool: true)
        case .httpsOnly:
            Declaration("https_only", [.build], 0, 0...1, acceptsBool: true)
        case .ignoreProxyEnvironment:
            Declaration("ignore_proxy_environment", [.build], 0, 0...1, acceptsBool: true)
        case .requireTLS13:
            Declaration("require_tls_1_3", [.build], 0, 0...1, acceptsBool: true)
        case .requireStaple:
            Declaration("require_staple", [.build], 0, 0...1, acceptsBool: true)
        case .allowInvalid:
            Declaration("allow_invalid", [.build], 0, 0...1, acceptsBool: true)
        case .checkName:
            Declaration("check_name", [.build], 1, 0...1, acceptsBool: true)
        case .pinMode:
            Declaration("pin_mode", [.build], 0, 0...1, acceptsBool: true)
        case .requirePins:
            Declaration("require_pins", [.build], 0, 0...1, acceptsBool: true)
        case .reportPins:
            Declaration("report_pins", [.build], 0, 0...1, acceptsBool: true)
        case .resume:
            Declaration("resume", [.request], 1, 0...1, acceptsBool: true)
        case .targetExists:
            Declaration("target_exists", [.build, .live, .request], 0, 0...2)
        case .targetIsDirectory:
            Declaration("target_is_directory", [.request], 0, 0...1, acceptsBool: true)
        case .makeDirectories:
            Declaration("make_directories", [.build, .live, .request], 0, 0...1, acceptsBool: true)
        case .durability:
            Declaration("durability", [.build, .live, .request], 1, 0...2)
        case .segments:
            Declaration("segments", [.build, .live, .request], 0, 0...16)
        case .stallSpeed:
            Declaration("stall_bytes_per_second", [.build, .live, .request], 1000, 0...Int64.max)
        case .stallTimeout:
            Declaration("stall_timeout_ms", [.build, .live, .request], 10_000, 0...Int64.max)
        case .partialOf:
            Declaration("partial_of", [.request], 1, 0...2)
        case .maxRetryAfter:
            Declaration("max_retry_after_ms", [.build, .live, .request], 60_000, 0...Int64.max)
        case .debug:
            Declaration("debug", [.build, .live], 0, 0...1, acceptsBool: true)
        case .autostart:
            Declaration("autostart", [.build], 1, 0...1, acceptsBool: true)
        case .agentIdle:
            Declaration("agent_idle_ms", [.build], 5000, 0...Int64.max)
        case .keepServerTime:
            Declaration("keep_server_time", [.build, .live, .request], 0, 0...1, acceptsBool: true)
        case .requireVerifiedLength:
            Declaration(
                "require_verified_length", [.build, .live, .request], 0, 0...1, acceptsBool: true)
        case .keepAlive:
            Declaration("keep_alive", [.build, .live, .request], 1, 0...1, acceptsBool: true)
        case .cacheStream:
            Declaration("cache_stream", [.request], 0, 0...1, acceptsBool: true)
        }
    }
}
