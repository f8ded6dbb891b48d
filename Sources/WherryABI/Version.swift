// Wherry: wherry.h, section 1: version.
// SPDX-License-Identifier: Apache-2.0

import CWherry
import WherryCore
import WherryRequests

@_cdecl("wherry_library_version") @implementation
public func wherry_library_version() -> Int32 { WherryLibrary.versionNumber }

@_cdecl("wherry_library_version_text") @implementation
public func wherry_library_version_text() -> UnsafePointer<CChar>? {
    StaticText.version
}

/// Text that is valid as long as the process lives.
enum StaticText {
    nonisolated(unsafe) static let version = UnsafePointer(CText.copy(WherryLibrary.version))

    static func pointer(_ text: StaticString) -> UnsafePointer<CChar>? {
        UnsafeRawPointer(text.utf8Start).assumingMemoryBound(to: CChar.self)
    }
}
