// Wherry: the API: all URLs in one place
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Wherry

// guide: begin model
struct Book: Decodable, Sendable {
    var id: Int
    var title: String
    var author: String?

    /// Where the fields are in the server's JSON.
    static let mapping = ItemMapping([
        .init("id", .integer), .init("title", .text), .init("author", at: "author/name", .text),
    ])
}
// guide: end model

struct User {
    var name: String
    var isFromCache: Bool
}

struct Library {
    private let client: Client

    init(base: String, credentials: Credentials, tokenFile: TokenFile) throws {
        // guide: begin client
        client = try Client {
            $0.baseURL = base
            $0.bearerToken = tokenFile.token
            $0.usesHTTPCache = true  // HTTP cache in ~/.cache/wherry/books
            $0.storageName = "books"
            $0.maxRetries = 2
        }
        // Called once for all requests that got a 401.
        let hooks = Hooks.refreshingToken { [weak client] _ in
            guard let client else { return nil }
            return try await Library.signIn(client, credentials, tokenFile)
        }
        try client.setHooks(hooks)
        // guide: end client
    }

    // guide: begin token
    /// Requests a new token (RFC 6749, section 4.4).
    private static func signIn(
        _ client: Client, _ credentials: Credentials, _ tokenFile: TokenFile
    ) async throws -> String? {
        struct TokenResponse: Decodable {
            var token: String
            enum CodingKeys: String, CodingKey { case token = "access_token" }
        }
        var request = Request("token", method: "POST")
        request.credentials = credentials
        request.body = .form([.init("grant_type", "client_credentials")])
        let token = try await client.send(request, as: TokenResponse.self).token
        try tokenFile.keep(token)
        return token
    }
    // guide: end token

    func user() async throws -> User {
        let response = try await client.get("me")
        return User(
            name: try response.json().text(at: "name") ?? "nobody",
            isFromCache: response.isFromCache)
    }

    func books() -> PageItemSequence<Book> {
        // guide: begin pages
        var paging = Paging(items: "books")
        paging.parameter = "page"
        paging.firstPage = 1
        paging.end = .hasNext("more")
        return client.items(
            Request("books"), paging, of: Book.self, mapping: Book.mapping,
            prefetch: 2)  // loads two pages while one is printed
        // guide: end pages
    }
}
