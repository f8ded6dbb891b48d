// Wherry: models, lists, and pages of Decodable values.
// SPDX-License-Identifier: Apache-2.0

extension Model {
    /// Creates a model whose value is at a path of the JSON response.
    ///
    /// - Parameter mapping: The mapping from JSON to the fields of the value.
    public convenience init(
        _ endpoint: Endpoint, as type: Value.Type = Value.self, at path: String = "",
        mapping: ItemMapping? = nil, didRead: (@Sendable (Value) -> Void)? = nil
    ) where Value: Decodable {
        self.init(endpoint, didRead: didRead) { response in
            try response.decode(type, at: path, mapping: mapping)
        }
    }
}

extension PagedList {
    /// Creates a list of decodable items.
    ///
    /// - Parameter mapping: The mapping from JSON to the fields of an item.
    public convenience init(
        _ client: Client, _ request: Request, paging: Paging = Paging(), of type: Item.Type,
        mapping: ItemMapping? = nil,
        key: (@Sendable (Item) -> (any Hashable & Sendable)?)? = nil,
        onEvent: (@Sendable (PageEvent) -> Void)? = nil
    ) throws(WherryError) where Item: Decodable {
        try self.init(client, request, paging: paging, key: key, onEvent: onEvent) { elements in
            try JSON.array(elements).decode([Item].self, mapping: mapping)
        }
    }
}

extension Client {
    /// Returns the pages of a list as arrays of items. The next pages are loaded in advance.
    ///
    ///     for try await books in client.pages(Request("books"), paging, of: Book.self) { show(books) }
    ///
    /// - Parameters:
    ///   - request: The template for every page's request. The default method is GET if there are
    ///     no parameters.
    ///   - mapping: The mapping from JSON to the fields of an item.
    ///   - prefetch: The number of pages to load in advance. Default: 1; with 0 each page is loaded
    ///     on demand.
    public func pages<Item: Decodable & Sendable>(
        _ request: Request, _ paging: Paging = Paging(), of type: Item.Type,
        mapping: ItemMapping? = nil, prefetch: Int = 1
    ) -> PageSequence<Item> {
        PageSequence(prefetch: prefetch) { [self] () throws(WherryError) in
            try PagedList(self, request, paging: paging, of: type, mapping: mapping)
        }
    }

    /// Returns the items of a list, page after page; see ``pages(_:_:of:mapping:prefetch:)``.
    public func items<Item: Decodable & Sendable>(
        _ request: Request, _ paging: Paging = Paging(), of type: Item.Type,
        mapping: ItemMapping? = nil, prefetch: Int = 1
    ) -> PageItemSequence<Item> {
        PageItemSequence(
            pages: pages(request, paging, of: type, mapping: mapping, prefetch: prefetch))
    }
}
