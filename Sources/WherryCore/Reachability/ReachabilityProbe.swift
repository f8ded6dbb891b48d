// Wherry: asking a server, where routes alone say too little.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem
import WherryTransport

extension Reachability {
    /// A server that is asked whether it answers (N12).
    ///
    /// Behind a hotel's login page and a broken tunnel the routes are fine, and nobody is there.
    public struct Probe: Hashable, Sendable {
        enum Kind: Hashable, Sendable {
            case connection(host: String, port: UInt16)
            case request(String)
        }
        let kind: Kind
        /// The URL that it was made of.
        public let url: String

        /// - Parameter url: "tcp://host:port" asks whether a connection is taken; with "http://..."
        ///   and "https://..." a GET has to be answered with a status of 200 to 299. A redirect is
        ///   somebody else's answer.
        /// - Throws: `argument` for any other URL.
        public init(_ url: String) throws(WherryError) {
            self.url = url
            if url.lowercased().hasPrefix("tcp://") {
                // As a URL without anything but host and port it follows the same rules.
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

        /// The port at the end of a URL that has nothing behind it.
        private static func port(of url: String) -> UInt16? {
            guard let colon = url.lastIndex(of: ":") else { return nil }
            return UInt16(url[url.index(after: colon)...]).flatMap { $0 == 0 ? nil : $0 }
        }

        /// Asks, and blocks until there is an answer or the time is over.
        package func answers(within timeout: Duration) -> Bool {
            switch kind {
            case .connection(let host, let port):
                return ConnectionProbe.connects(
                    to: host, port: port, timeout: timeout.nanosecondsSaturating)
            case .request(let url):
                guard let client = try? Client({ $0.totalTimeout = timeout }) else { return false }
                defer { client.close() }
                var request = Request(url, method: "GET")
                request.maxRedirects = 0
                return (try? client.perform(request)) != nil
            }
        }
    }
}
