// Wherry: tests of the progress of tagged transfers
// SPDX-License-Identifier: Apache-2.0

import Testing
import WherryHTTP

@testable import WherryCore

@Suite("Groups of transfers") struct TransferGroupsTests {
    private func progress(_ completed: Int64, _ total: Int64?) -> WherryHTTP.Progress {
        var progress = WherryHTTP.Progress()
        progress.completed = completed
        progress.total = total
        progress.bytesPerSecond = 7
        return progress
    }

    private func sum(_ groups: TransferGroups, _ tag: String = "g") -> (WherryHTTP.Progress, Int) {
        let ended = groups.ended(of: tag)
        return (WherryHTTP.Progress(sumOf: ended.parts), ended.count)
    }

    @Test("D29 finished transfers count until the group restarts")
    func ended() {
        var groups = TransferGroups()
        groups.began("g", path: "/a")
        groups.began("g", path: "/b")
        groups.ended("g", path: "/a", progress(10, 10), as: .done)
        #expect(sum(groups).0.completed == 10 && sum(groups).1 == 1)
        // An unannounced length is the received count; and nothing changes any more.
        groups.ended("g", path: "/b", progress(5, nil), as: .done)
        #expect(sum(groups).0.total == 15 && sum(groups).0.bytesPerSecond == nil)
        groups.began("g", path: "/c")
        #expect(sum(groups).1 == 0)
    }

    @Test("D29 a failed download stays missing, until a download of its path replaces it")
    func broken() {
        var groups = TransferGroups()
        for path in ["/a", "/b"] { groups.began("g", path: path) }
        groups.ended("g", path: "/a", progress(3, 10), as: .failed)
        #expect(sum(groups).0.completed == 3 && sum(groups).0.total == 10)
        groups.began("g", path: "/a")
        #expect(sum(groups).1 == 0)
        groups.ended("g", path: "/a", progress(10, 10), as: .done)
        #expect(sum(groups).0.completed == 10 && sum(groups).1 == 1)
        // One that never started does not count.
        groups.began("g", path: "/c")
        groups.ended("g", path: "/c", progress(0, nil), as: nil)
        #expect(sum(groups).1 == 1)
    }

    @Test("D29 a limited number of finished groups is remembered")
    func bounded() {
        var groups = TransferGroups()
        for number in 0...TransferGroups.mostIdle {
            groups.began("\(number)", path: nil)
            groups.ended("\(number)", path: nil, progress(1, 1), as: .done)
        }
        #expect(sum(groups, "0").1 == 0)
        #expect(sum(groups, "1").1 == 1)
        // A running group is never forgotten.
        groups.began("1", path: nil)
        groups.began("new", path: nil)
        groups.ended("new", path: nil, progress(1, 1), as: .done)
        groups.ended("1", path: nil, progress(2, 2), as: .done)
        #expect(sum(groups, "1").0.completed == 2)
    }
}
