// Wherry: what most lists show of an item.
// SPDX-License-Identifier: Apache-2.0

/// An item as most lists show it: a name to know it by, two lines of text and two pictures (O16).
///
/// A picture is a reference, a URL or a name, which the program loads as it wants to.
public struct BaseItem: Sendable, Hashable, Codable {
    /// What it is known by; "" where the server gave none.
    public var identifier: String
    /// The first line.
    public var title: String
    /// The second line.
    public var subtitle: String?
    /// Where its picture is.
    public var image: String?
    /// Where the small picture at its end is.
    public var accessoryImage: String?

    /// An item of texts.
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

    /// The table with the item's own names; give others by a table of your own.
    public static let mapping = ItemMapping([
        .init("identifier", .text), .init("title", .text), .init("subtitle", .text),
        .init("image", .text), .init("accessoryImage", .text),
    ])

    /// An item of JSON, by a table that has some of the item's names. What is missing has its
    /// default.
    public init(_ json: JSON, by mapping: ItemMapping = BaseItem.mapping) {
        let record = mapping.record(of: json)
        self.init(
            identifier: record["identifier"]?.text() ?? "", title: record["title"]?.text() ?? "",
            subtitle: record["subtitle"]?.text(), image: record["image"]?.text(),
            accessoryImage: record["accessoryImage"]?.text())
    }
}
