// swift-tools-version: 6.2
// Wherry: small programs in Swift
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

let package = Package(
    name: "wherry-examples",
    dependencies: [.package(name: "wherry", path: "../..")],
    targets: [
        "quickstart", "get", "post-json", "lines", "album", "download", "settings",
    ].map { name in
        .executableTarget(name: name, dependencies: [.product(name: "Wherry", package: "wherry")])
    },
    swiftLanguageModes: [.v6]
)
