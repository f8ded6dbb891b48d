// Wherry: request bodies made of bytes and files, with read-ahead.
// SPDX-License-Identifier: Apache-2.0

import Glibc
import WherrySystem

/// A part of a body, sent in order.
package enum BodySegment: Sendable {
    case bytes(Bytes)
    /// A file, or a part of it that starts at `offset`. If `length` is `nil`, the part ends at the
    /// end that the file has when the body is created.
    case file(path: String, offset: Int64 = 0, length: Int64? = nil)
    /// Bytes that a caller writes during the transfer. All such segments of a body share one
    /// writer, one after another.
    case stream(StreamedBody, length: Int64)
}

/// A body of known length that never holds whole files in memory.
///
/// `init` opens the files, so that a missing file fails before anything is sent. Bytes in the page
/// cache are read directly into libcurl's buffer, without waiting. Other bytes are read by a job on
/// the workers, which fills two buffers in turn. `read` then only copies, and returns `.wait` if
/// the job is behind. If the size of a file changes during the transfer, the transfer fails.
package final class SegmentedBody: BodySource {
    /// The size of each of the two buffers.
    package static let bufferSize = 524_288

    private enum Part: Sendable {
        case bytes(Bytes)
        case file(File, offset: Int64, length: Int64, size: Int64)
        case stream(StreamedBody, length: Int64)

        var length: Int64 {
            switch self {
            case .bytes(let bytes): Int64(bytes.count)
            case .file(_, _, let length, _), .stream(_, let length): length
            }
        }
    }

    /// A filled buffer, and the position of its bytes in the body.
    private struct Block {
        var buffer: Buffer
        var part: Int
        var offset: Int64
        var count: Int
    }

    private final class Buffer: @unchecked Sendable {  // used by one side at a time
        let bytes: UnsafeMutableRawBufferPointer

        init?(_ size: Int) {
            guard let base = malloc(max(1, size)) else { return nil }
            bytes = UnsafeMutableRawBufferPointer(start: base, count: size)
        }
        deinit { free(bytes.baseAddress) }
    }

    /// A position in the body.
    private struct Position {
        var part = 0
        var offset: Int64 = 0
    }

    /// The state shared by the reading side and the job.
    private struct Shared {
        var free: [Buffer] = []
        var made = 0
        var ready: [Block] = []
        /// The next position that the job reads.
        var next = Position()
        var isRunning = false
        /// The number of rewinds. Data read before the last rewind is discarded.
        var round = 0
        var failure: TransportError?
        weak var waiting: Exchange?
    }

    private let parts: [Part]
    private let workers: WorkerPool
    private let shared = Lock(Shared())
    private let size: Int
    private let total: Int64
    private let usesPageCache: Bool
    /// The index of the last segment that is a file; -1 if there is none.
    private let lastFile: Int
    /// State of the reading side; `read` and `rewind` are called from one thread at a time.
    private nonisolated(unsafe) var position = Position()
    private nonisolated(unsafe) var current: Block?

    /// Opens every file, following symbolic links.
    ///
    /// Throws the system's error for a missing or unreadable file, and `EISDIR` for a directory.
    /// Throws `EINVAL` for anything else that is not a regular file, and `ESTALE` for a file
    /// shorter than the requested part.
    ///
    /// - Parameter usesPageCache: `false` reads everything on the workers, as if nothing were in
    ///   the page cache. For tests.
    package init(
        _ segments: [BodySegment], workers: WorkerPool, usesPageCache: Bool = true
    ) throws(SystemError) {
        self.usesPageCache = usesPageCache
        var parts: [Part] = []
        var total: Int64 = 0
        var largest: Int64 = 0
        for segment in segments {
            let part: Part
            switch segment {
            case .bytes(let bytes): part = .bytes(bytes)
            case .file(let path, let offset, let length):
                part = try Self.open(path, offset, length)
                largest = max(largest, part.length)
            case .stream(let stream, let length): part = .stream(stream, length: length)
            }
            guard part.length > 0 else { continue }
            let (sum, overflow) = total.addingReportingOverflow(part.length)
            if overflow { throw SystemError(EOVERFLOW, "compute the length of a body") }
            total = sum
            parts.append(part)
        }
        self.parts = parts
        self.total = total
        lastFile = parts.lastIndex { if case .file = $0 { true } else { false } } ?? -1
        self.workers = workers
        size = Int(min(largest, Int64(Self.bufferSize)))
    }

    private static func open(
        _ path: String, _ offset: Int64, _ length: Int64?
    ) throws(SystemError) -> Part {
        let file = try File.open(path, [.read, .following])
        let status = try file.status()
        switch status.kind {
        case .regular: break
        case .directory: throw SystemError(EISDIR, "send", path: path)
        default: throw SystemError(EINVAL, "send a path that is not a regular file:", path: path)
        }
        guard offset >= 0, length ?? 0 >= 0 else { throw SystemError(EINVAL, "send", path: path) }
        let rest = status.size - min(offset, status.size)
        guard offset <= status.size, length ?? rest <= rest else {
            throw SystemError(ESTALE, "send more bytes than there are in", path: path)
        }
        return .file(file, offset: offset, length: length ?? rest, size: status.size)
    }

    /// The length in bytes, always known.
    package var length: Int64? { total }

    /// Writes the complete body into a file, from its start. Blocks. Throws `ESTALE` if a source
    /// file became shorter.
    package func write(to target: File) throws(SystemError) {
        var end: Int64 = 0
        var buffer = [UInt8](repeating: 0, count: 262_144)
        for part in parts {
            switch part {
            case .bytes(let bytes): try target.write(bytes, 0..<bytes.count, at: end)
            case .stream: throw SystemError(EINVAL, "store a body that is written while it is sent")
            case .file(let file, let offset, let length, _):
                var done: Int64 = 0
                while done < length {
                    let count = min(
                        Int64(try file.read(into: &buffer, at: offset + done)), length - done)
                    guard count > 0 else {
                        throw SystemError(
                            ESTALE, "send a file that became shorter:", path: file.path)
                    }
                    let piece = count == buffer.count ? buffer : Array(buffer[..<Int(count)])
                    try target.write(piece, at: end + done)
                    done += count
                }
            }
            end += part.length
        }
    }

    package func rewind() -> Bool {
        position = Position()
        let block = current
        current = nil
        shared.withLock { shared in
            shared.round += 1
            shared.free += shared.ready.map { $0.buffer }
            if let block { shared.free.append(block.buffer) }
            shared.ready = []
            shared.next = Position()
            shared.failure = nil
            shared.waiting = nil
        }
        return parts.allSatisfy { part in
            if case .stream(let stream, _) = part { stream.rewind() } else { true }
        }
    }

    /// Passes the complete body to `body` in chunks from the start, regardless of the current
    /// position, until `body` returns `false`. Blocks: call it on a worker.
    ///
    /// - Returns: Whether the body was complete. `false` also if a caller writes a segment.
    /// - Throws: `ESTALE` if a file has changed.
    package func forEachPiece(
        _ body: (UnsafeRawBufferPointer) -> Bool
    ) throws(SystemError) -> Bool {
        for part in parts {
            switch part {
            case .bytes(let bytes):
                guard bytes.withUnsafeBytes(body) else { return false }
            case .file(let file, let start, let length, _):
                guard let buffer = Buffer(size) else { throw SystemError(ENOMEM, "read") }
                var done: Int64 = 0
                while done < length {
                    let wanted = Int(min(Int64(size), length - done))
                    let room = UnsafeMutableRawBufferPointer(rebasing: buffer.bytes[..<wanted])
                    let count = try file.read(into: room, at: start + done)
                    guard count > 0 else {
                        throw SystemError(
                            ESTALE, "read more bytes than there are in", path: file.path)
                    }
                    let piece = UnsafeRawBufferPointer(rebasing: room[..<count])
                    guard body(piece) else { return false }
                    done += Int64(count)
                }
            case .stream: return false
            }
        }
        return true
    }

    package func read(
        into target: UnsafeMutableRawBufferPointer, for exchange: Exchange
    ) -> BodyRead {
        var done = 0
        while done < target.count, position.part < parts.count {
            let room = UnsafeMutableRawBufferPointer(rebasing: target[done...])
            let count: Int
            switch parts[position.part] {
            case .bytes(let bytes): count = copy(bytes, into: room)
            case .file:
                switch copyFile(into: room, for: done == 0 ? exchange : nil) {
                case .success(let copied): count = copied
                case .failure(let error): return done > 0 ? .bytes(done) : .failed(error)
                }
                if count == 0 { return done > 0 ? .bytes(done) : .wait }
            case .stream(let stream, let length):
                // Read only if nothing else was copied, because the segment then remembers the
                // waiting exchange.
                if done > 0 { return .bytes(done) }
                let left = Int(min(Int64(room.count), length - position.offset))
                let answer = stream.read(
                    into: UnsafeMutableRawBufferPointer(rebasing: room[..<left]), for: exchange)
                switch answer {
                case .bytes(let copied): count = copied
                case .wait, .failed: return answer
                case .end:
                    return .failed(
                        TransportError(
                            .truncated, "The parts of the form were not written completely"))
                }
            }
            done += count
            advance(by: count)
        }
        return done > 0 ? .bytes(done) : .end
    }

    private func advance(by count: Int) {
        position.offset += Int64(count)
        if position.offset >= parts[position.part].length {
            position = Position(part: position.part + 1)
        }
    }

    private func copy(_ bytes: Bytes, into room: UnsafeMutableRawBufferPointer) -> Int {
        bytes.withUnsafeBytes { source in
            let start = Int(position.offset)
            let count = min(room.count, source.count - start)
            room.copyMemory(from: UnsafeRawBufferPointer(rebasing: source[start..<start + count]))
            return count
        }
    }

    /// Copies from the filled buffers. Returns 0 if none is filled; `waiting` is then notified
    /// later.
    private func copyFile(
        into room: UnsafeMutableRawBufferPointer, for waiting: Exchange?
    ) -> Result<Int, TransportError> {
        if current == nil, let count = readCached(into: room) { return .success(count) }
        if current == nil {
            var isStarting = false
            let failure = shared.withLock { shared -> TransportError? in
                if !shared.ready.isEmpty {
                    current = shared.ready.removeFirst()
                } else if let failure = shared.failure {
                    return failure
                } else if let waiting {
                    shared.waiting = waiting
                }
                isStarting =
                    !shared.isRunning && shared.failure == nil
                    && shared.next.part <= lastFile && (!shared.free.isEmpty || shared.made < 2)
                if isStarting { shared.isRunning = true }
                return nil
            }
            if isStarting { workers.submit { [self] in readAhead() } }
            if let failure { return .failure(failure) }
        }
        guard let block = current else { return .success(0) }
        let start = Int(position.offset - block.offset)
        let count = min(room.count, block.count - start)
        room.copyMemory(
            from: UnsafeRawBufferPointer(rebasing: block.buffer.bytes[start..<start + count]))
        if start + count == block.count {
            current = nil
            shared.withLock { $0.free.append(block.buffer) }
        }
        return .success(count)
    }

    /// Reads from the page cache if no job is reading. Returns `nil` if nothing is cached, or if
    /// the file changed; the job then reports the change.
    private func readCached(into room: UnsafeMutableRawBufferPointer) -> Int? {
        guard usesPageCache,
            case .file(let file, let offset, let length, let size) = parts[position.part]
        else { return nil }
        let isMine = shared.withLock { shared in
            !shared.isRunning && shared.ready.isEmpty && shared.failure == nil
        }
        guard isMine else { return nil }
        let wanted = Int(min(Int64(room.count), length - position.offset))
        let target = UnsafeMutableRawBufferPointer(rebasing: room[..<wanted])
        let count = file.readNow(into: target, at: offset + position.offset)
        guard count > 0, (try? file.status().size) == size else { return nil }
        shared.withLock { shared in
            shared.next = Position(part: position.part, offset: position.offset + Int64(count))
            if shared.next.offset >= length { shared.next = Position(part: position.part + 1) }
        }
        return count
    }

    // MARK: Read-ahead

    /// Fills buffers until none is free or everything was read.
    private func readAhead() {
        while true {
            let taken = shared.withLock { shared -> (Buffer, Position, Int)? in
                while shared.next.part < parts.count {
                    if case .file = parts[shared.next.part] { break }
                    shared.next = Position(part: shared.next.part + 1)
                }
                guard shared.failure == nil, shared.next.part < parts.count,
                    let buffer = takeBuffer(&shared)
                else {
                    shared.isRunning = false
                    return nil
                }
                return (buffer, shared.next, shared.round)
            }
            guard let (buffer, place, round) = taken else {
                // Fail the exchange that waits for a buffer that could not be allocated.
                shared.withLock { shared in
                    let waiting = shared.failure == nil ? nil : shared.waiting
                    if waiting != nil { shared.waiting = nil }
                    return waiting
                }?.bodyIsReady()
                return
            }
            let outcome = fill(buffer, from: place)
            let waiting = shared.withLock { shared -> Exchange? in
                guard shared.round == round else {
                    shared.free.append(buffer)
                    return nil
                }
                switch outcome {
                case .success(let count):
                    shared.ready.append(
                        Block(buffer: buffer, part: place.part, offset: place.offset, count: count))
                    shared.next.offset += Int64(count)
                    if shared.next.offset >= parts[place.part].length {
                        shared.next = Position(part: place.part + 1)
                    }
                case .failure(let error):
                    shared.failure = error
                    shared.free.append(buffer)
                }
                let waiting = shared.waiting
                shared.waiting = nil
                return waiting
            }
            waiting?.bodyIsReady()
        }
    }

    /// Returns a free buffer, of at most two. Fails the body if the first one cannot be allocated.
    private func takeBuffer(_ shared: inout Shared) -> Buffer? {
        if let buffer = shared.free.popLast() { return buffer }
        guard shared.made < 2 else { return nil }
        guard let buffer = Buffer(size) else {
            if shared.made == 0 {
                shared.failure = TransportError(
                    .noMemory, "Not enough memory to read a file to send")
            }
            return nil
        }
        shared.made += 1
        return buffer
    }

    private func fill(_ buffer: Buffer, from place: Position) -> Result<Int, TransportError> {
        guard case .file(let file, let offset, let length, let size) = parts[place.part] else {
            return .success(0)
        }
        let wanted = Int(min(Int64(buffer.bytes.count), length - place.offset))
        let room = UnsafeMutableRawBufferPointer(rebasing: buffer.bytes[..<wanted])
        do throws(SystemError) {
            let count = try file.read(into: room, at: offset + place.offset)
            // Checked after reading, to detect a change before or during the read.
            let now = try file.status().size
            guard now == size, count == wanted else {
                return .failure(
                    TransportError(
                        .fileChanged,
                        "The file \(file.path) changed its size while it was sent, from \(size) bytes to \(now)"
                    ))
            }
            return .success(count)
        } catch {
            return .failure(
                TransportError(.fileError, error.description, osCode: error.code))
        }
    }
}
