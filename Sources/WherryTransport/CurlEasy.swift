// Wherry: pooled libcurl easy handles.
// SPDX-License-Identifier: Apache-2.0

internal import CCurl
import Glibc
import WherrySystem

/// A libcurl easy handle and the exchange that it performs.
///
/// Handles are reused, because creating one costs a fifth of a small request. Options that did not
/// change are not set again. A handle with an option set by `prepareRare` is reset before reuse.
final class CurlEasy {
    /// The options that differ between exchanges, as set last.
    private struct Settled {
        var url = ""
        /// Whether libcurl decodes content encodings.
        var decodes: Bool?
        var headers: HeaderList?
        /// The content that `ownFields` was created from.
        var ownFields: OwnFields.Content?
        var connectTimeout: Int64 = -1
        var sharesByHandshake: Bool?
        /// 0 for libcurl's default.
        var httpVersion: Int32 = 0
        var userAgent = ""
        /// "" for no proxy.
        var proxy = ""
        /// Whether the method is GET without a body, as after a reset.
        var isGet = true
        /// Whether the handle has a large send buffer.
        var isUpload = false
        /// Whether libcurl's debug text is enabled.
        var isHeard = false
    }

    /// Whether libcurl processes the handle.
    private enum Run {
        /// Not added to libcurl, or rejected by libcurl.
        case none
        /// Added to libcurl during this turn of the loop; libcurl processes it in the next call.
        case added(turn: Int)
    }

    let handle: UnsafeMutableRawPointer
    let errorText: UnsafeMutablePointer<CChar>
    /// The exchange that the handle performs. The loop keeps it alive.
    @exclusivity(unchecked) private(set) var carried: Unmanaged<Exchange>?
    var exchange: Exchange? { carried?.takeUnretainedValue() }
    @exclusivity(unchecked) var head = HeadReader()
    /// The owner of the pool this handle is in, or of the exchange it carries.
    unowned(unsafe) let loop: CurlLoop
    /// Whether every option set on the handle is one that `prepare` sets again.
    @exclusivity(unchecked) var isPlain = true
    @exclusivity(unchecked) private var settled = Settled()
    /// The parsed URL. If libcurl gets only the text, it parses and reassembles the URL for each
    /// request, which costs an eighth of a small request.
    private let url: OpaquePointer
    @exclusivity(unchecked) private var ownFields = OwnFields()
    /// The host whose trust options are set, and whether its pins were applied.
    @exclusivity(unchecked) var heldTo: (host: TrustedHost, pinsCount: Bool)?
    /// Whether the CA certificates are set, which http connections do not need.
    @exclusivity(unchecked) var hasRoots = false
    /// Whether libcurl requires a valid certificate chain.
    @exclusivity(unchecked) var checksPeer = true
    @exclusivity(unchecked) var hearing = Hearing()
    @exclusivity(unchecked) private var lastAddress = ""
    @exclusivity(unchecked) private var run = Run.none
    private let forkGeneration = ForkGuard.current

    init?(loop: CurlLoop) {
        guard let handle = curl_easy_init() else { return nil }
        guard let url = curl_url() else {
            curl_easy_cleanup(handle)
            return nil
        }
        self.handle = handle
        self.url = url
        self.loop = loop
        errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
        errorText[0] = 0
        setUp()
    }

    deinit {
        // In a forked child, libcurl would shut down TLS on connections of the parent.
        guard ForkGuard.current == forkGeneration else { return }
        guard !ProcessExit.hasBegun else {
            ProcessExit.keep(handle)
            ProcessExit.keep(UnsafeRawPointer(url))
            ProcessExit.keep(errorText)
            return
        }
        curl_easy_cleanup(handle)
        curl_url_cleanup(url)
        errorText.deallocate()
    }

    /// Sets the options that all exchanges of the pool share.
    private func setUp() {
        let context = Unmanaged.passUnretained(self).toOpaque()
        set(CURLOPT_NOSIGNAL, 1)
        set(CURLOPT_NOPROGRESS, 1)
        set(CURLOPT_FOLLOWLOCATION, 0)
        set(CURLOPT_HTTP_TRANSFER_DECODING, 1)
        set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        set(CURLOPT_TCP_NODELAY, 1)
        // Do not join the thread of a cancelled name lookup, which would block all transfers.
        set(CURLOPT_QUICK_EXIT, 1)
        set(CURLOPT_DNS_CACHE_TIMEOUT, 60)
        ccurl_set_text(handle, CURLOPT_PROTOCOLS_STR, "http,https")
        ccurl_set_pointer(handle, CURLOPT_ERRORBUFFER, errorText)
        ccurl_set_pointer(handle, CURLOPT_PRIVATE, context)
        ccurl_set_write(
            handle,
            { bytes, _, count, context in
                CurlEasy.with(context) { $0.receive(bytes, count) }
            }, context)
        ccurl_set_header(
            handle,
            { bytes, _, count, context in
                CurlEasy.with(context) { $0.receiveHeader(bytes, count) }
            }, context)
        ccurl_set_read(
            handle,
            { bytes, size, count, context in
                CurlEasy.with(context) { $0.send(bytes, size * count) }
            }, context)
        ccurl_set_seek(
            handle,
            { context, offset, origin in
                CurlEasy.with(context) { $0.seek(offset, origin) }
            }, context)
        ccurl_set_sockopt(
            handle,
            { context, socket, _ in
                guard let context else { return 0 }
                Unmanaged<CurlLoop>.fromOpaque(context).takeUnretainedValue().sockets.opened(socket)
                return 0
            }, Unmanaged.passUnretained(loop).toOpaque())
        ccurl_set_close(
            handle,
            { context, socket in
                guard let context else { return 0 }
                let loop = Unmanaged<CurlLoop>.fromOpaque(context).takeUnretainedValue()
                loop.sockets.closed(socket)
                return close(socket)
            }, Unmanaged.passUnretained(loop).toOpaque())
        ccurl_set_prereq(
            handle,
            { context, _, _, port, localPort in
                CurlEasy.with(context) { $0.mayUseConnection(to: port, from: localPort) }
                    ? Int32(CCURL_PREREQ_OK) : Int32(CCURL_PREREQ_ABORT)
            }, context)
        ccurl_set_debug(
            handle,
            { _, kind, bytes, count, context in
                if kind == CURLINFO_TEXT { CurlEasy.with(context) { $0.hear(bytes, count) } }
                return 0
            }, context)
        ccurl_set_share(handle, loop.share)
        setUpTrust()
        setUpWay()
        // The transport sends Accept-Encoding itself, but libcurl decodes nothing unless
        // this option is set.
        ccurl_set_text(handle, CURLOPT_ACCEPT_ENCODING, ContentDecoding.all.fieldValue)
    }

    /// Sets how connections are made: proxy, fixed addresses, interface, Unix socket.
    private func setUpWay() {
        let configuration = loop.configuration
        // The proxy is chosen for each request. Without these two options, libcurl would read the
        // environment.
        ccurl_set_text(handle, CURLOPT_PROXY, "")
        ccurl_set_text(handle, CURLOPT_NOPROXY, "")
        if loop.usesProxies, let credentials = configuration.proxyCredentials {
            let parts = credentials.split(
                separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            ccurl_set_text(handle, CURLOPT_PROXYUSERNAME, String(parts[0]))
            ccurl_set_text(handle, CURLOPT_PROXYPASSWORD, parts.count > 1 ? String(parts[1]) : "")
        }
        if let hosts = loop.resolvedHosts { ccurl_set_resolve(handle, hosts) }
        if let name = configuration.interface { ccurl_set_text(handle, CURLOPT_INTERFACE, name) }
        if let path = configuration.unixSocket {
            setPath(CURLOPT_UNIX_SOCKET_PATH, path)
            // Stray bytes on a connection are found by its ports, which Unix sockets do not have.
            // New connections are cheap here.
            ccurl_set_long(handle, CURLOPT_FORBID_REUSE, 1)
        }
    }

    /// Sets an option whose value is a path, as raw bytes.
    @discardableResult
    func setPath(_ option: CURLoption, _ path: String?) -> CURLcode {
        guard let path else { return ccurl_set_text(handle, option, nil) }
        return path.withPath { ccurl_set_text(handle, option, $0) }
    }

    /// Calls `body` with the handle of a callback, without reference counting.
    @inline(__always)
    private static func with<Result>(
        _ context: UnsafeMutableRawPointer?, _ body: (CurlEasy) -> Result
    ) -> Result {
        // Set in `setUp`, never nil.
        let result = Unmanaged<CurlEasy>.fromOpaque(context!)._withUnsafeGuaranteedRef(body)
        // `body` may have waited for a disk longer than the process exit waits for this thread.
        ProcessExit.blockIfOver()
        return result
    }

    /// The most bytes of a request's URL and headers. libcurl's buffer for the request line and the
    /// headers, its own included, has 1 MiB.
    private static let mostHeadBytes = 1_040_000

    /// Prepares the handle for an exchange. Returns `nil` on success, or the error.
    func prepare(_ exchange: Exchange) -> TransportError? {
        if !isPlain {
            curl_easy_reset(handle)
            settled = Settled()
            heldTo = nil
            setUp()
            isPlain = true
        }
        carried = Unmanaged.passUnretained(exchange)
        run = .none
        errorText[0] = 0
        guard !exchange.request.headers.isIncomplete else {
            return TransportError(.noMemory, "Not enough memory for the request headers")
        }
        let headSize = exchange.request.url.text.utf8.count + exchange.request.headers.byteCount
        guard headSize <= Self.mostHeadBytes else {
            return TransportError(
                .headerTooLarge,
                "The URL and headers of the request have \(headSize) bytes. Use at most \(Self.mostHeadBytes), and send more in a body."
            )
        }
        if let error = prepareTrust(exchange.request.url.origin) { return error }
        head.start(exchange.request.options)
        hear(exchange)
        var code = prepareUsual(exchange.request)
        prepareRare(
            exchange.request, version: exchange.httpVersion,
            isFresh: exchange.state.restarts >= CurlEasy.mostRestarts)
        if code == CURLE_OK { code = prepareMethod(exchange.request) }
        guard code == CURLE_OK else {
            return TransportError(
                .internal, "libcurl rejected the request: \(Self.text(code))",
                curlCode: Int32(code.rawValue))
        }
        return nil
    }

    /// Sets the options that every exchange needs, if they changed.
    private func prepareUsual(_ request: borrowing ExchangeRequest) -> CURLcode {
        if !Self.areSame(settled.url, request.url.text) {
            settled.url = ""
            let code = prepareURL(request.url.text)
            guard code == CURLE_OK else { return code }
            settled.url = request.url.text
        }
        if loop.usesProxies {
            let proxy = loop.proxies.proxy(for: request.url.origin)?.text ?? ""
            if !Self.areSame(settled.proxy, proxy) {
                settled.proxy = proxy
                ccurl_set_text(handle, CURLOPT_PROXY, proxy)
            }
        }
        let code = prepareFields(request)
        guard code == CURLE_OK else { return code }
        if settled.connectTimeout != request.timeouts.connect {
            settled.connectTimeout = request.timeouts.connect
            set(CURLOPT_CONNECTTIMEOUT_MS, milliseconds(request.timeouts.connect))
        }
        // Over TLS, the handshake shows whether requests can share a connection. Without TLS, only
        // the first response shows it, and a slow response would block all other requests to its
        // host.
        let isSecure = request.url.origin.isSecure
        if settled.sharesByHandshake != isSecure {
            settled.sharesByHandshake = isSecure
            set(CURLOPT_PIPEWAIT, isSecure ? 1 : 0)
        }
        decodeByCurl(false)
        return CURLE_OK
    }

    /// Enables or disables libcurl's debug text.
    func setHeard(_ isHeard: Bool) {
        guard settled.isHeard != isHeard else { return }
        settled.isHeard = isHeard
        set(CURLOPT_VERBOSE, isHeard ? 1 : 0)
    }

    private func prepareURL(_ text: String) -> CURLcode {
        // If `curl_url` cannot parse the URL, libcurl gets the text and reports the error itself.
        // Also, libcurl 7.88 loses the zone of an IPv6 address ("[fe80::1%25eth0]") when it copies
        // the parts.
        let isParsed =
            !text.utf8.contains(UInt8(ascii: "["))
            && curl_url_set(url, CURLUPART_URL, text, 0) == CURLUE_OK
        ccurl_set_pointer(handle, CURLOPT_CURLU, isParsed ? UnsafeMutableRawPointer(url) : nil)
        // If the text were not set, libcurl would assemble it from the parts.
        return ccurl_set_text(handle, CURLOPT_URL, text)
    }

    /// Sets the headers of the request, after the transport's own headers.
    private func prepareFields(_ request: borrowing ExchangeRequest) -> CURLcode {
        // In requests to a proxy (CONNECT), libcurl sends the User-Agent set by this option.
        if loop.usesProxies, !Self.areSame(settled.userAgent, request.userAgent) {
            settled.userAgent = request.userAgent
            ccurl_set_text(
                handle, CURLOPT_USERAGENT, request.userAgent.isEmpty ? nil : request.userAgent)
        }
        var content = OwnFields.Content()
        if !request.headers.hasAcceptEncoding { content.decoding = request.decoding }
        if !request.headers.hasUserAgent && !loop.usesProxies {
            content.userAgent = request.userAgent
        }
        if settled.headers === request.headers, let made = settled.ownFields,
            OwnFields.areSame(made, content)
        {
            return CURLE_OK
        }
        guard let head = ownFields.head(content, followedBy: request.headers) else {
            return CURLE_OUT_OF_MEMORY
        }
        settled.headers = request.headers
        settled.ownFields = content
        return ccurl_set_headers(handle, head)
    }

    /// Enables or disables decoding of the body by libcurl. May still be changed when the response
    /// headers have arrived.
    func decodeByCurl(_ decodes: Bool) {
        guard settled.decodes != decodes else { return }
        settled.decodes = decodes
        set(CURLOPT_HTTP_CONTENT_DECODING, decodes ? 1 : 0)
    }

    /// The size of libcurl's receive buffer in bytes.
    static func bufferSize(_ request: borrowing ExchangeRequest) -> Int {
        request.isBulk ? 524_288 : 16_384
    }

    /// The weight of an HTTP/2 stream (RFC 7540, section 5.3.2), 1 to 256; 16 is the default.
    static func streamWeight(_ priority: Int8) -> Int {
        let priority = Int(priority)
        return priority < 0 ? max(1, 16 + priority * 15 / 100) : min(256, 16 + priority * 240 / 100)
    }

    /// Compares bytes: Swift treats the composed and decomposed forms of an accented letter as
    /// equal.
    static func areSame(_ a: String, _ b: String) -> Bool {
        let areSame = a.utf8.withContiguousStorageIfAvailable { a in
            b.utf8.withContiguousStorageIfAvailable { b -> Bool in
                guard a.count == b.count, let start = a.baseAddress, let other = b.baseAddress
                else { return a.count == b.count }
                return memcmp(start, other, a.count) == 0
            }
        }
        return (areSame ?? false) ?? false
    }

    /// Sets options that few exchanges need. A reset restores their defaults.
    private func prepareRare(
        _ request: borrowing ExchangeRequest, version: Int32, isFresh: Bool
    ) {
        if version != settled.httpVersion {
            settled.httpVersion = version
            let choice =
                switch version {
                case 11: CURL_HTTP_VERSION_1_1
                case 20: CURL_HTTP_VERSION_2_0
                default: CURL_HTTP_VERSION_NONE
                }
            set(CURLOPT_HTTP_VERSION, choice)
        }
        if request.priority != 0, version != 11 {
            isPlain = false
            set(CURLOPT_STREAM_WEIGHT, Self.streamWeight(request.priority))
        }
        if request.isBulk {
            isPlain = false
            set(CURLOPT_BUFFERSIZE, Self.bufferSize(request))
        }
        if request.ownConnection || isFresh {
            isPlain = false
            set(CURLOPT_FRESH_CONNECT, 1)
            set(CURLOPT_FORBID_REUSE, 1)
        }
        if request.options.denyMetered { denyMetered() }
        if request.options.maxSendSpeed > 0 || request.options.maxReceiveSpeed > 0 {
            isPlain = false
            ccurl_set_offset(
                handle, CURLOPT_MAX_SEND_SPEED_LARGE, curl_off_t(request.options.maxSendSpeed))
            ccurl_set_offset(
                handle, CURLOPT_MAX_RECV_SPEED_LARGE, curl_off_t(request.options.maxReceiveSpeed))
        }
    }

    private func prepareMethod(_ request: borrowing ExchangeRequest) -> CURLcode {
        if case .none = request.body, request.method == "GET" {
            guard !settled.isGet else { return CURLE_OK }
            settled.isGet = true
            ccurl_set_text(handle, CURLOPT_POSTFIELDS, nil)
            ccurl_set_text(handle, CURLOPT_CUSTOMREQUEST, nil)
            return ccurl_set_long(handle, CURLOPT_HTTPGET, 1)
        }
        settled.isGet = false
        switch request.body {
        case .none where request.method == "HEAD":
            // Start from a plain GET. Otherwise, the upload of a previous exchange would stay
            // enabled.
            set(CURLOPT_HTTPGET, 1)
            set(CURLOPT_NOBODY, 1)
        case .none where ["POST", "PUT", "PATCH"].contains(request.method):
            // A method that expects content is sent with Content-Length: 0 (RFC 9110, section 8.6).
            prepareBody("", count: 0)
        case .none:
            set(CURLOPT_HTTPGET, 1)
        case .bytes(let bytes) where bytes.count <= CurlEasy.smallBody:
            // Not copied: the exchange keeps the bytes until the handle is done.
            bytes.withUnsafeBytes { buffer in
                prepareBody(
                    buffer.baseAddress?.assumingMemoryBound(to: CChar.self), count: buffer.count)
            }
        case .bytes(let bytes):
            prepareUpload(length: Int64(bytes.count))
        case .source(let source):
            prepareUpload(length: source.length)
        }
        return ccurl_set_text(handle, CURLOPT_CUSTOMREQUEST, request.method)
    }

    private func prepareBody(_ bytes: UnsafePointer<CChar>?, count: Int) {
        set(CURLOPT_HTTPGET, 1)
        set(CURLOPT_POST, 1)
        ccurl_set_offset(handle, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(count))
        ccurl_set_pointer(handle, CURLOPT_POSTFIELDS, UnsafeMutableRawPointer(mutating: bytes))
        if bytes == nil { ccurl_set_text(handle, CURLOPT_POSTFIELDS, "") }
    }

    private func prepareUpload(length: Int64?) {
        set(CURLOPT_HTTPGET, 1)
        ccurl_set_text(handle, CURLOPT_POSTFIELDS, nil)
        set(CURLOPT_UPLOAD, 1)
        ccurl_set_offset(handle, CURLOPT_INFILESIZE_LARGE, curl_off_t(length ?? -1))
        settled.isUpload = true
        set(CURLOPT_UPLOAD_BUFFERSIZE, 1 << 20)
    }

    /// Whether the complete body was passed to libcurl, so that libcurl does not call `send`.
    var isGivenWhole: Bool {
        switch exchange?.request.body {
        case .bytes(let bytes): bytes.count <= CurlEasy.smallBody
        case .source: false
        case .some(.none), nil: true
        }
    }

    /// The maximum size of a body that is passed to libcurl at once. A larger body is read in
    /// chunks, so that progress and idle time can be measured.
    static let smallBody = 65_536

    /// Removes the exchange from the handle, so that the handle can be reused.
    func detach() {
        carried = nil
        // libcurl frees the upload buffer only when its size changes.
        guard settled.isUpload else { return }
        settled.isUpload = false
        set(CURLOPT_UPLOAD_BUFFERSIZE, CurlEasy.smallBody)
    }

    /// Adds the handle to the multi handle, which processes it in its next call.
    func add() -> CURLMcode {
        let code = curl_multi_add_handle(loop.multi, handle)
        if code == CURLM_OK { run = .added(turn: loop.curlCalls) }
        return code
    }

    /// Whether libcurl has started the exchange. Before that, its metrics are those of the previous
    /// exchange.
    var hasRun: Bool {
        if case .added(let turn) = run { turn != loop.curlCalls } else { false }
    }

    private func set(_ option: CURLoption, _ value: Int) {
        ccurl_set_long(handle, option, value)
    }

    private func milliseconds(_ nanoseconds: Int64) -> Int {
        nanoseconds <= 0 ? 0x7FFF_FFFF : max(1, Int(min(nanoseconds / 1_000_000, 0x7FFF_FFFF)))
    }

    static func text(_ code: CURLcode) -> String { String(cString: curl_easy_strerror(code)) }

    // MARK: Metrics

    func metrics() -> ExchangeMetrics {
        var metrics = ExchangeMetrics()
        metrics.isReused = long(CURLINFO_NUM_CONNECTS) == 0
        if !metrics.isReused {
            metrics.lookup = offset(CURLINFO_NAMELOOKUP_TIME_T)
            metrics.connect = offset(CURLINFO_CONNECT_TIME_T)
            metrics.tls = offset(CURLINFO_APPCONNECT_TIME_T)
        }
        metrics.firstByte = offset(CURLINFO_STARTTRANSFER_TIME_T)
        metrics.total = offset(CURLINFO_TOTAL_TIME_T)
        metrics.sent = Int64(long(CURLINFO_REQUEST_SIZE))
        if !settled.isGet { metrics.sent += offset(CURLINFO_SIZE_UPLOAD_T) }
        metrics.received = Int64(long(CURLINFO_HEADER_SIZE)) + offset(CURLINFO_SIZE_DOWNLOAD_T)
        metrics.httpVersion = Int32(head.version)
        var address: UnsafeMutablePointer<CChar>?
        if ccurl_get_text(handle, CURLINFO_PRIMARY_IP, &address) == CURLE_OK, let address {
            // Usually the same address as last time, so avoid creating a string.
            if !lastAddress.withCString({ strcmp($0, address) == 0 }) {
                lastAddress = String(cString: address)
            }
            metrics.remoteAddress = lastAddress
        }
        return metrics
    }

    func offset(_ info: CURLINFO) -> Int64 {
        var value: curl_off_t = 0
        return ccurl_get_offset(handle, info, &value) == CURLE_OK ? Int64(value) : 0
    }

    func long(_ info: CURLINFO) -> Int {
        var value = 0
        return ccurl_get_long(handle, info, &value) == CURLE_OK ? value : 0
    }
}
