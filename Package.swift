// swift-tools-version: 6.2
// Wherry: the network layer of an application as one shared library.
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

/// Modules whose own code may not touch memory unchecked: an unsafe expression there does not build.
let memorySafe: [SwiftSetting] = [
    .strictMemorySafety(),
    .treatWarning("StrictMemorySafety", as: .error),
]

let package = Package(
    name: "wherry",
    products: [
        .library(name: "Wherry", targets: ["Wherry"]),
        .library(name: "wherry-c", type: .dynamic, targets: ["WherryDylib"]),
        .executable(name: "wherry-agent", targets: ["WherryAgent"]),
    ],
    targets: [
        // C and the system's libraries, in thin wrappers.
        .systemLibrary(
            name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["libpng-dev"])]),
        .systemLibrary(name: "CWherry", path: "include"),
        // runtime.c is for CMake, which links the Swift runtime statically.
        .target(name: "CLinux", exclude: ["runtime.c"]),
        .target(name: "CArguments"),
        .target(
            name: "CImageCodecs",
            linkerSettings: [.linkedLibrary("jpeg"), .linkedLibrary("png")]),

        // Targets that use pointers and system calls.
        .target(name: "WherrySystem", dependencies: ["CLinux", "CZlib"]),
        .target(name: "WherryTransport", dependencies: ["CCurl", "WherrySystem"]),
        .target(name: "WherryImaging", dependencies: ["CImageCodecs", "WherrySystem"]),

        // The engine, and its Swift and C interfaces.
        .target(
            name: "WherryHTTP", dependencies: ["WherrySystem", "WherryTransport"],
            swiftSettings: memorySafe),
        .target(name: "WherryCache", dependencies: ["WherryHTTP"], swiftSettings: memorySafe),
        .target(name: "WherryDownloads", dependencies: ["WherryHTTP"], swiftSettings: memorySafe),
        .target(
            name: "WherryReachability", dependencies: ["WherryHTTP"], swiftSettings: memorySafe),
        .target(name: "WherryLogging", dependencies: ["WherryHTTP"], swiftSettings: memorySafe),
        .target(
            name: "WherryRequests",
            dependencies: ["WherryCache", "WherryDownloads", "WherryImaging"],
            exclude: ["Options/options.toml"], swiftSettings: memorySafe),
        .target(
            name: "WherryCore",
            dependencies: ["WherryRequests", "WherryReachability", "WherryLogging"],
            swiftSettings: memorySafe),
        .target(name: "WherryBackground", dependencies: ["WherryCore"], swiftSettings: memorySafe),
        .target(name: "WherryModels", dependencies: ["WherryCore"], swiftSettings: memorySafe),
        .target(
            name: "WherryAsync", dependencies: ["WherryBackground", "WherryModels", "WherryCore"],
            swiftSettings: memorySafe),
        // WherryAsync with Foundation's URL, Data, and coders.
        .target(name: "Wherry", dependencies: ["WherryAsync"], swiftSettings: memorySafe),
        .target(
            name: "WherryABI",
            dependencies: ["CWherry", "WherryBackground", "WherryModels", "WherryCore"]),
        .target(name: "WherryDylib", dependencies: ["WherryABI"]),
        // Runs background jobs after the program that started them has ended.
        // Its module is not wherry_agent: in tests the entry of that would be wherry_agent_main,
        // which is a function of the C interface.
        .executableTarget(
            name: "WherryAgent", dependencies: ["WherryBackground", "WherrySystem", "CArguments"],
            path: "Sources/wherry-agent"),

        .target(
            name: "TestServer", path: "Tests/TestServer",
            exclude: [
                "README.md", "test_faults.py", "test_files.py", "test_testserver.py",
                "wherry_testserver",
            ]),
        .testTarget(name: "TestServerTests", dependencies: ["TestServer"]),
        .testTarget(name: "WherrySystemTests", dependencies: ["WherrySystem"]),
        .testTarget(name: "WherryTransportTests", dependencies: ["WherryTransport", "TestServer"]),
        .testTarget(name: "WherryImagingTests", dependencies: ["WherryImaging"]),
        .testTarget(name: "WherryHTTPTests", dependencies: ["WherryHTTP", "TestServer"]),
        .testTarget(name: "WherryCacheTests", dependencies: ["WherryCache", "CacheChild"]),
        .testTarget(
            name: "WherryDownloadsTests", dependencies: ["WherryDownloads", "TestServer"]),
        .testTarget(name: "WherryReachabilityTests", dependencies: ["WherryReachability"]),
        .testTarget(name: "WherryLoggingTests", dependencies: ["WherryLogging"]),
        .testTarget(name: "WherryRequestsTests", dependencies: ["WherryRequests"]),
        .testTarget(name: "WherryCoreTests", dependencies: ["WherryCore", "TestServer"]),
        .testTarget(
            name: "WherryBackgroundTests", dependencies: ["WherryBackground", "TestServer"]),
        .testTarget(name: "WherryModelsTests", dependencies: ["WherryModels", "TestServer"]),
        .testTarget(name: "WherryABITests", dependencies: ["CWherry", "WherryABI"]),
        .testTarget(name: "WherryTests", dependencies: ["Wherry", "WherryAsync", "TestServer"]),
        // Tests kill it.
        .executableTarget(
            name: "DownloadChild", dependencies: ["Wherry"], path: "Tests/DownloadChild"),
        .executableTarget(
            name: "BackgroundChild", dependencies: ["Wherry"], path: "Tests/BackgroundChild"),
        .executableTarget(
            name: "CacheChild", dependencies: ["WherryCache"], path: "Tests/CacheChild"),
        .testTarget(
            name: "AcceptanceTests",
            dependencies: [
                "Wherry", "WherryAsync", "TestServer", "DownloadChild", "BackgroundChild",
                "WherryAgent",
            ]),
    ],
    swiftLanguageModes: [.v6]
)

// The command is the only part that needs another package. It is included only with
// WHERRY_COMMAND=1 in the environment, so that programs that depend on Wherry resolve nothing else.
if Context.environment["WHERRY_COMMAND"] == "1" {
    package.products.append(.executable(name: "wherry-cli", targets: ["wherry-cli"]))
    package.dependencies.append(
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"))
    package.targets += [
        .target(
            name: "WherryCLI",
            dependencies: [
                "WherryAsync", "WherryImaging", "WherrySystem", "CArguments",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ]),
        .executableTarget(name: "wherry-cli", dependencies: ["WherryCLI"]),
    ]
}
