// Wherry: the sizes of the images that one command makes from one image.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import WherryImaging

/// Sizes as `--sizes` takes them: 320,640x480,x240.
struct ImageSizes: ExpressibleByArgument, Sendable {
    struct Size: Sendable {
        /// As it was given.
        let text: String
        let width: Int?
        let height: Int?

        init?(_ text: String) {
            let sides = text.split(separator: "x", omittingEmptySubsequences: false)
            guard sides.count <= 2 else { return nil }
            var lengths: [Int?] = []
            for side in sides {
                guard side.allSatisfy(\.isASCII), side.allSatisfy(\.isNumber) else { return nil }
                let length = Int(side)
                guard side.isEmpty || length ?? 0 > 0 else { return nil }
                lengths.append(length)
            }
            self.text = text
            width = lengths[0]
            height = lengths.count == 2 ? lengths[1] : nil
            if width == nil, height == nil { return nil }
        }

        /// Returns the compression with this size.
        func apply(to settings: WherryImaging.Compression) -> WherryImaging.Compression {
            var settings = settings
            settings.maxWidth = width
            settings.maxHeight = height
            return settings
        }

        /// Returns the file name of this size.
        ///
        /// - Throws: `ValidationError` if the size has no value for a placeholder.
        func named(_ template: String) throws -> String {
            var name = ""
            var rest = template[...]
            while let open = rest.firstIndex(of: "{") {
                name += rest[..<open]
                rest = rest[open...]
                guard
                    let placeholder = Placeholder.allCases.first(where: { rest.hasPrefix($0.text) })
                else {
                    name.append(rest.removeFirst())
                    continue
                }
                name += try value(of: placeholder)
                rest = rest.dropFirst(placeholder.text.count)
            }
            return name + rest
        }

        private func value(of placeholder: Placeholder) throws -> String {
            let side: Int?
            switch placeholder {
            case .width: side = width
            case .height: side = height
            case .size: return text
            }
            guard let side else {
                throw ValidationError(
                    "The size \(text) has no \(placeholder.rawValue) for \(placeholder.text). Use \(Placeholder.size.text) in the name of the result."
                )
            }
            return "\(side)"
        }
    }

    /// A part of a file name that a size replaces.
    private enum Placeholder: String, CaseIterable {
        case width, height, size

        var text: String { "{\(rawValue)}" }
    }

    let all: [Size]

    init?(argument: String) {
        let sizes = argument.split(separator: ",", omittingEmptySubsequences: false)
        all = sizes.compactMap { Size(String($0)) }
        guard all.count == sizes.count else { return nil }
    }

    /// Returns the file name of each size.
    ///
    /// - Throws: `ValidationError` if two of them are equal, or if one cannot be made.
    func names(_ template: String) throws -> [String] {
        let names = try all.map { try $0.named(template) }
        for (index, name) in names.enumerated() {
            guard let first = names[..<index].firstIndex(of: name) else { continue }
            let reason =
                name == template
                ? "Put {width}, {height}, or {size} into the name."
                : "Leave out one of them, or put {size} into the name."
            throw ValidationError(
                "The sizes \(all[first].text) and \(all[index].text) have the same result \(name). \(reason)"
            )
        }
        return names
    }
}
