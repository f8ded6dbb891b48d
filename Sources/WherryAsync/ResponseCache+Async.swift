// Wherry: async methods of response caches.
// SPDX-License-Identifier: Apache-2.0

import WherryCore

extension ResponseCache {
    /// Returns the stored response to a request; see the synchronous method.
    public func response(to request: Request) async throws(WherryError) -> Response {
        try await onWorker { () throws(WherryError) in try response(to: request) }
    }

    /// Returns the valid entries; see the synchronous method.
    public func entries(
        _ url: String? = nil, base: String? = nil, method: String? = nil,
        stores: CacheStores = .responses
    ) async throws(WherryError) -> [Entry] {
        try await onWorker { () throws(WherryError) in
            try entries(url, base: base, method: method, stores: stores)
        }
    }

    /// Returns the response of a listed entry.
    public func response(of entry: Entry) async throws(WherryError) -> Response {
        try await onWorker { () throws(WherryError) in try response(of: entry) }
    }

    /// Stores a response that the program provides; see the synchronous method.
    public func store(
        _ body: Bytes, contentType: String? = nil, for request: Request, duration: Duration
    ) async throws(WherryError) {
        try await onWorker { () throws(WherryError) in
            try store(body, contentType: contentType, for: request, duration: duration)
        }
    }

    /// Removes entries; see the synchronous method.
    @discardableResult
    public func clear(
        _ url: String? = nil, base: String? = nil, method: String? = nil,
        stores: CacheStores = .responses
    ) async throws(WherryError) -> Int {
        try await onWorker { () throws(WherryError) in
            try clear(url, base: base, method: method, stores: stores)
        }
    }

    /// Removes the stored response to a request; see the synchronous method.
    @discardableResult
    public func remove(_ request: Request) async throws(WherryError) -> Bool {
        try await onWorker { () throws(WherryError) in try remove(request) }
    }

    /// Removes a listed entry; see the synchronous method.
    @discardableResult
    public func remove(_ entry: Entry) async throws(WherryError) -> Bool {
        try await onWorker { () throws(WherryError) in try remove(entry) }
    }

    /// Returns the number and size of the entries.
    public func usage() async throws(WherryError) -> Usage {
        try await onWorker { () throws(WherryError) in try usage() }
    }

    private func onWorker<Value: Sendable>(
        _ body: @escaping @Sendable () throws(WherryError) -> Value
    ) async throws(WherryError) -> Value {
        let result = await withCheckedContinuation { continuation in
            client.workers.submit {
                let result: Result<Value, WherryError>
                do throws(WherryError) {
                    result = .success(try body())
                } catch {
                    result = .failure(error)
                }
                continuation.resume(returning: result)
            }
        }
        return try result.get()
    }
}
