// Wherry: mapping of libcurl errors.
// SPDX-License-Identifier: Apache-2.0

internal import CCurl
import Glibc
import WherrySystem

extension CurlEasy {
    /// Returns the transport error for a result code, including libcurl's message.
    func error(_ code: CURLcode) -> TransportError {
        var detail = errorText[0] != 0 ? String(cString: errorText) : Self.text(code)
        // libcurl knows only that the function that sets the certificates has failed.
        if code == CURLE_SSL_CACERT_BADFILE, let failure = loop.anchors?.failure {
            detail = failure
        }
        let proxy = proxy(behind: code, detail)
        var host = proxy ?? exchange?.request.url.origin.text ?? "the server"
        if proxy == nil, code == CURLE_COULDNT_CONNECT, let socket = loop.configuration.unixSocket {
            host += " through the socket \(socket)"
        }
        if code == CURLE_OUT_OF_MEMORY, head.isInHead {
            // libcurl reports a header line that is too long as out of memory.
            return TransportError(
                .headerTooLarge, "A line of the response headers from \(host) is too long",
                curlCode: Int32(code.rawValue))
        }
        if isClosedStream(code) {
            let hasHead = exchange?.state.head != nil
            return TransportError(
                hasHead ? .truncated : .reset,
                "Lost \(hasHead ? "a part of " : "")the response from \(host), which ended the HTTP/2 stream before the request was sent completely. Use HTTP/1.1.",
                curlCode: Int32(code.rawValue))
        }
        if let error = descriptorError(code) { return error }
        if let error = trustError(code, detail) { return error }
        var (kind, what) =
            isBroken(code, detail)
            ? (.reset, "Lost the connection to") : classify(code, detail)
        if Self.isRefusedTunnel(detail) { (kind, what) = (.proxy, "Could not connect through") }
        if code == CURLE_PARTIAL_FILE, let exchange, exchange.expectedOnWire >= 0 {
            what =
                "Received only \(exchange.receivedOnWire) of "
                + "\(exchange.expectedOnWire) bytes of the response from"
        }
        let osCode = Int32(truncatingIfNeeded: long(CURLINFO_OS_ERRNO))
        return TransportError(
            kind, "\(what) \(host)\(reason(kind, detail, osCode))\(advice(kind, detail, osCode))",
            curlCode: Int32(code.rawValue), osCode: osCode)
    }

    /// Returns the cause, after the host: libcurl's message, unless it says the same again.
    private func reason(_ kind: TransportError.Kind, _ detail: String, _ osCode: Int32) -> String {
        switch kind {
        case .resolve where detail.hasPrefix("Could not resolve host"): return ""
        case .connect where osCode == ECONNREFUSED: return ": the connection was refused"
        default: return ": \(detail)"
        }
    }

    /// Returns a sentence that says what to do, as the end of a message; "" if there is none.
    private func advice(
        _ kind: TransportError.Kind, _ detail: String, _ osCode: Int32
    ) -> String {
        let advice: String
        switch kind {
        case .resolve: advice = "Check the name and your network."
        case .connect where loop.configuration.unixSocket != nil:
            advice = "Check the path of the socket, and that a server uses it."
        case .connect where osCode == ECONNREFUSED:
            advice = "Check the port, and that the server is running."
        case .connect: advice = "Check the address and your network."
        case .connectTimeout: advice = "Check your network, or raise the connect timeout."
        case .proxy: advice = "Check the proxy settings."
        case .metered: advice = "Use another network, or allow mobile networks."
        case .tls where detail.contains("wrong version number"):
            guard let origin = exchange?.request.url.origin else { return "" }
            advice =
                loop.proxies.proxy(for: origin) == nil
                ? "The server does not use TLS on this port: check the port, or use http."
                : "The server, or an https proxy, does not use TLS on this port: check the ports."
        case .tls where detail.contains("no application protocol"):
            advice = "The server may support only HTTP/2: choose that version."
        case .tls where detail.hasPrefix("error setting certificate"):
            advice = "Install the package ca-certificates, or set a CA file or directory."
        default: return ""
        }
        return (detail.hasSuffix(".") ? " " : ". ") + advice
    }

    /// Returns whether the connection failed because the process had no free descriptor. libcurl
    /// reports this as a failed connection or name lookup.
    func lacksDescriptor(_ code: CURLcode) -> Bool {
        guard let exchange else { return false }
        switch code {
        case CURLE_COULDNT_CONNECT where exchange.state.lacksDescriptor: return true
        // Fails after the connection is established, but before the request is sent.
        case CURLE_SSL_CACERT_BADFILE: return DescriptorLimit.isReached
        case CURLE_COULDNT_CONNECT, CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY,
            CURLE_FAILED_INIT:
            return exchange.state.openedAddresses == 0 && DescriptorLimit.isReached
        default: return false
        }
    }

    private func descriptorError(_ code: CURLcode) -> TransportError? {
        guard lacksDescriptor(code) else { return nil }
        let host = exchange?.request.url.origin.text ?? "the server"
        return TransportError(
            .tooManyFiles, "Could not connect to \(host): \(DescriptorLimit.text)",
            curlCode: Int32(code.rawValue), osCode: EMFILE)
    }

    /// Returns the proxy that caused an error; `nil` without a proxy, or if it did not fail.
    private func proxy(behind code: CURLcode, _ detail: String) -> String? {
        guard let origin = exchange?.request.url.origin, let proxy = loop.proxies.proxy(for: origin)
        else { return nil }
        let name = "the proxy \(proxy.url?.text ?? HTTPURL.redacted(proxy.text))"
        switch code {
        case CURLE_COULDNT_RESOLVE_PROXY, CURLE_PROXY, CURLE_COULDNT_CONNECT,
            CURLE_OPERATION_TIMEDOUT:
            return name
        default:
            return Self.isRefusedTunnel(detail) || detail.hasPrefix("Proxy CONNECT") ? name : nil
        }
    }

    /// Returns whether libcurl's message says that a proxy rejected CONNECT (a status other than
    /// 200).
    private static func isRefusedTunnel(_ detail: String) -> Bool {
        detail.hasPrefix("CONNECT tunnel failed")
            || detail.hasPrefix("Received HTTP code") && detail.contains("proxy after CONNECT")
    }

    /// Returns whether a code that usually means a protocol error means a dropped connection here.
    private func isBroken(_ code: CURLcode, _ detail: String) -> Bool {
        let hasHead = exchange?.state.head != nil
        switch code {
        // The stream was reset. If the response headers were invalid, a retry would fail in the
        // same way.
        case CURLE_HTTP2_STREAM: return hasHead || !detail.contains("PROTOCOL_ERROR")
        // A framing error on a connection that had worked before.
        case CURLE_HTTP2: return hasHead || long(CURLINFO_NUM_CONNECTS) == 0
        // libcurl's message if the socket failed or was closed, and OpenSSL has no further detail.
        case CURLE_SSL_CONNECT_ERROR:
            return ["Recv failure", "Send failure", "OpenSSL SSL_connect:"].contains {
                detail.hasPrefix($0)
            } || detail.contains("unexpected eof")
        default: return false
        }
    }

    private func classify(
        _ code: CURLcode, _ detail: String
    ) -> (TransportError.Kind, String) {
        switch code {
        case CURLE_COULDNT_RESOLVE_HOST: return (.resolve, "Could not resolve the host of")
        case CURLE_COULDNT_RESOLVE_PROXY: return (.proxy, "Could not resolve the host of")
        case CURLE_PROXY: return (.proxy, "Could not connect through")
        case CURLE_COULDNT_CONNECT where isKeptFromMetered:
            return (.metered, "Only a mobile network, which must not be used, reaches")
        case CURLE_COULDNT_CONNECT: return (.connect, "Could not connect to")
        case CURLE_INTERFACE_FAILED:
            return (.connect, "Could not connect from the given interface or address to")
        case CURLE_OPERATION_TIMEDOUT:
            // The connect timeout is the only timeout set in libcurl.
            return (.connectTimeout, "Timed out while connecting to")
        case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CIPHER, CURLE_USE_SSL_FAILED:
            return (.tls, "Could not establish a TLS connection with")
        case CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CERTPROBLEM, CURLE_SSL_ISSUER_ERROR:
            return (.tls, "Could not use a certificate file for")
        case CURLE_PARTIAL_FILE: return (.truncated, "Received only a part of the response from")
        case CURLE_GOT_NOTHING: return (.reset, "Received no response from")
        case CURLE_RECV_ERROR where detail.hasPrefix("Too large response headers"):
            // libcurl's limit of 300 KiB counts the line ends too, so it can be reached before ours.
            return (.headerTooLarge, "Received response headers that are too large from")
        case CURLE_RECV_ERROR, CURLE_SEND_ERROR:
            return (.reset, "Lost the connection to")
        case CURLE_WEIRD_SERVER_REPLY, CURLE_UNSUPPORTED_PROTOCOL, CURLE_HTTP2,
            CURLE_HTTP2_STREAM:
            return (.badProtocol, "Received an invalid HTTP response from")
        case CURLE_BAD_CONTENT_ENCODING: return (.badEncoding, "Could not decode the body from")
        case CURLE_URL_MALFORMAT: return (.badURL, "Could not use the URL of")
        case CURLE_OUT_OF_MEMORY: return (.noMemory, "Not enough memory for the transfer with")
        case CURLE_SEND_FAIL_REWIND:
            // A reused connection was dropped.
            return (.reset, "Could not send the body again, after a dropped connection, to")
        case CURLE_FILESIZE_EXCEEDED:
            return (.tooLarge, "Received a response that is too large from")
        default: return (.internal, "libcurl failed for")
        }
    }
}
