// Wherry: the trust state of an origin.
// SPDX-License-Identifier: Apache-2.0

internal import CLinux
import WherrySystem

/// The trust state of an origin in a loop; used only by the loop's driver.
final class TrustedHost {
    /// The result of the last full handshake.
    struct Peer {
        /// X509_V_ERR_*; 0 if the chain is valid.
        var error: Int32
        /// OpenSSL's message for the error.
        var text: String
        /// The subject of the certificate that caused the error, or else of the server's
        /// certificate.
        var subject: String
        var issuer: String
        var leafSubject: String
        /// Whether the chain leads to none of the host's anchors.
        var isUnpinned: Bool
        /// Whether the certificate has no host name or address in its subjectAltName.
        var isUnnamed: Bool
        /// The base64 SHA-256 of the key; `nil` without pins, or if the key is unreadable.
        var key: String?
    }

    let origin: Origin
    let pins: HostPins?
    let identity: ClientIdentity?
    var peer: Peer?
    /// Whether a pin mismatch was already reported.
    var isReported = false
    private unowned(unsafe) let loop: CurlLoop
    private let watch = UnsafeMutablePointer<clinux_peer_watch>.allocate(capacity: 1)
    private let anchors: UnsafeMutableBufferPointer<UInt8>?

    init(_ origin: Origin, loop: CurlLoop) {
        let trust = loop.configuration.trust
        self.origin = origin
        self.loop = loop
        let pins = trust.pins.pins(of: origin.host)
        self.pins = pins
        identity = trust.identities[origin.text]
        anchors = pins.flatMap { pins in
            guard !pins.anchors.isEmpty else { return nil }
            let memory = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: pins.anchors.count)
            _ = memory.initialize(from: pins.anchors)
            return memory
        }
        watch.initialize(to: clinux_peer_watch())
    }

    deinit {
        watch.deallocate()
        anchors?.deallocate()
    }

    /// Whether the host's pins have expired.
    var isExpired: Bool {
        pins?.expires.map { loop.clock.wallSeconds() >= Double($0) } ?? false
    }

    /// Whether the host's pins are enforced.
    var pinsCount: Bool {
        pins != nil && !loop.configuration.trust.onlyReportsPins && !isExpired
    }

    /// Observes OpenSSL's verification in the handshakes of a new connection. Returns `false` if
    /// unavailable.
    func watch(_ context: UnsafeMutableRawPointer) -> Bool {
        let trust = loop.configuration.trust
        watch.pointee.told = { context, peer in
            guard let context, let peer else { return }
            Unmanaged<TrustedHost>.fromOpaque(context).takeUnretainedValue().hear(peer)
        }
        watch.pointee.notified = { context, connection, isClosed in
            guard let context, let connection else { return }
            let loop = Unmanaged<TrustedHost>.fromOpaque(context).takeUnretainedValue().loop
            if isClosed != 0 {
                loop.closedByPeer.insert(connection)
            } else if !loop.closedByPeer.isEmpty {
                loop.closedByPeer.remove(connection)
            }
        }
        watch.pointee.context = Unmanaged.passUnretained(self).toOpaque()
        let counts = anchors != nil && !isExpired
        watch.pointee.anchors = counts ? anchors.flatMap { UnsafePointer($0.baseAddress) } : nil
        watch.pointee.anchor_bytes = counts ? UInt64(anchors?.count ?? 0) : 0
        watch.pointee.only_anchors = counts && trust.allowsInvalid && !trust.onlyReportsPins ? 1 : 0
        watch.pointee.checks_name =
            !loop.configuration.insecure && trust.checksName ? 1 : 0
        watch.pointee.only_reports = trust.onlyReportsPins ? 1 : 0
        return clinux_peer_watch_start(context, watch) == 1
    }

    private func hear(_ found: UnsafePointer<clinux_peer>) {
        func text<Characters>(_ keyPath: KeyPath<clinux_peer, Characters>) -> String {
            withUnsafeBytes(of: found.pointee[keyPath: keyPath]) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
        }
        var peer = Peer(
            error: found.pointee.error,
            text: found.pointee.text.map { String(cString: $0) } ?? "",
            subject: text(\.subject), issuer: text(\.issuer), leafSubject: text(\.leaf_subject),
            isUnpinned: found.pointee.is_unpinned != 0,
            isUnnamed: found.pointee.is_unnamed != 0)
        if pins != nil, let leaf = found.pointee.leaf {
            let bytes = UnsafeBufferPointer(start: leaf, count: Int(found.pointee.leaf_bytes))
            peer.key = Certificate(der: Array(bytes))?.keyDigest
        }
        self.peer = peer
        guard let pins, loop.configuration.trust.onlyReportsPins, !isExpired else { return }
        let hasKey = pins.keys.isEmpty || peer.key.map { pins.keys.contains($0) } ?? false
        if peer.isUnpinned || !hasKey { report(mismatch) }
    }

    /// Reports a pin mismatch once.
    func report(_ text: String) {
        guard !isReported else { return }
        isReported = true
        loop.report("\(text). The request continues, because pins are only reported.")
    }

    /// A message that describes how the server differs from its pins.
    var mismatch: String {
        let of = peer.map { " of \"\($0.leafSubject)\"" } ?? ""
        guard peer?.isUnpinned != true else {
            return
                "\(origin.text): the certificate chain\(of) does not lead to a pinned certificate"
        }
        let key = peer?.key.map { ", sha256/\($0)," } ?? ""
        return
            "\(origin.text): the key\(of)\(key) is not one of the \(pins?.keys.count ?? 0) pinned keys of the host"
    }
}

extension CurlLoop {
    /// Returns the state of an origin.
    func host(_ origin: Origin) -> TrustedHost {
        if let host = hosts[origin.text] { return host }
        let host = TrustedHost(origin, loop: self)
        hosts[origin.text] = host
        return host
    }
}

/// Whether certificates can be inspected during libcurl's handshakes.
package enum TrustedCertificates {
    package static var areSupported: Bool { clinux_peer_is_available() == 1 }
}
