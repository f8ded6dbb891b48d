// Wherry: tests of partial files that several queries of one URL can use
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Testing

@testable import WherryDownloads
@testable import WherrySystem

@Suite struct SharedPartNamesTests {
    @Test("D26 downloads with other queries that begin at the same time get a partial file each")
    func concurrentStarts() throws {
        let count = 4
        for _ in 0..<200 {
            let folder = try DownloadFolder()
            let path = folder.path
            let found = Lock<[Result<PartFile.Found, any Error>]>([])
            DispatchQueue.concurrentPerform(iterations: count) { index in
                let result = Result {
                    let target = try DownloadTarget.locate(
                        path, isDirectory: true, suggestedName: "a.bin")
                    return try PartFile.open(
                        target, .init(url: "\(MachineRun.url)?token=\(index)"),
                        resumes: { _ in true })
                }
                found.withLock { $0.append(result) }
            }
            let parts = try found.withLock { try $0.map { try $0.get().part } }
            #expect(Set(parts.map(\.names.part)).count == count)
        }
    }
}
