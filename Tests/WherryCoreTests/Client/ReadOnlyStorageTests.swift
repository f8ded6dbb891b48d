// Wherry: tests of storage folders on a read-only disk
// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestServer
import Testing
import WherryHTTP

@testable import WherryCore

@Suite struct ReadOnlyStorageTests {
    // The cache stayed empty, and only the log said so.
    @Test("C12 creating a client with a storage folder on a read-only disk is an error")
    func readOnlyStorage() throws {
        for exists in [true, false] {
            let disk = try #require(SmallDisk())
            let path = disk.path + "/store"
            if exists { #expect(mkdir(path, 0o700) == 0) }
            #expect(disk.makeReadOnly())
            for isOn in [true, false] {
                do throws(WherryError) {
                    _ = try Client {
                        $0.storageDirectory = path
                        $0.usesHTTPCache = isOn
                    }
                    Issue.record("exists \(exists), on \(isOn)")
                } catch {
                    #expect(error.code == .file)
                    #expect(error.osCode == EROFS)
                    #expect(error.message.contains(disk.path))
                }
            }
        }
    }
}
