// Wherry: TLS options of libcurl and errors of certificate verification.
// SPDX-License-Identifier: Apache-2.0

internal import CCurl
import Glibc

extension CurlEasy {
    /// Sets the trust options that all hosts of the pool share.
    func setUpTrust() {
        let configuration = loop.configuration
        let trust = configuration.trust
        ccurl_set_long(
            handle, CURLOPT_SSLVERSION,
            trust.requiresTLS13 ? CURL_SSLVERSION_TLSv1_3 : CURL_SSLVERSION_TLSv1_2)
        setVerification(
            peer: !configuration.insecure, name: !configuration.insecure && trust.checksName)
        hasRoots = false
        if let file = trust.crlFile { setPath(CURLOPT_CRLFILE, file) }
        if trust.requiresStaple { ccurl_set_long(handle, CURLOPT_SSL_VERIFYSTATUS, 1) }
        let context = Unmanaged.passUnretained(self).toOpaque()
        // Called once per TLS connection.
        ccurl_set_ssl_context(
            handle,
            { _, secure, context in
                guard let context, let secure else { return CURLE_OK }
                return Unmanaged<CurlEasy>.fromOpaque(context)._withUnsafeGuaranteedRef {
                    $0.watchHandshake(secure)
                }
            }, context)
        watchSockets()
    }

    /// Sets the CA certificates of https connections. Returns whether libcurl had the memory.
    private func setRoots() -> Bool {
        guard !hasRoots else { return true }
        let (configuration, trust) = (loop.configuration, loop.configuration.trust)
        var codes: [CURLcode] = []
        if loop.anchors != nil {
            // `watchHandshake` adds the certificates. Without any path, some builds of libcurl would
            // trust OpenSSL's default roots, and newer ones cache the certificates for a day. No
            // file can exist below a device.
            codes = [
                ccurl_set_text(handle, CURLOPT_CAINFO, nil),
                ccurl_set_text(handle, CURLOPT_CAPATH, "/dev/null"),
            ]
        } else if let bytes = loop.caCertificates {
            codes = [
                ccurl_set_lent_blob(
                    handle, CURLOPT_CAINFO_BLOB, bytes.baseAddress, bytes.count),
                ccurl_set_text(handle, CURLOPT_CAINFO, nil),
                setPath(CURLOPT_CAPATH, trust.caDirectory),
            ]
        } else if configuration.caFile != nil || trust.caDirectory != nil {
            codes = [
                setPath(CURLOPT_CAINFO, configuration.caFile),
                setPath(CURLOPT_CAPATH, trust.caDirectory),
            ]
        } else if let roots = loop.systemRoots {
            codes = [
                setPath(CURLOPT_CAINFO, roots.file), setPath(CURLOPT_CAPATH, roots.directory),
            ]
        }
        hasRoots = !codes.contains(CURLE_OUT_OF_MEMORY)
        return hasRoots
    }

    private func setVerification(peer: Bool, name: Bool) {
        checksPeer = peer
        ccurl_set_long(handle, CURLOPT_SSL_VERIFYPEER, peer ? 1 : 0)
        ccurl_set_long(handle, CURLOPT_SSL_VERIFYHOST, name ? 2 : 0)
    }

    private func watchHandshake(_ context: UnsafeMutableRawPointer) -> CURLcode {
        guard let exchange else { return CURLE_OK }
        let host = loop.host(exchange.request.url.origin)
        if !host.watch(context) {
            return mustCheck(host) ? CURLE_SSL_ENGINE_INITFAILED : CURLE_OK
        }
        guard checksPeer, let anchors = loop.anchors else { return CURLE_OK }
        return anchors.use(for: context)
    }

    /// Returns whether the certificate of a host must be checked by our callbacks. libcurl alone
    /// would accept a common name, weak keys, and any trust anchor.
    private func mustCheck(_ host: TrustedHost) -> Bool {
        let (configuration, trust) = (loop.configuration, loop.configuration.trust)
        if host.pins != nil { return true }
        return !configuration.insecure && (!trust.allowsInvalid || trust.checksName)
    }

    /// Sets the trust options for a host. Returns an error if the host must not be contacted.
    func prepareTrust(_ origin: Origin) -> TransportError? {
        if origin.isSecure, !loop.configuration.trust.canCheck, mustCheck(loop.host(origin)) {
            return TransportError(
                .tls,
                "Could not trust \(origin.text): certificates cannot be checked, because libcurl does not use a shared OpenSSL library. Install a libcurl that does."
            )
        }
        if origin.isSecure, !setRoots() {
            return TransportError(
                .tls, "Could not trust \(origin.text): libcurl could not store the CA certificates")
        }
        guard loop.hasTrustByHost else { return nil }
        let trust = loop.configuration.trust
        let host = loop.host(origin)
        if let error = refusal(of: host) { return error }
        guard origin.isSecure else { return nil }
        let pinsCount = host.pinsCount
        if let heldTo, heldTo.host === host, heldTo.pinsCount == pinsCount { return nil }
        heldTo = (host, pinsCount)
        let keys = pinsCount ? host.pins?.keys ?? [] : []
        let isVouched = pinsCount && trust.allowsInvalid
        let hasAnchors = host.pins?.anchors.isEmpty == false
        setVerification(
            peer: !loop.configuration.insecure && (!isVouched || hasAnchors),
            name: !loop.configuration.insecure && trust.checksName)
        let codes = [
            ccurl_set_text(
                handle, CURLOPT_PINNEDPUBLICKEY,
                keys.isEmpty ? nil : keys.map { "sha256//\($0)" }.joined(separator: ";")),
            setPath(CURLOPT_SSLCERT, host.identity?.certificate),
            ccurl_set_text(
                handle, CURLOPT_SSLCERTTYPE, host.identity?.isPKCS12 == true ? "P12" : "PEM"),
            setPath(CURLOPT_SSLKEY, host.identity?.key),
            // Without a password, OpenSSL would ask for it on the terminal.
            ccurl_set_text(handle, CURLOPT_KEYPASSWD, host.identity.map { $0.password ?? "" }),
        ]
        guard let code = codes.first(where: { $0 != CURLE_OK }) else { return nil }
        heldTo = nil
        return TransportError(
            .tls,
            "libcurl could not apply the certificate settings of \(origin.text): \(Self.text(code))",
            curlCode: Int32(code.rawValue))
    }

    /// Returns an error for a host without pins if pins are required, and for a pinned host without
    /// TLS.
    private func refusal(of host: TrustedHost) -> TransportError? {
        let trust = loop.configuration.trust
        let text: String
        if host.pins == nil {
            guard trust.requiresPins else { return nil }
            text = "\(host.origin.text) has no pins, but every host must have pins"
        } else {
            guard !host.origin.isSecure, !host.isExpired else { return nil }
            text = "\(host.origin.text) has pins, which cannot be checked without https"
        }
        guard trust.onlyReportsPins else { return TransportError(.pin, text) }
        host.report(text)
        return nil
    }

    // MARK: Errors

    /// Returns the error for a TLS or address failure; `nil` for any other failure.
    func trustError(_ code: CURLcode, _ detail: String) -> TransportError? {
        guard let origin = exchange?.request.url.origin else { return nil }
        let number = Int32(code.rawValue)
        if code == CURLE_COULDNT_CONNECT, let kinds = exchange?.state.deniedAddress,
            exchange?.state.openedAddresses == 0
        {
            return TransportError(
                .addressDenied,
                "\(origin.text) has a \(kinds) address, and the client denies such addresses",
                curlCode: number)
        }
        guard origin.isSecure else { return nil }
        let host = loop.hosts[origin.text]
        switch code {
        case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
            return TransportError(
                .pin, "Could not trust \(host?.mismatch ?? origin.text)", curlCode: number)
        case CURLE_SSL_INVALIDCERTSTATUS:
            let isRevoked = detail.contains("revo")
            return TransportError(
                isRevoked ? .revoked : .untrusted,
                "Could not trust \(origin.text): \(detail)\(Self.about(host?.peer, isLeaf: true))",
                curlCode: number)
        case CURLE_PEER_FAILED_VERIFICATION:
            let peer = host?.peer
            let isChain = peer.map { $0.error != 0 && detail.contains($0.text) } ?? false
            if isChain, peer?.isUnpinned == true, let host {
                return TransportError(.pin, "Could not trust \(host.mismatch)", curlCode: number)
            }
            if isChain, let peer, peer.isUnnamed {
                return TransportError(
                    .wrongName,
                    "Could not trust \(origin.text): the certificate of \"\(peer.leafSubject)\" has no subjectAltName with a host or address. The common name is ignored (RFC 9525). Issue a certificate with subjectAltName.",
                    curlCode: number)
            }
            let kind = isChain ? Self.kind(of: peer?.error ?? 0) : Self.kind(of: detail)
            return TransportError(
                kind,
                "Could not trust \(origin.text): \(detail)\(Self.about(peer, isLeaf: !isChain))",
                curlCode: number)
        case CURLE_SSL_CERTPROBLEM:
            // libcurl's message contains file paths, which must not be logged (SEC-C10).
            return TransportError(
                .tls,
                "Could not use the client certificate for \(origin.text): its key or its password does not match",
                curlCode: number)
        case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CIPHER, CURLE_RECV_ERROR, CURLE_SEND_ERROR:
            return negotiationError(origin, detail, number)
        default: return nil
        }
    }

    /// Returns the error for a TLS alert sent by the server, or for a handshake that we rejected.
    private func negotiationError(
        _ origin: Origin, _ detail: String, _ number: Int32
    ) -> TransportError? {
        func says(_ words: String...) -> Bool { words.contains { detail.contains($0) } }
        if says(
            "unsupported protocol", "alert protocol version", "no protocols available",
            "no ciphers available", "alert insufficient security", "alert handshake failure")
        {
            return TransportError(
                .tlsProtocol,
                "Could not agree on a TLS version and cipher with \(origin.text): \(detail)",
                curlCode: number)
        }
        if says(
            "alert certificate required", "alert bad certificate", "alert unknown ca",
            "alert certificate unknown", "alert certificate expired", "alert certificate revoked",
            "alert unsupported certificate", "alert access denied")
        {
            return TransportError(
                .clientCertificate,
                "\(origin.text) \(loop.hosts[origin.text]?.identity == nil ? "requires a client certificate" : "rejected the client certificate"): \(detail)",
                curlCode: number)
        }
        return nil
    }

    private static func about(_ peer: TrustedHost.Peer?, isLeaf: Bool) -> String {
        guard let peer else { return "" }
        let subject = isLeaf ? peer.leafSubject : peer.subject
        let issuer = isLeaf && peer.error != 0 ? "" : ", issued by \"\(peer.issuer)\""
        return " (the certificate of \"\(subject)\"\(issuer))"
    }

    /// Returns the kind of an OpenSSL verification error (X509_V_ERR_*).
    private static func kind(of error: Int32) -> TransportError.Kind {
        switch error {
        case 9, 10: .expired
        case 23: .revoked
        case 62, 63, 64: .wrongName
        default: .untrusted
        }
    }

    /// Returns the kind of a certificate error from OpenSSL's description.
    private static func kind(of detail: String) -> TransportError.Kind {
        // Check the name mismatch first, because its message contains the host name.
        if detail.contains("does not match") || detail.contains("no alternative certificate") {
            return .wrongName
        }
        if detail.contains("expired") || detail.contains("not yet valid") { return .expired }
        if detail.contains("revoked") { return .revoked }
        return .untrusted
    }
}
