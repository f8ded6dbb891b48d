// Wherry: probing a server.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherrySystem
import WherryTransport

extension Reachability {
    /// A server that must respond for the status to be reachable (N12).
    ///
    /// Behind a captive portal or a broken tunnel the routes are fine, but no server is reachable.
    public struct Probe: Hashable, Sendable {
        enum Kind: Hashable, Sendable {
            case connection(host: String, port: UInt16)
            case request(String)
        }
        let kind: Kind
        /// The URL as passed.
        public let url: String

        /// - Parameter url: "tcp://host:port" checks whether a connection is accepted. "http://..."
        ///   and "https://..." require a response to GET with a status of 200 to 299. A redirect
        ///   counts as a failure, because another server may have sent it.
        /// - Throws: `argument` for any other URL.
        public init(_ url: String) throws(WherryError) {
            self.url = url
            if url.lowercased().hasPrefix("tcp://") {
                // Parsed as a URL with nothing but host and port, so that the same rules apply.
                let text = "http" + url.dropFirst(3)
                guard let parsed = try? HTTPURL(text), let port = Self.port(of: text) else {
                    throw WherryError(
                        .badURL, "A probe of a port is tcp://host:port, not \"\(url)\"")
                }
                kind = .connection(
                    host: Reachability.withoutBrackets(parsed.origin.host), port: port)
                return
            }
            do {
                _ = try HTTPURL(url, as: "URL of a probe")
            } catch {
                throw WherryError(.badURL, error.message)
            }
            kind = .request(url)
        }

        /// Returns the port at the end of a URL without a path.
        private static func port(of url: String) -> UInt16? {
            guard let colon = url.lastIndex(of: ":") else { return nil }
            return UInt16(url[url.index(after: colon)...]).flatMap { $0 == 0 ? nil : $0 }
        }

        /// Probes the server. Blocks until it responds or the timeout expires.
        ///
        /// - Parameter get: Sends a GET request and returns whether it succeeds, as in
        ///   `ReachabilityCenter.World`.
        func answers(within timeout: Duration, get: (String, Duration) -> Bool) -> Bool {
            switch kind {
            case .connection(let host, let port):
                return ConnectionProbe.connects(
                    to: host, port: port, timeout: timeout.nanosecondsSaturating)
            case .request(let url):
                return get(url, timeout)
            }
        }
    }
}
