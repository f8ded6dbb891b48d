// Wherry: the loop that owns a multi handle, and its thread.
// SPDX-License-Identifier: Apache-2.0

internal import CCurl
internal import CLinux
import Glibc
import Synchronization
import WherrySystem

/// Owns a libcurl multi handle and all its easy handles.
///
/// One thread at a time turns the loop: as a rule its own, which starts with the first exchange
/// and sleeps while there is none; or the thread of a caller that waits for its answer anyway
/// (`drive`), which saves a small request two changes of thread. All members below "Turning" are
/// touched by that thread only; everything others have to say goes through the mailbox.
final class CurlLoop: @unchecked Sendable {  // mailbox under its monitor, the rest as said above
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
        /// The thread looks after a loop that a caller left for a moment.
        var isWatched = false
        /// How many times a caller has turned the loop.
        var visits = 0
        /// A caller waits for the thread to make way.
        var isWanted = false
        /// The number of callers that wait for responses while another thread runs the loop.
        var bystanders = 0
        /// The driver is in epoll, or about to be, and has seen every message before.
        var isAsleep = false
        var isClosing = false
        /// The loop refuses new messages.
        var isRefusing = false
        /// Nothing is left but perhaps the thread, which is about to end.
        var isClosed = false
        /// A caller waits for the thread to end.
        var isJoining = false
    }

    let configuration: TransportConfiguration
    let clock: any Clock
    let report: @Sendable (String) -> Void
    let proxies: ProxyRules
    let systemRoots: Bool
    let mailbox = Monitor(Mailbox())
    /// Signalled with the mailbox locked; everything else with it is the driver's.
    var waker: EventFD?
    let wakerDescriptor: Int32
    let exitDescriptor = ProcessExit.descriptor
    let forkGeneration = ForkGuard.current
    /// The thread that runs the loop now. Calls from inside the loop are recognized by it.
    let drivingThread = Atomic<UInt>(0)
    var observation: ClockObservation?

    // Turning: one thread, and callbacks of libcurl inside it, so that the accesses of one another
    // never overlap and need no check.
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
    /// The messages being read; its memory and the mailbox's change places.
    @exclusivity(unchecked) var taken: [Message] = []
    /// Who waits for the end of this turn.
    @exclusivity(unchecked) var listeners: [any TurnListener] = []
    /// The listeners being notified; swaps its memory with `listeners`.
    @exclusivity(unchecked) var told: [any TurnListener] = []
    /// Messages that arose inside the loop itself.
    @exclusivity(unchecked) var inner: [Message] = []
    /// When libcurl wants to be called, in real time.
    @exclusivity(unchecked) var curlDeadline = Instant.never
    /// No deadline of an exchange lies before this.
    @exclusivity(unchecked) var nextSweep = Instant.never
    /// Why nothing is started any more.
    @exclusivity(unchecked) var refusal: TransportError?
    @exclusivity(unchecked) var isStarting = false
    /// Some that wait may start since an answer came.
    @exclusivity(unchecked) var hasNewRoom = false
    /// The last streams that hosts have looked at, of connections of HTTP/2 that they are about to
    /// close, by local port.
    @exclusivity(unchecked) var goneAway: [Int32: UInt32] = [:]
    /// TLS connections, by the address of OpenSSL's object, on which the peer sent close_notify.
    @exclusivity(unchecked) var closedByPeer: Set<UnsafeRawPointer> = []
    /// Counts the calls in which libcurl looks at the handles it was given.
    @exclusivity(unchecked) var curlCalls = 0
    let inflateBuffer = InflateBuffer()
    /// Memory of delivered pieces: as many as one exchange has out, and the next.
    let blocks = BlockPool(blockSize: Exchange.pieceSize, most: Exchange.window + 1)
    /// What each host is held to, and was found to be. Kept as long as connections may be: OpenSSL
    /// knows them by address.
    @exclusivity(unchecked) var hosts: [String: TrustedHost] = [:]
    /// PEM certificates that handles are lent.
    let caCertificates: UnsafeMutableRawBufferPointer?
    /// Addresses of hosts that are not looked up, which handles are lent.
    let resolvedHosts: UnsafeMutablePointer<curl_slist>?

    static let isReady: Bool = {
        // libcurl writes TLS session secrets to the file named by this variable. The user who runs a
        // setuid program must not get them (SEC-T11).
        let isSet = getenv("SSLKEYLOGFILE") != nil
        if isSet && clinux_secure_variable("SSLKEYLOGFILE") == nil { unsetenv("SSLKEYLOGFILE") }
        return ProcessExit.guarding { ccurl_global_init() == CURLE_OK } ?? false
    }()

    init(
        _ configuration: TransportConfiguration, clock: any Clock,
        report: @escaping @Sendable (String) -> Void = { _ in }
    ) throws(SystemError) {
        self.configuration = configuration
        self.clock = clock
        self.report = report
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
        caCertificates = configuration.trust.caCertificates.map { bytes in
            let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
            memory.copyBytes(from: bytes)
            return memory
        }
        resolvedHosts = configuration.resolve.reduce(nil) { curl_slist_append($0, $1) ?? $0 }
        now = clock.now()
        queue = ConnectionQueue(
            perHost: configuration.maxPerHost, total: configuration.maxConnections)
        queue.setRate(configuration.rate)
        // libcurl would read the environment for each request, which costs 3,000 instructions.
        proxies = ProxyRules(configuration.proxies)
        systemRoots = access("/etc/ssl/certs", R_OK | X_OK) == 0
        ccurl_share_data(share, CURL_LOCK_DATA_SSL_SESSION)
        ccurl_share_data(share, CURL_LOCK_DATA_DNS)
        let context = Unmanaged.passUnretained(self).toOpaque()
        ccurl_multi_set_socket(multi, { _, socket, what, context, _ in
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
        ccurl_multi_set_timer(multi, { _, milliseconds, context in
            let deadline = milliseconds < 0
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
            caCertificates?.deallocate()
            curl_slist_free_all(resolvedHosts)
        }
        // What a forked child has is its parent's: libcurl would say goodbye on shared connections,
        // and the thread is not there.
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
        _ = ProcessExit.pass {
            pool.removeAll()
            curl_multi_cleanup(multi)
            curl_share_cleanup(share)
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
                return TransportError(.forked, "The client belongs to the parent of this process")
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

    /// Has another thread that turns the loop look at the clock and ask `isDone` again.
    func lookAgain() {
        guard !isDrivenHere else { return }
        mailbox.withLock { mailbox in
            guard mailbox.driver != .nobody else { return }
            mailbox.messages.append(.lookAgain)
            _ = wake(&mailbox)
        }
    }

    /// Returns `false` if no thread reads the mailbox and none can be started.
    func wake(_ mailbox: inout Mailbox) -> Bool {
        if mailbox.driver == .nobody { return handToThread(&mailbox) }
        if mailbox.isAsleep {
            mailbox.isAsleep = false
            waker?.signal()
        }
        return true
    }

    /// Lets the loop's own thread turn it from now on; starts that thread if there is none.
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
        .noMemory, "No thread could be started for the transfer")
    static let closedError = TransportError(.cancelled, "The client was closed")
    static let exitError = TransportError(.cancelled, "The process is exiting")
    /// How long `close` waits, in nanoseconds, for a driver that the exit of the process left behind.
    static let exitPatience: Int64 = 50_000_000
}
