// Wherry: code of SJNetwork, YTKNetwork, or AFNetworking apps, ported to Wherry
// SPDX-License-Identifier: Apache-2.0
//
// usage: from-afnetworking BASE IMAGE FOLDER

import ExampleTools
import Foundation
import Wherry

let arguments = Arguments(usage: "from-afnetworking BASE IMAGE FOLDER", count: 3, options: [])
let (image, folder) = (arguments[1], arguments[2])

do {
    // guide: begin configure
    let client = try Client {
        $0.baseURL = arguments[0]  // sharedConfig.baseUrl
        $0.parameters = ["platform": "linux"]  // defailtParameters
        $0.idleTimeout = .seconds(20)  // timeoutSeconds
        $0.isDebugging = false  // debugMode
        $0.storageDirectory = folder + "/cache"
    }
    try client.setHeader("token", "1234")  // addCustomHeader:
    // guide: end configure

    // guide: begin cached
    var request = Request("toutiao/index", method: "POST")
    request.parameters = ["type": "top"]
    request.cachePolicy = .use  // loadCache:YES
    request.cacheDuration = .seconds(180)  // cacheDuration:180
    let news = try await client.send(request)
    print(news.status, news.isFromCache, try news.json().text(at: "reason") ?? "")
    print(try await client.send(request).isFromCache)
    // guide: end cached

    // guide: begin upload
    let upload = try client.upload(
        [.file(image)], to: "upload", name: "color",
        compression: Compression(quality: 0.5, type: "jpg"), parameters: ["album": "1"])
    for await progress in upload.progress { note("\(progress.completed) bytes sent\n") }
    print(try await upload.value.status)
    // guide: end upload

    // guide: begin download
    let download = try client.download("wallpaper.jpg", to: folder + "/wallpaper.jpg")
    download.pause()  // suspendDownloadRequest:
    download.resume()  // resumeDownloadReqeust:
    print(try await download.value.path)
    client.cancel(.url("wallpaper.jpg"))  // cancelDownloadRequest:, no effect after the end
    // guide: end download

    // guide: begin errors
    do {
        _ = try await client.get("missing")
    } catch {
        print(error.reason, error.httpStatus, error.response?.text ?? "")  // the error response
    }
    // guide: end errors
} catch {
    note("\(error)\n")
    exit(1)
}
