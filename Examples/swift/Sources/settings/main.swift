// Wherry: client and request settings, live changes, and a file's digest
// SPDX-License-Identifier: Apache-2.0
//
// usage: settings BASE-URL FILE

import Foundation
import Wherry

guard CommandLine.arguments.count == 3 else { exit(2) }
let client = try Client {
    $0.baseURL = CommandLine.arguments[1]
    $0.userAgent = "Demo/1"
    $0.connectTimeout = .seconds(5)
    $0.httpVersion = .http1
    $0.contentCodings = .all
    $0.arrayStyle = .repeated
    $0.acceptedStatusRange = 200...204
    $0.wantsJSON = true
    $0.maxHeaderBytes = 64 << 10
    $0.maxReceiveBytesPerSecond = 50_000_000
    $0.maxSendBytesPerSecond = 50_000_000
    $0.hookTimeout = .seconds(10)
    $0.maxRetries = 3
    $0.durability = .full
    $0.makesDirectories = true
    $0.existingFile = .replace
    $0.imageNaming = .brackets
    $0.jpegContentType = "image/jpg"
}

// Changes apply to requests that start afterwards.
try client.configure {
    $0.userAgent = "Demo/2"
    $0.maxRedirects = 3
}

do {
    var request = Request("echo", method: "GET")
    request.parameters = ["id": [1, 2]]
    request.bearerToken = "of this request"
    request.keepsAuthAcrossHosts = false
    request.contentCodings = .identity
    request.userInfo = "what the program wants to find again"
    print(try await client.send(request).text)

    var file = Request("bytes/300000")
    file.reportedDigest = .sha256
    file.durability = .lazy
    let loaded = try await client.download(file, to: CommandLine.arguments[2]).value
    print("\(loaded.path) has the digest \(loaded.digests[.sha256] ?? "?")")
} catch {
    print("\(error)")
    exit(1)
}
