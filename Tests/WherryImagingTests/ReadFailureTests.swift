// Wherry: tests of read failures.
// SPDX-License-Identifier: Apache-2.0

import CImageCodecs
import Glibc
import Testing

@testable import WherryImaging

@Test("a read failure while an image is opened keeps its errno", arguments: [true, false])
func openErrno(isJPEG: Bool) throws {
    // Opening the folder succeeds, but every pread fails with EISDIR.
    let folder = open("/", O_RDONLY | O_CLOEXEC)
    try #require(folder >= 0)
    defer { close(folder) }
    var source = cimage_input(bytes: nil, count: 1_000, descriptor: folder)
    var bounds = Limits(Compression()).codec
    var code: Int32 = 0

    let error = failure {
        var opened: OpaquePointer?
        try callCodec(errno: { code }) { message in
            isJPEG
                ? cimage_jpeg_open(&source, &bounds, &opened, &code, message)
                : cimage_png_open(&source, &bounds, &opened, &code, message)
        }
    }

    #expect(error?.reason == "unreadable" && error?.systemCode == EISDIR)
}
