// Wherry: requests in the log of the test server.
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// One request in the test server's log.
public struct LoggedRequest: Decodable, Sendable {
    /// The number of the request on this server, from 1.
    public let id: Int
    /// The number of its connection, from 1.
    public let connection: Int
    /// The number of the request on that connection, from 1.
    public let index: Int
    /// The method as sent.
    public let method: String
    /// The request target as sent.
    public let target: String
    /// The decoded path without the key prefix.
    public let path: String
    /// The names and values of the query, decoded, in order.
    public let query: [[String]]
    /// The headers in order: name as sent, value without surrounding spaces.
    public let headers: [[String]]
    /// The attempt number for its key and path, from 1.
    public let attempt: Int
    /// The sequence number of the start; all events of the server share one sequence.
    public let started: Int
    /// The sequence number of the end; nil while the request runs.
    public let ended: Int?
    /// The status sent; 0 if none was sent.
    public let status: Int
    /// The number of body bytes received.
    public let received: Int
    /// Whether the complete body was received.
    public let bodyComplete: Bool
    /// The number of body bytes passed to the kernel.
    public let sent: Int
    /// `answered`, `running`, `fin`, `rst`, `drop`, `gone` (the client disconnected),
    /// `bad_request`, ...
    public let outcome: String

    enum CodingKeys: String, CodingKey {
        case id, connection, index, method, target, path, query, headers, attempt, started, ended
        case status, received, sent, outcome
        case bodyComplete = "body_complete"
    }

    /// Returns the first value of a header (case-insensitive).
    public func header(_ name: String) -> String? {
        headers.first { $0[0].lowercased() == name.lowercased() }?[1]
    }
}

/// Counts and maximums over a set of requests.
public struct ServerStats: Decodable, Sendable {
    /// The numbers of requests that started, ended, and are still running.
    public let requests, ended, active: Int
    /// The numbers of body bytes received and sent.
    public let received, sent: Int
    /// The number of connections used by these requests, and the number still open.
    public let connections, open: Int
    /// The maximum number of requests at the same time.
    public let peakRequests: Int
    /// The maximum number of connections at the same time, counted from their first request.
    public let peakConnections: Int

    enum CodingKeys: String, CodingKey {
        case requests, ended, active, received, sent, connections, open
        case peakRequests = "peak_requests"
        case peakConnections = "peak_connections"
    }
}
