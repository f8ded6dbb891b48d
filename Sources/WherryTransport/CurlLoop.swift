// Wherry: the network loop and its thread.
// SPDX-License-Identifier: Apache-2.0

internal import CCurl
internal import CLinux
import Glibc
import Synchronization
import WherrySystem

/// Owns a libcurl multi handle and all its easy handles.
///
/// One thread at a time runs the loop. Usually it is the loop's own thread, which starts with the
/// first exchange and sleeps while there is none. It can also be the thread of a caller that waits
/// for its response (`drive`), which saves a small request two thread switches. Only that thread
/// touches the members below "Turning"; others communicate through the mailbox.
// The mailbox is protected by its monitor, everything else as described above.
final class CurlLoop: @unchecked Sendable {
    enum Message {
        case start(Exchange)
        case cancel(Exchange)
        case setPaused(Exchange, Bool)
        case setPriority(Exchange, Int8)
        case continueReceiving(Exchange)
        case continueSending(Exchange)
        case decide(Exchange, BodyDisposition)
        case schedule(Instant, @Sendable () -> Void)
        case tell(any TurnListener)
        case limits(perHost: Int, total: Int)
        case rate(RequestRate)
        /// Another thread has changed state that the driver depends on.
        case lookAgain
    }

    enum Driver { case nobody, thread, caller }

    struct Mailbox {
        var messages: [Message] = []
        var driver = Driver.nobody
        var thread: NativeThread?
        /// Whether the thread waits for a caller that left the loop and may return.
        var isWatched = false
        /// The number of times that a caller has run the loop.
        var visits = 0
        /// Whether a caller waits for the thread to yield.
        var isWanted = false
        /// The number of callers that wait for responses while another thread runs the loop.
        var bystanders = 0
        /// Whether the driver is in epoll, or about to be, and has read every message before.
        var isAsleep = false
        var isClosing = false
        /// Whether the loop refuses new messages.
        var isRefusing = false
        /// Whether everything is freed, except perhaps the thread, which is about to end.
        var isClosed = false
        /// Whether a caller waits for the thread to end.
        var isJoining = false
    }

    let configuration: TransportConfiguration
    let clock: any Clock
    let report: @Sendable (String) -> Void
    let proxies: ProxyRules
    // Reading these values from their structures would copy the whole structures for every request.
    /// Whether there is a proxy for any connection.
    let usesProxies: Bool
    /// Whether hosts differ in how they are trusted.
    let hasTrustByHost: Bool
    let mailbox = Monitor(Mailbox())
    /// Signaled while the mailbox is locked; otherwise used only by the driver.
    var waker: EventFD?
    let wakerDescriptor: Int32
    let exitDescriptor = ProcessExit.descriptor
    let forkGeneration = ForkGuard.current
    /// The thread that runs the loop now. Identifies calls from inside the loop.
    let drivingThread = Atomic<UInt>(0)
    var observation: ClockObservation?

    // Turning: one thread, and libcurl's callbacks inside of it. Accesses never overlap and need no
    // check.
    let multi: UnsafeMutableRawPointer
    let share: UnsafeMutableRawPointer
    let sockets: SocketTable
    @exclusivity(unchecked) var now: Instant
    @exclusivity(unchecked) var sawClosing = false
    @exclusivity(unchecked) private var isTornDown = false
    @exclusivity(unchecked) var eager: [Exchange] = []
    @exclusivity(unchecked) var active: [Exchange] = []
    @exclusivity(unchecked) var pool: [CurlEasy] = []
    @exclusivity(unchecked) var queue: ConnectionQueue
    @exclusivity(unchecked) var timers: [(time: Instant, body: @Sendable () -> Void)] = []
    /// The messages being read; swaps its memory with the mailbox.
    @exclusivity(unchecked) var taken: [Message] = []
    /// The listeners for the end of this iteration.
    @exclusivity(unchecked) var listeners: [any TurnListener] = []
    /// The listeners being notified; swaps its memory with `listeners`.
    @exclusivity(unchecked) var told: [any TurnListener] = []
    /// Messages posted by the loop itself.
    @exclusivity(unchecked) var inner: [Message] = []
    /// The time when libcurl wants to be called, in real time.
    @exclusivity(unchecked) var curlDeadline = Instant.never
    /// A lower bound for the deadlines of all exchanges.
    @exclusivity(unchecked) var nextSweep = Instant.never
    /// The error for new exchanges, if none may start.
    @exclusivity(unchecked) var refusal: TransportError?
    @exclusivity(unchecked) var isStarting = false
    /// The sockets that hold back packets (``cork(_:)``).
    @exclusivity(unchecked) var corked: [Int32] = []
    /// The exchanges whose HTTP/2 response began before the request was sent completely.
    @exclusivity(unchecked) var early: [Exchange] = []
    /// Whether waiting exchanges may start because of a response.
    @exclusivity(unchecked) var hasNewRoom = false
    /// The last stream ID from the GOAWAY of each HTTP/2 connection about to be closed, by local
    /// port.
    @exclusivity(unchecked) var goneAway: [Int32: UInt32] = [:]
    /// TLS connections whose peer sent close_notify, by the address of OpenSSL's object.
    @exclusivity(unchecked) var closedByPeer: Set<UnsafeRawPointer> = []
    /// The number of libcurl calls that process its handles.
    @exclusivity(unchecked) var curlCalls = 0
    let inflateBuffer = InflateBuffer()
    /// Memory for delivered chunks: the maximum number of outstanding chunks of an exchange, plus
    /// one.
    let blocks = BlockPool(blockSize: Exchange.pieceSize, most: Exchange.window + 1)
    /// The trust requirements and findings of each host. Kept as long as connections may exist:
    /// OpenSSL refers to them by address.
    @exclusivity(unchecked) var hosts: [String: TrustedHost] = [:]
    /// The roots that libcurl is given if the client names none.
    private(set) lazy var systemRoots = SystemRoots.find()
    /// The indexed CA certificates; `nil` if libcurl loads them.
    private(set) lazy var anchors = makeAnchors()
    /// PEM certificates shared by all handles, if libcurl loads them.
    @exclusivity(unchecked) var lentCertificates: UnsafeMutableRawBufferPointer?
    /// Host addresses that replace name lookup, shared by all handles.
    let resolvedHosts: UnsafeMutablePointer<curl_slist>?

    static let isReady: Bool = {
        // libcurl writes TLS session secrets to the file named by this variable. The user of a
        // setuid program must not get them (SEC-T11).
        let isSet = getenv("SSLKEYLOGFILE") != nil
        if isSet && clinux_secure_variable("SSLKEYLOGFILE") == nil { unsetenv("SSLKEYLOGFILE") }
        return ProcessExit.guarding { ccurl_global_init() == CURLE_OK } ?? false
    }()

    /// The version of libcurl in this process if it is older than 7.88, and would ignore options that
    /// Wherry sets; otherwise `nil`.
    private static let oldVersion: String? = {
        var text: UnsafePointer<CChar>?
        guard ccurl_version(&text) < 0x07_58_00 else { return nil }
        return text.map { String(cString: $0) } ?? ""
    }()

    init(
        _ configuration: TransportConfiguration, clock: any Clock,
        report: @escaping @Sendable (String) -> Void = { _ in }
    ) throws(SystemError) {
        self.configuration = configuration
        self.clock = clock
        self.report = report
        if let version = Self.oldVersion { throw SystemError(ELIBACC, "use libcurl \(version)") }
        guard Self.isReady, let multi = curl_multi_init() else {
            throw SystemError(DescriptorLimit.isReached ? EMFILE : ENOMEM, "start libcurl")
        }
        var isMade = false
        defer { if !isMade { curl_multi_cleanup(multi) } }
        let waker = try EventFD()
        WakeupSockets.setCloseOnExec(of: multi, below: waker.descriptor)
        self.waker = waker
        wakerDescriptor = waker.descriptor
        sockets = try SocketTable(waker: waker, exit: exitDescriptor)
        guard let share = curl_share_init() else { throw SystemError(ENOMEM, "start libcurl") }
        isMade = true
        self.multi = multi
        self.share = share
        resolvedHosts = configuration.resolve.reduce(nil) { curl_slist_append($0, $1) ?? $0 }
        now = clock.now()
        queue = ConnectionQueue(
            perHost: configuration.maxPerHost, total: configuration.maxConnections)
        queue.setRate(configuration.rate)
        // Parsed once, because libcurl would read the environment for each request, at a cost of
        // 3,000 instructions.
        proxies = ProxyRules(configuration.proxies)
        usesProxies = !proxies.isEmpty
        hasTrustByHost = configuration.trust.isByHost
        ccurl_share_data(share, CURL_LOCK_DATA_SSL_SESSION)
        ccurl_share_data(share, CURL_LOCK_DATA_DNS)
        let context = Unmanaged.passUnretained(self).toOpaque()
        ccurl_multi_set_socket(
            multi,
            { _, socket, what, context, _ in
                let events =
                    switch what {
                    case CURL_POLL_IN: CLINUX_READ
                    case CURL_POLL_OUT: CLINUX_WRITE
                    case CURL_POLL_INOUT: CLINUX_READ | CLINUX_WRITE
                    default: 0
                    }
                Unmanaged<CurlLoop>.fromOpaque(context!)._withUnsafeGuaranteedRef {
                    $0.sockets.want(socket, UInt8(events))
                }
                return 0
            }, context)
        ccurl_multi_set_timer(
            multi,
            { _, milliseconds, context in
                let deadline =
                    milliseconds < 0
                    ? Instant.never
                    : SystemClock.shared.now().advanced(by: .milliseconds(Int64(milliseconds)))
                Unmanaged<CurlLoop>.fromOpaque(context!)._withUnsafeGuaranteedRef {
                    $0.curlDeadline = deadline
                }
                return 0
            }, context)
        setConnectionCache()
        observation = clock.observe(for: self) { $0.clockMoved() }
    }

    deinit {
        defer {
            lentCertificates?.deallocate()
            curl_slist_free_all(resolvedHosts)
        }
        // The handles of a forked child belong to its parent: libcurl would shut down shared
        // connections. The thread does not exist in the child.
        guard ForkGuard.current == forkGeneration else { return }
        tearDown()
        // After a close from inside the loop, no caller has joined the thread yet.
        if let thread = mailbox.withLock({ $0.thread }) {
            if thread.isCurrent { thread.detach() } else { thread.join() }
        }
    }

    /// Frees everything that libcurl holds, including idle connections.
    func tearDown() {
        guard !isTornDown else { return }
        isTornDown = true
        let isFreed: Void? = ProcessExit.pass {
            pool.removeAll()
            curl_multi_cleanup(multi)
            curl_share_cleanup(share)
        }
        if isFreed == nil {
            ProcessExit.keep(UnsafeRawPointer(multi))
            ProcessExit.keep(UnsafeRawPointer(share))
        }
    }

    // MARK: From any thread

    /// Posts a message, and makes sure that a thread reads it.
    ///
    /// - Parameter wake: How soon the loop's thread has to read it if no thread runs the loop.
    /// - Returns: `false` if no thread will ever read it. The receiver of an exchange was notified.
    @discardableResult
    func post(_ message: Message, wake: Wake = .now) -> Bool {
        if isDrivenHere {
            inner.append(message)
            return true
        }
        let refusal = mailbox.withLock { mailbox -> TransportError? in
            guard ForkGuard.current == forkGeneration else {
                return TransportError(
                    .forked, "The client belongs to the parent process. Create another client.")
            }
            guard !mailbox.isRefusing else {
                return ProcessExit.hasBegun
                    ? Self.exitError : TransportError(.shutDown, "The client was closed")
            }
            mailbox.messages.append(message)
            if mailbox.driver == .nobody && wake != .now {
                if wake == .never || watch(&mailbox) { return nil }
            } else if self.wake(&mailbox) {
                return nil
            }
            mailbox.messages.removeLast()
            return Self.noThreadError
        }
        if let refusal, case .start(let exchange) = message {
            exchange.refuse(refusal)
        }
        return refusal == nil
    }

    /// Wakes the driver after a test has moved the clock.
    private func clockMoved() {
        if isDrivenHere { inner.append(.lookAgain) } else { lookAgain() }
    }

    /// Makes another thread that runs the loop check the clock and `isDone` again.
    func lookAgain() {
        guard !isDrivenHere else { return }
        mailbox.withLock { mailbox in
            guard mailbox.driver != .nobody else { return }
            mailbox.messages.append(.lookAgain)
            _ = wake(&mailbox)
        }
    }

    /// Wakes the driver. Returns `false` if no thread reads the mailbox and none can be started.
    func wake(_ mailbox: inout Mailbox) -> Bool {
        if mailbox.driver == .nobody { return handToThread(&mailbox) }
        if mailbox.isAsleep {
            mailbox.isAsleep = false
            waker?.signal()
        }
        return true
    }

    /// Makes the loop's own thread run the loop from now on; starts that thread if needed.
    func handToThread(_ mailbox: inout Mailbox) -> Bool {
        guard hasThread(&mailbox) else { return false }
        mailbox.driver = .thread
        self.mailbox.notify()
        return true
    }

    func hasThread(_ mailbox: inout Mailbox) -> Bool {
        if mailbox.thread == nil {
            mailbox.thread = try? NativeThread(name: "wherry-network") { [self] in runThread() }
        }
        return mailbox.thread != nil
    }

    var isDrivenHere: Bool {
        drivingThread.load(ordering: .relaxed) == Self.currentThread
    }

    static var currentThread: UInt { UInt(pthread_self()) }

    static let noThreadError = TransportError(
        .noMemory, "Could not start a thread for the transfer")
    static let closedError = TransportError(.cancelled, "The client was closed")
    static let exitError = TransportError(.cancelled, "The process is exiting")
    /// The time that `close` waits, in nanoseconds, for a driver that the exit of the process left
    /// behind.
    static let exitPatience: Int64 = 30_000_000
}
