// Wherry: the CA certificates that a client was given.
// SPDX-License-Identifier: Apache-2.0

internal import CCurl
internal import CLinux
import WherrySystem

/// The CA certificates of a loop. OpenSSL decodes each one when a chain needs it; used only by the
/// loop's driver.
///
/// libcurl would decode all 140 certificates of a usual file for the first connection of each
/// client, and those given as bytes for every connection, which takes 20 ms. A file is indexed once
/// in a process, whatever the number of clients, and again after it has changed.
package final class TrustAnchors {
    private enum Source {
        case file(String)
        case bytes
    }

    private let source: Source
    private var handle: OpaquePointer

    /// Indexes a file; `nil` if libcurl must load it.
    init?(file: String) {
        guard let handle = Self.anchors(of: file) else { return nil }
        source = .file(file)
        self.handle = handle
    }

    /// Indexes PEM certificates; `nil` if libcurl must load them.
    init?(bytes: [UInt8]) {
        let found = bytes.withUnsafeBytes {
            clinux_anchors_of_bytes($0.baseAddress, UInt64($0.count))
        }
        guard let found else { return nil }
        source = .bytes
        handle = found
    }

    /// Whether PEM bytes hold only certificates that OpenSSL can load. If not, they may still be
    /// valid.
    package static func areOrdinary(_ bytes: [UInt8]) -> Bool {
        TrustAnchors(bytes: bytes) != nil
    }

    deinit {
        if ProcessExit.pass({ clinux_anchors_release(handle) }) == nil {
            ProcessExit.keep(UnsafeRawPointer(handle))
        }
    }

    /// Makes the connections of an SSL_CTX trust the certificates, with the current contents of the
    /// file.
    func use(for context: UnsafeMutableRawPointer) -> CURLcode {
        if case .file(let path) = source {
            guard let current = Self.anchors(of: path) else {
                let isLoaded = path.withPath { clinux_anchors_load_file(context, $0) == 1 }
                return isLoaded ? CURLE_OK : CURLE_SSL_CACERT_BADFILE
            }
            clinux_anchors_release(handle)
            handle = current
        }
        return clinux_anchors_use(context, handle) == 1 ? CURLE_OK : CURLE_SSL_CACERT_BADFILE
    }

    /// The number of certificates.
    var count: Int { Int(clinux_anchors_count(handle)) }
    /// The address of the index, which clients with the same file share.
    var identity: UInt { UInt(bitPattern: handle) }

    /// libcurl's message for a file that it cannot load; `nil` for bytes.
    var failure: String? {
        guard case .file(let path) = source else { return nil }
        return "error setting certificate file: \(path)"
    }

    /// Whether this libcurl loads no certificates if `CURLOPT_CAINFO` is `NULL`.
    ///
    /// Since 8.21 (curl pull request 21901), it then loads the file that it was built with, whose
    /// certificates would be trusted too.
    static let canReplace: Bool = {
        var text: UnsafePointer<CChar>?
        return ccurl_version(&text) < 0x08_15_00
    }()

    private static func anchors(of path: String) -> OpaquePointer? {
        path.withPath { clinux_anchors_of_file($0) }
    }
}

extension CurlLoop {
    /// The PEM certificates that libcurl loads; `nil` if there are none.
    var caCertificates: UnsafeMutableRawBufferPointer? {
        if let lentCertificates { return lentCertificates }
        lentCertificates = configuration.trust.caCertificates.map { bytes in
            let memory = UnsafeMutableRawBufferPointer.allocate(
                byteCount: bytes.count, alignment: 1)
            memory.copyBytes(from: bytes)
            return memory
        }
        return lentCertificates
    }

    /// Indexes the CA certificates; returns `nil` if libcurl must load them.
    ///
    /// libcurl also loads them for an https proxy, since it calls the function that chooses the
    /// certificates for the proxy's connection too, and with a directory or revocation lists, whose
    /// certificates would be found in another order.
    func makeAnchors() -> TrustAnchors? {
        let trust = configuration.trust
        guard TrustAnchors.canReplace, trust.canCheck, !configuration.insecure,
            !proxies.hasSecureProxy, trust.caDirectory == nil, trust.crlFile == nil
        else { return nil }
        if let bytes = trust.caCertificates { return TrustAnchors(bytes: bytes) }
        return (configuration.caFile ?? systemRoots?.file).flatMap { TrustAnchors(file: $0) }
    }
}
