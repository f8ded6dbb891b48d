// swift-tools-version: 6.2
// Wherry: the benchmark driver in Swift, a separate package so that users do not build it.
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

let package = Package(
    name: "wherry-benchmarks",
    dependencies: [.package(name: "wherry", path: "..")],
    targets: [
        .executableTarget(
            name: "bench-swift", dependencies: [.product(name: "Wherry", package: "wherry")])
    ],
    swiftLanguageModes: [.v6]
)
