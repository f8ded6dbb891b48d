// Wherry: what the test server saw
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// One request in the test server's log.
public struct LoggedRequest: Decodable, Sendable {
    /// The number of the request on this server, from 1.
    public let id: Int
    /// The number of the connection it came on, from 1.
    public let connection: Int
    /// The number of the request on that connection, from 1.
    public let index: Int
    /// The method as sent.
    public let method: String
    /// The request target as sent.
    public let target: String
    /// The decoded path without the key prefix.
    public let path: String
    /// The query's names and values, decoded, in order.
    public let query: [[String]]
    /// The field lines in order: name as sent, value without outer spaces.
    public let headers: [[String]]
    /// Which try this was for its key and path, from 1.
    public let attempt: Int
    /// When it began, in the one numbering of all the server's events.
    public let started: Int
    /// When it ended, in the same numbering; nil while it runs.
    public let ended: Int?
    /// The status sent; 0 when none was.
    public let status: Int
    /// Body bytes that came.
    public let received: Int
    /// Whether the whole body came.
    public let bodyComplete: Bool
    /// Body bytes handed to the kernel.
    public let sent: Int
    /// `answered`, `running`, `fin`, `rst`, `drop`, `gone` (the client left), `bad_request`, ...
    public let outcome: String

    enum CodingKeys: String, CodingKey {
        case id, connection, index, method, target, path, query, headers, attempt, started, ended
        case status, received, sent, outcome
        case bodyComplete = "body_complete"
    }

    /// The first value of the named field; case does not matter.
    public func header(_ name: String) -> String? {
        headers.first { $0[0].lowercased() == name.lowercased() }?[1]
    }
}

/// Counts and peaks over some of the server's requests.
public struct ServerStats: Decodable, Sendable {
    /// Requests begun, ended and still running.
    public let requests, ended, active: Int
    /// Body bytes received and sent.
    public let received, sent: Int
    /// Connections that carried these requests, and those of them open now.
    public let connections, open: Int
    /// The most requests that ran at once.
    public let peakRequests: Int
    /// The most connections that were open at once, counted from their first request on.
    public let peakConnections: Int

    enum CodingKeys: String, CodingKey {
        case requests, ended, active, received, sent, connections, open
        case peakRequests = "peak_requests"
        case peakConnections = "peak_connections"
    }
}
