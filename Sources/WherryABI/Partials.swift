// Wherry: wherry.h, section 14: partial downloads.
// SPDX-License-Identifier: Apache-2.0

import CWherry
import WherryCore
import WherryDownloads
import WherryHTTP

@_cdecl("wherry_partial_list") @implementation
public func wherry_partial_list(
    _ directory: UnsafePointer<CChar>?, _ out_list: UnsafeMutablePointer<OpaquePointer?>?
) -> wherry_status {
    status { () throws(WherryError) in
        let out = try required(out_list)
        let directory = try path(directory, "directory")
        let partials = try partials { () throws(DownloadError) in
            try PartialDownload.list(in: directory)
        }
        try Handles.give(ListBox(partials: partials), to: out)
    }
}

@_cdecl("wherry_partial_ratio") @implementation
public func wherry_partial_ratio(_ path: UnsafePointer<CChar>?) -> Double {
    value(0) { () throws(WherryError) in
        let path = try WherryABI.path(path, "path")
        let found = try partials { () throws(DownloadError) in try PartialDownload.of(path) }
        return max(0, found.first?.ratio ?? 0)
    }
}

@_cdecl("wherry_partial_discard") @implementation
public func wherry_partial_discard(_ path: UnsafePointer<CChar>?) -> wherry_status {
    status { () throws(WherryError) in
        let path = try WherryABI.path(path, "path")
        _ = try partials { () throws(DownloadError) in try PartialDownload.discard(path) }
    }
}

private func partials<Result>(
    _ body: () throws(DownloadError) -> Result
) throws(WherryError) -> Result {
    do throws(DownloadError) {
        return try body()
    } catch {
        throw error.wherryError()
    }
}
