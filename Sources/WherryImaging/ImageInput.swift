// Wherry: random access to an encoded image in memory or in a file.
// SPDX-License-Identifier: Apache-2.0

internal import CImageCodecs
import Glibc
internal import WherrySystem

/// The bytes of one encoded image. Use it from one thread at a time.
final class ImageInput {
    let count: Int
    private let memory: Bytes?
    private let descriptor: Int32
    private var window: [UInt8] = []
    private var windowStart = 0
    private static let windowSize = 16_384

    init(_ bytes: Bytes) {
        memory = bytes
        descriptor = -1
        count = bytes.count
    }

    /// Opens a regular file.
    init(path: String) throws(ImagingError) {
        guard !path.utf8.contains(0) else { throw .badParameters("The path contains a zero byte.") }
        // Non-blocking, so that a named pipe does not block the worker.
        let opened = path.withPath { open($0, O_RDONLY | O_CLOEXEC | O_NONBLOCK) }
        guard opened >= 0 else { throw Self.unreadable(errno) }
        var status = stat()
        guard fstat(opened, &status) == 0 else {
            let code = errno
            close(opened)
            throw Self.unreadable(code)
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            close(opened)
            throw ImagingError(
                .file, "unreadable", "The path is not a regular file.",
                systemCode: status.st_mode & S_IFMT == S_IFDIR ? EISDIR : EINVAL)
        }
        memory = nil
        descriptor = opened
        count = Int(status.st_size)
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    static func unreadable(_ code: Int32) -> ImagingError {
        let words = SystemError(code, "read the image file").description
        return ImagingError(.file, "unreadable", words + ".", systemCode: code)
    }

    /// The input for the C codecs; valid as long as this object lives.
    var codecInput: cimage_input {
        cimage_input(
            bytes: memory?.storage?.base?.assumingMemoryBound(to: UInt8.self),
            count: memory?.count ?? 0, descriptor: descriptor)
    }

    // MARK: Single values, big endian

    func byte(at offset: Int) throws(ImagingError) -> UInt8 {
        if let memory {
            guard offset >= 0, offset < count else { throw Self.ended }
            return memory.withUnsafeBytes { $0[offset] }
        }
        try fill(offset)
        return window[offset - windowStart]
    }

    func u16(at offset: Int) throws(ImagingError) -> Int {
        Int(try byte(at: offset)) << 8 | Int(try byte(at: offset + 1))
    }

    func u32(at offset: Int) throws(ImagingError) -> Int {
        try u16(at: offset) << 16 | u16(at: offset + 2)
    }

    static var ended: ImagingError { .truncated("The file ends before the end of its image.") }

    // MARK: Pieces

    /// Returns a copy of `range`, which must lie within the input.
    func copy(_ range: Range<Int>) throws(ImagingError) -> [UInt8] {
        guard range.lowerBound >= 0, range.upperBound <= count else { throw Self.ended }
        var failure: ImagingError?
        let bytes = [UInt8](unsafeUninitializedCapacity: range.count) { buffer, filled in
            do throws(ImagingError) {
                try read(range, into: UnsafeMutableRawBufferPointer(buffer))
                filled = range.count
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        return bytes
    }

    /// Fills `buffer` with the bytes of `range`.
    func read(
        _ range: Range<Int>, into buffer: UnsafeMutableRawBufferPointer
    ) throws(ImagingError) {
        guard range.lowerBound >= 0, range.upperBound <= count, buffer.count >= range.count else {
            throw Self.ended
        }
        guard let target = buffer.baseAddress, !range.isEmpty else { return }
        if let memory {
            memory.withUnsafeBytes { all in
                _ = memcpy(target, all.baseAddress! + range.lowerBound, range.count)
            }
            return
        }
        var done = 0
        while done < range.count {
            let got = pread(
                descriptor, target + done, range.count - done, off_t(range.lowerBound + done))
            if got < 0 {
                if errno == EINTR { continue }
                throw Self.unreadable(errno)
            }
            guard got > 0 else { throw Self.ended }
            done += got
        }
    }

    /// Returns the offset of the first 0xFF at or after `offset`; `nil` if there is none.
    func firstFF(from offset: Int) throws(ImagingError) -> Int? {
        var at = offset
        while at < count {
            if let memory {
                return memory.withUnsafeBytes { all in
                    memchr(all.baseAddress! + at, 0xFF, count - at).map {
                        UnsafeRawPointer($0) - all.baseAddress!
                    }
                }
            }
            try fill(at)
            if let found = window[(at - windowStart)...].firstIndex(of: 0xFF) {
                return windowStart + found
            }
            at = windowStart + window.count
        }
        return nil
    }

    /// Whether bytes in memory contain 0, 0, 1.
    func hasStartCode(in range: Range<Int>) -> Bool {
        guard let memory, range.upperBound <= count else { return false }
        return memory.withUnsafeBytes { all in
            var at = range.lowerBound + 2
            while at < range.upperBound,
                let found = memchr(all.baseAddress! + at, 1, range.upperBound - at)
            {
                at = UnsafeRawPointer(found) - all.baseAddress!
                if all[at - 1] == 0, all[at - 2] == 0 { return true }
                at += 1
            }
            return false
        }
    }

    /// Returns the whole input; shares it if it is in memory.
    func all(maxMemory: Int) throws(ImagingError) -> Bytes {
        if let memory { return memory }
        return try assemble([.range(0..<count)], maxMemory: maxMemory)
    }

    /// A part of a rewritten file.
    enum Piece: Equatable {
        case range(Range<Int>)
        case bytes([UInt8])

        var count: Int {
            switch self {
            case .range(let range): range.count
            case .bytes(let bytes): bytes.count
            }
        }
    }

    /// Concatenates the pieces.
    func assemble(_ pieces: [Piece], maxMemory: Int) throws(ImagingError) -> Bytes {
        let total = pieces.reduce(0) { $0 + $1.count }
        guard total > 0 else { return Bytes() }
        guard total <= maxMemory else {
            throw .memoryLimit(needed: total, allowed: maxMemory)
        }
        guard let base = malloc(total) else { throw .noMemory }
        let storage = ByteStorage(taking: base, count: total)
        var at = 0
        for piece in pieces {
            let target = UnsafeMutableRawBufferPointer(start: base + at, count: total - at)
            switch piece {
            case .range(let range): try read(range, into: target)
            case .bytes(let bytes): target.copyBytes(from: bytes)
            }
            at += piece.count
        }
        return Bytes(storage)
    }

    private func fill(_ offset: Int) throws(ImagingError) {
        if offset >= windowStart, offset - windowStart < window.count { return }
        guard offset >= 0, offset < count else { throw Self.ended }
        window = try copy(offset..<min(count, offset + Self.windowSize))
        windowStart = offset
    }
}
