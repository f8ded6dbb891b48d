// Wherry: easy handles, pooled, and set up for an exchange.
// SPDX-License-Identifier: Apache-2.0

internal import CCurl
import Glibc
import WherrySystem

/// A libcurl easy handle with the exchange it carries.
///
/// Handles are reused, since a new one costs a fifth of a small request. Options that are the same
/// as last time are left alone; a handle on which a rarer one was set is reset before reuse.
final class CurlEasy {
    /// The options that differ from one exchange to the next, as they were set last.
    private struct Settled {
        var url = ""
        /// libcurl undoes content codings.
        var decodes: Bool?
        var headers: HeaderList?
        /// What the fields of our own were made for.
        var ownFields: OwnFields.Content?
        var connectTimeout: Int64 = -1
        var sharesByHandshake: Bool?
        var userAgent = ""
        /// "" for none.
        var proxy = ""
        /// GET without a body, as after a reset.
        var isGet = true
        /// Has a large buffer for sending.
        var isUpload = false
        /// libcurl says in words what it does.
        var isHeard = false
    }

    /// Where a handle is on its way through libcurl.
    private enum Run {
        /// Not given to libcurl, or not taken.
        case none
        /// Given to it in this turn of the loop, which has yet to look at it.
        case added(turn: Int)
    }

    let handle: UnsafeMutableRawPointer
    let errorText: UnsafeMutablePointer<CChar>
    /// What is carried; the loop holds it.
    @exclusivity(unchecked) private(set) var carried: Unmanaged<Exchange>?
    var exchange: Exchange? { carried?.takeUnretainedValue() }
    @exclusivity(unchecked) var head = HeadReader()
    /// The owner of the pool this handle is in, or of the exchange it carries.
    unowned(unsafe) let loop: CurlLoop
    /// No option is set that `prepare` would not set again.
    @exclusivity(unchecked) var isPlain = true
    @exclusivity(unchecked) private var settled = Settled()
    /// The URL in parts. Given the text alone, libcurl parses it for each request and puts it
    /// together again, an eighth of all that a small one costs.
    private let url: OpaquePointer
    @exclusivity(unchecked) private var ownFields = OwnFields()
    /// The host that the options of trust were set for, and whether its pins counted.
    @exclusivity(unchecked) var heldTo: (host: TrustedHost, pinsCount: Bool)?
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

    /// What holds for every exchange of the pool.
    private func setUp() {
        let context = Unmanaged.passUnretained(self).toOpaque()
        set(CURLOPT_NOSIGNAL, 1)
        set(CURLOPT_NOPROGRESS, 1)
        set(CURLOPT_FOLLOWLOCATION, 0)
        set(CURLOPT_HTTP_TRANSFER_DECODING, 1)
        set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        set(CURLOPT_TCP_NODELAY, 1)
        // A cancelled lookup is left to its thread: waiting for it would hold up everybody.
        set(CURLOPT_QUICK_EXIT, 1)
        set(CURLOPT_DNS_CACHE_TIMEOUT, 60)
        ccurl_set_text(handle, CURLOPT_PROTOCOLS_STR, "http,https")
        ccurl_set_pointer(handle, CURLOPT_ERRORBUFFER, errorText)
        ccurl_set_pointer(handle, CURLOPT_PRIVATE, context)
        ccurl_set_write(handle, { bytes, _, count, context in
            CurlEasy.with(context) { $0.receive(bytes, count) }
        }, context)
        ccurl_set_header(handle, { bytes, _, count, context in
            CurlEasy.with(context) { $0.receiveHeader(bytes, count) }
        }, context)
        ccurl_set_read(handle, { bytes, size, count, context in
            CurlEasy.with(context) { $0.send(bytes, size * count) }
        }, context)
        ccurl_set_seek(handle, { context, offset, origin in
            CurlEasy.with(context) { $0.seek(offset, origin) }
        }, context)
        ccurl_set_sockopt(handle, { context, socket, _ in
            guard let context else { return 0 }
            Unmanaged<CurlLoop>.fromOpaque(context).takeUnretainedValue().sockets.opened(socket)
            return 0
        }, Unmanaged.passUnretained(loop).toOpaque())
        ccurl_set_close(handle, { context, socket in
            guard let context else { return 0 }
            let loop = Unmanaged<CurlLoop>.fromOpaque(context).takeUnretainedValue()
            loop.sockets.closed(socket)
            return close(socket)
        }, Unmanaged.passUnretained(loop).toOpaque())
        ccurl_set_prereq(handle, { context, _, _, port, localPort in
            CurlEasy.with(context) { $0.mayUseConnection(to: port, from: localPort) }
                ? Int32(CCURL_PREREQ_OK) : Int32(CCURL_PREREQ_ABORT)
        }, context)
        ccurl_set_debug(handle, { _, kind, bytes, count, context in
            if kind == CURLINFO_TEXT { CurlEasy.with(context) { $0.hear(bytes, count) } }
            return 0
        }, context)
        ccurl_set_share(handle, loop.share)
        setUpTrust()
        setUpWay()
        // The field itself is one of ours: without this, libcurl would undo no coding.
        ccurl_set_text(handle, CURLOPT_ACCEPT_ENCODING, ContentDecoding.all.fieldValue)
    }

    /// Where connections go first.
    private func setUpWay() {
        let configuration = loop.configuration
        // The proxy is chosen for each request. Without these two, libcurl reads the environment.
        ccurl_set_text(handle, CURLOPT_PROXY, "")
        ccurl_set_text(handle, CURLOPT_NOPROXY, "")
        if !loop.proxies.isEmpty, let credentials = configuration.proxyCredentials {
            let parts = credentials.split(
                separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            ccurl_set_text(handle, CURLOPT_PROXYUSERNAME, String(parts[0]))
            ccurl_set_text(handle, CURLOPT_PROXYPASSWORD, parts.count > 1 ? String(parts[1]) : "")
        }
        if let hosts = loop.resolvedHosts { ccurl_set_resolve(handle, hosts) }
        if let name = configuration.interface { ccurl_set_text(handle, CURLOPT_INTERFACE, name) }
        if let path = configuration.unixSocket {
            setPath(CURLOPT_UNIX_SOCKET_PATH, path)
            // What came in between is found by ports, which these have not; and they are cheap.
            ccurl_set_long(handle, CURLOPT_FORBID_REUSE, 1)
        }
    }

    /// Sets an option that is a path, byte by byte.
    @discardableResult
    func setPath(_ option: CURLoption, _ path: String?) -> CURLcode {
        guard let path else { return ccurl_set_text(handle, option, nil) }
        return path.withPath { ccurl_set_text(handle, option, $0) }
    }

    /// The handle that a callback is about, without a reference counted.
    @inline(__always)
    private static func with<Result>(
        _ context: UnsafeMutableRawPointer?, _ body: (CurlEasy) -> Result
    ) -> Result {
        // Set by us in `setUp`, never nil.
        let result = Unmanaged<CurlEasy>.fromOpaque(context!)._withUnsafeGuaranteedRef(body)
        // The body may have waited for a disk, longer than the exit of the process waits for it.
        ProcessExit.blockIfOver()
        return result
    }

    /// Prepares the handle for its exchange; `nil`, or why that cannot be.
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
            return TransportError(.noMemory, "No memory for the fields of the request")
        }
        if let error = prepareTrust(exchange.request.url.origin) { return error }
        head.start(limit: exchange.request.maxHeaderBytes)
        hear(exchange)
        var code = prepareUsual(exchange.request)
        prepareRare(exchange.request, isFresh: exchange.state.restarts >= CurlEasy.mostRestarts)
        if code == CURLE_OK { code = prepareMethod(exchange.request) }
        guard code == CURLE_OK else {
            return TransportError(
                .internal, "libcurl refused the request: \(Self.text(code))",
                curlCode: Int32(code.rawValue))
        }
        return nil
    }

    /// What every exchange has; most of it is as it was last time.
    private func prepareUsual(_ request: borrowing ExchangeRequest) -> CURLcode {
        if !Self.areSame(settled.url, request.url.text) {
            settled.url = ""
            let code = prepareURL(request.url.text)
            guard code == CURLE_OK else { return code }
            settled.url = request.url.text
        }
        if !loop.proxies.isEmpty {
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
        // Over TLS the handshake tells whether requests can share a connection. Without it only the
        // first answer does, and a slow one would hold up everything else for its host.
        let isSecure = request.url.origin.isSecure
        if settled.sharesByHandshake != isSecure {
            settled.sharesByHandshake = isSecure
            set(CURLOPT_PIPEWAIT, isSecure ? 1 : 0)
        }
        decodeByCurl(false)
        return CURLE_OK
    }

    /// Whether libcurl says in words what it does.
    func setHeard(_ isHeard: Bool) {
        guard settled.isHeard != isHeard else { return }
        settled.isHeard = isHeard
        set(CURLOPT_VERBOSE, isHeard ? 1 : 0)
    }

    private func prepareURL(_ text: String) -> CURLcode {
        // What it cannot take apart, libcurl shall refuse in its own words; and 7.88 loses the zone
        // of an IPv6 address ("[fe80::1%25eth0]") when it copies the parts.
        let isParsed = !text.utf8.contains(UInt8(ascii: "["))
            && curl_url_set(url, CURLUPART_URL, text, 0) == CURLUE_OK
        ccurl_set_pointer(handle, CURLOPT_CURLU, isParsed ? UnsafeMutableRawPointer(url) : nil)
        // Else it would be made of the parts.
        return ccurl_set_text(handle, CURLOPT_URL, text)
    }

    /// The fields of the request, behind those that the transport adds.
    private func prepareFields(_ request: borrowing ExchangeRequest) -> CURLcode {
        // To a proxy, libcurl itself says who asks.
        if !loop.proxies.isEmpty, !Self.areSame(settled.userAgent, request.userAgent) {
            settled.userAgent = request.userAgent
            ccurl_set_text(
                handle, CURLOPT_USERAGENT, request.userAgent.isEmpty ? nil : request.userAgent)
        }
        var content = OwnFields.Content()
        if !request.headers.hasAcceptEncoding { content.decoding = request.decoding }
        if !request.headers.hasUserAgent && loop.proxies.isEmpty {
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

    /// Whether libcurl undoes the coding of a body. It may still be told when the head is there.
    func decodeByCurl(_ decodes: Bool) {
        guard settled.decodes != decodes else { return }
        settled.decodes = decodes
        set(CURLOPT_HTTP_CONTENT_DECODING, decodes ? 1 : 0)
    }

    /// The size of the pieces in which libcurl reads.
    static func bufferSize(_ request: borrowing ExchangeRequest) -> Int {
        request.isBulk ? 524_288 : 16_384
    }

    /// The weight of a stream of HTTP/2 (RFC 7540 section 5.3.2), 1 to 256; 16 is that of all without.
    static func streamWeight(_ priority: Int8) -> Int {
        let priority = Int(priority)
        return priority < 0 ? max(1, 16 + priority * 15 / 100) : min(256, 16 + priority * 240 / 100)
    }

    /// Byte for byte: to Swift the two forms of an accented letter are equal.
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

    /// What few exchanges have: a reset undoes it.
    private func prepareRare(_ request: borrowing ExchangeRequest, isFresh: Bool) {
        if request.httpVersion != 0 {
            isPlain = false
            set(
                CURLOPT_HTTP_VERSION,
                request.httpVersion == 11 ? CURL_HTTP_VERSION_1_1 : CURL_HTTP_VERSION_2_0)
        }
        if request.priority != 0, request.httpVersion != 11 {
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
        if request.deniesMetered { denyMetered() }
        if request.maxSendSpeed > 0 || request.maxReceiveSpeed > 0 {
            isPlain = false
            ccurl_set_offset(handle, CURLOPT_MAX_SEND_SPEED_LARGE, curl_off_t(request.maxSendSpeed))
            ccurl_set_offset(handle, CURLOPT_MAX_RECV_SPEED_LARGE, curl_off_t(request.maxReceiveSpeed))
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
            // First a plain GET, since an upload carried before would otherwise stay one.
            set(CURLOPT_HTTPGET, 1)
            set(CURLOPT_NOBODY, 1)
        case .none where ["POST", "PUT", "PATCH"].contains(request.method):
            // A method that expects content says that there is none (RFC 9110 8.6).
            prepareBody("", count: 0)
        case .none:
            set(CURLOPT_HTTPGET, 1)
        case .bytes(let bytes) where bytes.count <= CurlEasy.smallBody:
            // Not copied: the exchange holds the bytes until the handle is done.
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

    /// The body is not asked for piece by piece: libcurl was given the whole of it.
    var isGivenWhole: Bool {
        switch exchange?.request.body {
        case .bytes(let bytes): bytes.count <= CurlEasy.smallBody
        case .source: false
        case .some(.none), nil: true
        }
    }

    /// Bodies up to this size go to libcurl as they are; larger ones are read piece by piece, so
    /// that progress and silence can be told.
    static let smallBody = 65_536

    /// Lets go of the exchange, so that the handle may be used again.
    func detach() {
        carried = nil
        // libcurl frees the buffer of an upload only when its size changes.
        guard settled.isUpload else { return }
        settled.isUpload = false
        set(CURLOPT_UPLOAD_BUFFERSIZE, CurlEasy.smallBody)
    }

    /// Gives the handle to libcurl, which looks at it the next time it is called.
    func add() -> CURLMcode {
        let code = curl_multi_add_handle(loop.multi, handle)
        if code == CURLM_OK { run = .added(turn: loop.curlCalls) }
        return code
    }

    /// Whether libcurl has begun with it; before that, it tells of the exchange before.
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

    // MARK: After the end

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
            // The same as last time, as a rule: a string less to make.
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
