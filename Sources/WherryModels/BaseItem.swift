// Wherry: list items with text and images.
// SPDX-License-Identifier: Apache-2.0

import WherryCore
import WherryHTTP

/// An item for a typical list: an identifier, two lines of text and two images (O16).
///
/// An image is a reference, such as a URL or a name, that the program loads.
public struct BaseItem: Sendable, Hashable, Codable {
    /// The identifier; "" if the server sent none.
    public var identifier: String
    /// The first line.
    public var title: String
    /// The second line.
    public var subtitle: String?
    /// The reference of the image.
    public var image: String?
    /// The reference of the accessory image.
    public var accessoryImage: String?

    /// Creates an item.
    public init(
        identifier: String = "", title: String = "", subtitle: String? = nil,
        image: String? = nil, accessoryImage: String? = nil
    ) {
        self.identifier = identifier
        self.title = title
        self.subtitle = subtitle
        self.image = image
        self.accessoryImage = accessoryImage
    }

    /// The default mapping, with the JSON names equal to the property names. Use another mapping
    /// for other names.
    public static let mapping = ItemMapping([
        .init("identifier", .text), .init("title", .text), .init("subtitle", .text),
        .init("image", .text), .init("accessoryImage", .text),
    ])

    /// Creates an item from JSON with a mapping. Missing fields get their default.
    public init(_ json: JSON, by mapping: ItemMapping = BaseItem.mapping) {
        let record = mapping.record(of: json)
        self.init(
            identifier: record["identifier"]?.text() ?? "", title: record["title"]?.text() ?? "",
            subtitle: record["subtitle"]?.text(), image: record["image"]?.text(),
            accessoryImage: record["accessoryImage"]?.text())
    }
}
