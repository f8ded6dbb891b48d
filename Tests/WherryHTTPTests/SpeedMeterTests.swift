// Wherry: tests of the speed over the last seconds
// SPDX-License-Identifier: Apache-2.0

import Testing
import WherryHTTP
import WherrySystem

@Suite struct SpeedMeterTests {
    private let start = Instant(nanoseconds: 1_000_000_000)

    private func meter(_ samples: [(second: Int64, bytes: Int64)]) -> SpeedMeter {
        var meter = SpeedMeter()
        for sample in samples {
            meter.add(sample.bytes, at: start.advanced(by: sample.second * 1_000_000_000))
        }
        return meter
    }

    @Test func `the speed covers the last five seconds`() {
        #expect(meter([(0, 0)]).bytesPerSecond == nil)
        #expect(meter([(0, 0), (2, 500)]).bytesPerSecond == 250)
        let steady = meter([(0, 0), (10, 1_000_000), (12, 1_000_200), (15, 1_000_500)])
        #expect(steady.bytesPerSecond == 100)
    }

    // It was withheld for two seconds although the speed was known.
    @Test func `the time left is known as soon as the speed is`() {
        #expect(meter([(0, 0)]).remaining(100) == nil)
        #expect(meter([(0, 0), (1, 100)]).remaining(100) == .seconds(1))
        #expect(meter([(0, 0), (2, 200)]).remaining(1000) == .seconds(10))
        #expect(meter([(0, 200), (2, 200)]).remaining(1000) == nil)
    }

    @Test func `every announced length gives a result`() throws {
        let slow = meter([(0, 0), (3, 3)])
        let left = try #require(slow.remaining(.max))
        #expect(left > .seconds(1_000_000_000))
        #expect(slow.remaining(.min) == .zero)
        #expect(meter([(0, 0), (1, .max)]).bytesPerSecond ?? 0 > 1_000_000_000_000)
    }
}
