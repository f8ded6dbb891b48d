// swift-tools-version: 6.2
// Wherry: small programs in Swift
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

func programs(_ names: [String], _ more: [Target.Dependency] = []) -> [Target] {
    names.map { name in
        .executableTarget(
            name: name, dependencies: [.product(name: "Wherry", package: "wherry")] + more)
    }
}

let package = Package(
    name: "wherry-examples",
    dependencies: [.package(name: "wherry", path: "../..")],
    targets: [.target(name: "ExampleTools")]
        + programs(["quickstart", "get", "post-json", "lines", "album", "download", "settings"])
        + programs(
            [
                "upload-images", "fetch-model", "api-client", "caching", "background",
                "from-afnetworking", "from-alamofire", "tutorial",
            ], ["ExampleTools"]),
    swiftLanguageModes: [.v6]
)
