// Wherry: the benchmark driver of async-http-client.
// SPDX-License-Identifier: Apache-2.0
//
// usage: bench-async-http-client get URL REQUESTS IN_FLIGHT [CA [1.1]]
//        bench-async-http-client sync URL REQUESTS        `get` with one in flight
//        bench-async-http-client download URL PATH COUNT
//        bench-async-http-client upload URL FILE COUNT [CA]

import AsyncAlgorithms
import AsyncHTTPClient
import Foundation
import NIOCore
import NIOFileSystem
import NIOSSL

let warmUp = 64
let bodyLimit = 1 << 20
/// As large as the send buffer of bench_upload; the default of 128 KiB is slower.
let chunkLength = ByteCount.mebibytes(1)
let timeout = TimeAmount.minutes(5)

func fail(_ text: String) -> Never {
    FileHandle.standardError.write(Data("\(text)\n".utf8))
    exit(1)
}

func settings(_ inFlight: Int, tls: ArraySlice<String>) -> HTTPClient.Configuration {
    var configuration = HTTPClient.Configuration()
    configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = inFlight
    if let caFile = tls.first {
        var trust = TLSConfiguration.makeClientConfiguration()
        trust.trustRoots = .file(caFile)
        configuration.tlsConfiguration = trust
    }
    if tls.count > 1 { configuration.httpVersion = .http1Only }
    return configuration
}

/// A request with the same headers as in the other drivers.
func request(_ url: String) -> HTTPClientRequest {
    var request = HTTPClientRequest(url: url)
    request.headers = [
        "User-Agent": "wherry/0.1.0", "Accept": "*/*", "Accept-Encoding": "identity",
    ]
    return request
}

func isSuccess(_ response: HTTPClientResponse) -> Bool {
    200..<300 ~= response.status.code
}

/// Sends GETs, with a number of them in flight.
func get(_ client: HTTPClient, _ url: String, _ total: Int, _ inFlight: Int) async throws {
    let asked = request(url)
    @Sendable func send(_ count: Int) async throws -> (failed: Int, bytes: Int64) {
        var failed = 0
        var bytes: Int64 = 0
        for _ in 0..<count {
            let response = try await client.execute(asked, timeout: timeout)
            bytes += Int64(try await response.body.collect(upTo: bodyLimit).readableBytes)
            if !isSuccess(response) { failed += 1 }
        }
        return (failed, bytes)
    }
    func run(_ total: Int) async throws -> (failed: Int, bytes: Int64) {
        try await withThrowingTaskGroup(of: (failed: Int, bytes: Int64).self) { group in
            for index in 0..<inFlight {
                let share = total / inFlight + (index < total % inFlight ? 1 : 0)
                group.addTask { try await send(share) }
            }
            return try await group.reduce((failed: 0, bytes: Int64(0))) {
                ($0.failed + $1.failed, $0.bytes + $1.bytes)
            }
        }
    }
    _ = try await run(max(warmUp, inFlight))
    let measurement = Measurement()
    let sum = try await run(total)
    measurement.end(done: total, failed: sum.failed, bytes: sum.bytes)
}

/// Downloads a file repeatedly.
func download(_ client: HTTPClient, _ url: String, _ path: String, _ count: Int) async throws {
    let asked = request(url)
    let measurement = Measurement()
    var failed = 0
    var bytes: Int64 = 0
    for _ in 0..<count {
        let response = try await client.execute(asked, timeout: timeout)
        bytes += try await FileSystem.shared.withFileHandle(
            forWritingAt: FilePath(path), options: .newFile(replaceExisting: true)
        ) { file in
            try await file.withBufferedWriter { writer in
                var written: Int64 = 0
                for try await buffer in response.body {
                    written += try await writer.write(contentsOf: buffer)
                }
                return written
            }
        }
        if !isSuccess(response) { failed += 1 }
    }
    measurement.end(done: count, failed: failed, bytes: bytes)
}

/// Uploads a form with one file repeatedly. The package has no forms.
func upload(_ client: HTTPClient, _ url: String, _ path: String, _ count: Int) async throws {
    let boundary = "------------------------wherry0123456789"
    let name = path.split(separator: "/").last ?? ""
    let head = ByteBuffer(
        string: "--\(boundary)\r\nContent-Disposition: form-data; name=\"file\"; "
            + "filename=\"\(name)\"\r\nContent-Type: application/octet-stream\r\n\r\n")
    let tail = ByteBuffer(string: "\r\n--\(boundary)--\r\n")
    var asked = request(url)
    asked.method = .POST
    asked.headers.add(name: "Content-Type", value: "multipart/form-data; boundary=\(boundary)")
    let template = asked
    func send() async throws -> (isSuccess: Bool, size: Int64) {
        try await FileSystem.shared.withFileHandle(forReadingAt: FilePath(path)) { file in
            let size = try await file.info().size
            var form = template
            form.body = .stream(
                chain([head].async, file.readChunks(chunkLength: chunkLength), [tail].async),
                length: .known(Int64(head.readableBytes) + size + Int64(tail.readableBytes)))
            let response = try await client.execute(form, timeout: timeout)
            _ = try await response.body.collect(upTo: bodyLimit)
            return (isSuccess(response), size)
        }
    }
    var measurement = Measurement()
    _ = try await send()
    measurement.restart()
    var failed = 0
    var bytes: Int64 = 0
    for _ in 0..<count {
        let sent = try await send()
        if sent.isSuccess { bytes += sent.size } else { failed += 1 }
    }
    measurement.end(done: count, failed: failed, bytes: bytes)
}

let words = CommandLine.arguments
let usage = "usage: bench-async-http-client get|sync|download|upload ..."
guard words.count > 3, let amount = Int(words[words.count == 4 || words[1] == "get" ? 3 : 4])
else { fail(usage) }
let inFlight = words[1] == "get" && words.count > 4 ? max(1, Int(words[4]) ?? 1) : 1
let configuration = settings(inFlight, tls: words.dropFirst(5))
do {
    try await HTTPClient.withHTTPClient(configuration: configuration) { client in
        switch words[1] {
        case "get" where 5...7 ~= words.count: try await get(client, words[2], amount, inFlight)
        case "sync" where words.count == 4: try await get(client, words[2], amount, inFlight)
        case "download" where words.count == 5:
            try await download(client, words[2], words[3], amount)
        case "upload" where 5...6 ~= words.count:
            try await upload(client, words[2], words[3], amount)
        default: fail(usage)
        }
    }
} catch {
    fail("\(error)")
}
