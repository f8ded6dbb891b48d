// Wherry: code of Alamofire apps, ported to Wherry
// SPDX-License-Identifier: Apache-2.0
//
// usage: from-alamofire BASE IMAGE FOLDER

import ExampleTools
import Foundation
import Wherry

let arguments = Arguments(usage: "from-alamofire BASE IMAGE FOLDER", count: 3, options: [])
let (image, folder) = (arguments[1], arguments[2])

// guide: begin values
struct Draft: Encodable, Sendable {
    var text: String
}

struct Note: Decodable, Sendable {
    var id: Int
    var text: String
}
// guide: end values

do {
    // guide: begin session
    let client = try Client {  // let session = Session(configuration:interceptor:)
        $0.baseURL = arguments[0]
        $0.headers = ["X-App": "demo"]  // configuration.headers
        $0.idleTimeout = .seconds(60)  // configuration.timeoutIntervalForRequest
        $0.maxRetries = 2  // RetryPolicy(retryLimit: 2)
    }
    // guide: end session

    // guide: begin requests
    // session.request("notes", method: .post, parameters: draft, encoder: .json)
    //     .validate().serializingDecodable(Note.self).value
    let saved = try await client.post("notes", json: Draft(text: "hello"), as: Note.self)
    print(saved.id, saved.text)

    // session.request("search", parameters: ["q": "skye"]).validate().serializingString().value
    print(try await client.get("search", parameters: ["q": "skye"]).text)
    // guide: end requests

    // guide: begin interceptor
    var hooks = Hooks()
    hooks.adapt = { request in  // RequestAdapter
        var request = request
        request.headers["X-Trace"] = "7"
        return request
    }
    hooks.retry = { error, retries in  // RequestRetrier
        error.httpStatus == 423 && retries < 2 ? .after(.zero) : .standard
    }
    try client.setHooks(hooks)
    print(try await client.get("locked").status)
    // guide: end interceptor

    // guide: begin upload
    // session.upload(multipartFormData: { $0.append(url, withName: "photo") }, to: "photos")
    let upload = try client.upload(
        [.file(image)], to: "photos", name: "photo", compression: Compression(quality: 0.5))
    for await progress in upload.progress { note("\(progress.completed) bytes sent\n") }
    print(try await upload.value.status)
    // guide: end upload

    // guide: begin download
    // session.download("big.bin", to: destination); resumes from resumeData that the app has kept
    let download = try client.download("big.bin", to: folder + "/big.bin")
    for await progress in download.progress { note("\(progress.completed) bytes\n") }
    print(try await download.value.path)
    // guide: end download

    // guide: begin errors
    do {
        _ = try await client.get("missing")  // every request validates its status
    } catch {  // a WherryError that contains the response
        print(error.reason, error.httpStatus, error.response?.text ?? "")
    }
    // guide: end errors

    // guide: begin stub
    let stub = StubServer()  // a URLProtocol subclass
    try stub.respond("https://api.test/notes/*", json: ["id": 7, "text": "stub"])
    let tested = try Client { $0.stubServer = stub }
    print(try await tested.get("https://api.test/notes/7").text)
    // guide: end stub
} catch {
    note("\(error)\n")
    exit(1)
}
