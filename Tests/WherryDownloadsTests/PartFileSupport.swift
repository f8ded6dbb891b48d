// Wherry: helpers for the tests of partial files
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

@testable import WherryDownloads

extension PartFile {
    /// Writes the bytes of an array at an offset.
    func write(_ bytes: [UInt8], at offset: Int64) throws(DownloadError) {
        try write(Bytes(bytes), at: offset)
    }
}
