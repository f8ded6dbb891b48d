// Wherry: tests of ordered jobs
// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@testable import WherrySystem

@Suite struct SerialQueueTests {
    private static var thread: UInt { UInt(pthread_self()) }

    @Test("A job runs on the calling thread if that is allowed and no other precedes it")
    func here() {
        let pool = WorkerPool(limit: 1)
        defer { pool.close() }
        let queue = SerialQueue(on: pool)
        let done = Lock<[UInt]>([])
        queue.submit {
            done.withLock { $0.append(Self.thread) }
        } orRunHereIf: {
            true
        }
        #expect(done.withLock { $0 } == [Self.thread])
    }

    @Test("A job that is not allowed there runs in the pool")
    func elsewhere() {
        let pool = WorkerPool(limit: 1)
        let queue = SerialQueue(on: pool)
        let done = Lock<[UInt]>([])
        queue.submit {
            done.withLock { $0.append(Self.thread) }
        } orRunHereIf: {
            false
        }
        pool.close()
        #expect(done.withLock { $0.count } == 1 && done.withLock { $0 } != [Self.thread])
    }

    @Test("No job overtakes one that was queued before it")
    func order() {
        let pool = WorkerPool(limit: 1)
        let queue = SerialQueue(on: pool)
        let gate = Monitor(false)
        let done = Lock<[Int]>([])
        let asked = Lock(0)
        queue.submit {
            _ = gate.wait { $0 ? true : nil }
            done.withLock { $0.append(1) }
        }
        queue.submit {
            done.withLock { $0.append(2) }
        } orRunHereIf: {
            asked.withLock { $0 += 1 }
            return true
        }
        gate.update { $0 = true }
        pool.close()
        #expect(done.withLock { $0 } == [1, 2] && asked.withLock { $0 } == 0)
    }

    @Test("A job queued by a job on the calling thread follows it")
    func following() {
        let pool = WorkerPool(limit: 1)
        let queue = SerialQueue(on: pool)
        let done = Lock<[Int]>([])
        queue.submit {
            queue.submit { done.withLock { $0.append(2) } }
            queue.submit {
                done.withLock { $0.append(3) }
            } orRunHereIf: {
                true
            }
            done.withLock { $0.append(1) }
        } orRunHereIf: {
            true
        }
        pool.close()
        #expect(done.withLock { $0 } == [1, 2, 3])
    }
}

@Suite struct BlockPoolTests {
    @Test("A returned block is the next one; a limited number is kept")
    func again() throws {
        let pool = BlockPool(blockSize: 4096, most: 1)
        let first = try #require(pool.take())
        let second = try #require(pool.take())
        #expect(first != second)
        pool.give(first)
        pool.give(second)  // Freed.
        #expect(pool.take() == first)
        pool.give(first)
        pool.freeAll()
        pool.give(try #require(pool.take()))
    }

    @Test("Bytes in a block return it when the last reference is released")
    func bytes() throws {
        let pool = BlockPool(blockSize: 4096, most: 2)
        let block = try #require(pool.take())
        pool.give(block)
        var buffer = ByteBuffer()
        var isDone = buffer.reserve(from: pool) && buffer.append("body", 4)
        var bytes = buffer.take()
        #expect(isDone && bytes.text == "body" && bytes.lent == block)
        let part = bytes.part(1..<3)
        bytes = Bytes()
        // The part keeps the complete block.
        isDone = buffer.reserve(from: pool) && buffer.append("next", 4)
        let other = buffer.take()
        #expect(isDone && part.text == "od" && other.text == "next" && other.lent != block)
    }

    @Test("An unused buffer returns its block, and one that outgrows it has none")
    func growth() throws {
        let pool = BlockPool(blockSize: 16, most: 2)
        let block = try #require(pool.take())
        pool.give(block)
        do {
            var buffer = ByteBuffer()
            let isDone = buffer.reserve(from: pool)
            #expect(isDone)
        }
        #expect(pool.take() == block)
        pool.give(block)
        var buffer = ByteBuffer()
        var isDone = buffer.reserve(from: pool)
        for _ in 0..<100 { isDone = buffer.append("12345678", 8) && isDone }
        let bytes = buffer.take()
        #expect(isDone && bytes.count == 800 && bytes.text.hasSuffix("345678"))
        buffer.trim(to: 0)
        isDone = buffer.reserve(from: pool)
        buffer.trim(to: 0)
        let count = buffer.count
        #expect(isDone && count == 0)
    }
}
