// Wherry: conversion of text and bytes.
// SPDX-License-Identifier: Apache-2.0

import Glibc
import WherryCore
import WherryHTTP
import WherrySystem

enum CText {
    /// Returns a NUL-terminated malloc copy; `nil` if out of memory.
    static func copy(_ text: String) -> UnsafeMutablePointer<CChar>? {
        var text = text
        return text.withUTF8 { bytes in
            guard let memory = malloc(bytes.count + 1) else { return nil }
            if let base = bytes.baseAddress { memcpy(memory, base, bytes.count) }
            memory.storeBytes(of: 0, toByteOffset: bytes.count, as: UInt8.self)
            return memory.assumingMemoryBound(to: CChar.self)
        }
    }

    /// Returns a NUL-terminated malloc copy of a path's bytes; `nil` if out of memory.
    static func copy(path: String) -> UnsafeMutablePointer<CChar>? {
        path.withPath { strdup($0) }
    }

    /// Copies text into the caller's buffer, truncated to its capacity, and reports the full
    /// length.
    static func copy(
        _ text: String, to buffer: UnsafeMutablePointer<CChar>?, _ capacity: Int,
        _ outCount: UnsafeMutablePointer<Int>?
    ) throws(WherryError) {
        guard capacity >= 0, buffer != nil || capacity == 0 else {
            throw WherryError(.badArgument, "The buffer is NULL and its capacity is not 0")
        }
        var text = text
        text.withUTF8 { copy($0, to: buffer, capacity, outCount) }
    }

    /// Copies a path's bytes into the caller's buffer, truncated to its capacity, and reports their
    /// number.
    static func copy(
        path: String, to buffer: UnsafeMutablePointer<CChar>?, _ capacity: Int,
        _ outCount: UnsafeMutablePointer<Int>?
    ) throws(WherryError) {
        guard capacity >= 0, buffer != nil || capacity == 0 else {
            throw WherryError(.badArgument, "The buffer is NULL and its capacity is not 0")
        }
        PathText.bytes(path).withUnsafeBufferPointer { copy($0, to: buffer, capacity, outCount) }
    }

    private static func copy(
        _ bytes: UnsafeBufferPointer<UInt8>, to buffer: UnsafeMutablePointer<CChar>?,
        _ capacity: Int, _ outCount: UnsafeMutablePointer<Int>?
    ) {
        if let buffer, capacity > 0 {
            var count = min(bytes.count, capacity - 1)
            // Do not split a character.
            while count > 0, count < bytes.count, bytes[count] & 0xC0 == 0x80 { count -= 1 }
            if let base = bytes.baseAddress { memcpy(buffer, base, count) }
            buffer[count] = 0
        }
        outCount?.pointee = bytes.count
    }
}

/// Returns required text.
@inline(__always)
func text(
    _ pointer: UnsafePointer<CChar>?, _ name: StaticString
) throws(WherryError) -> String {
    guard let text = try optionalText(pointer, name) else {
        throw WherryError(.badArgument, "The \(name) is NULL")
    }
    return text
}

/// Returns text, or `nil` for NULL.
@inline(__always)
func optionalText(
    _ pointer: UnsafePointer<CChar>?, _ name: StaticString
) throws(WherryError) -> String? {
    guard let pointer else { return nil }
    guard let text = String(validatingCString: pointer) else {
        throw WherryError(.badText, "The \(name) is not UTF-8")
    }
    return text
}

/// Returns a required path or file name. Its bytes need not be UTF-8.
func path(
    _ pointer: UnsafePointer<CChar>?, _ name: StaticString
) throws(WherryError) -> String {
    guard let pointer else { throw WherryError(.badArgument, "The \(name) is NULL") }
    guard pointer.pointee != 0 else { throw WherryError(.badPath, "The \(name) is empty") }
    return PathText.text(pointer)
}

/// Returns a path or file name; `nil` for NULL. Its bytes need not be UTF-8.
func optionalPath(_ pointer: UnsafePointer<CChar>?) -> String? {
    pointer.map { PathText.text($0) }
}

/// Returns the caller's bytes without a copy.
func buffer(
    _ pointer: UnsafeRawPointer?, _ count: Int
) throws(WherryError) -> UnsafeRawBufferPointer {
    guard count >= 0 else {
        throw WherryError(
            .badArgument,
            "The count of the bytes is \(UInt(bitPattern: count)), which is more than the memory can hold"
        )
    }
    guard pointer != nil || count == 0 else {
        throw WherryError(.badArgument, "The bytes are NULL, and their count is \(count)")
    }
    return UnsafeRawBufferPointer(start: pointer, count: count)
}

/// Returns a copy of the caller's bytes.
func bytes(_ pointer: UnsafeRawPointer?, _ count: Int) throws(WherryError) -> Bytes {
    let source = try buffer(pointer, count)
    guard let copy = Bytes(copyingIfPossible: source) else {
        throw WherryError(.noMemory, "Not enough memory for \(count) bytes")
    }
    return copy
}

/// The static C text of each reason.
enum ReasonText {
    private nonisolated(unsafe) static let words: [ErrorReason: UnsafeMutablePointer<CChar>] = {
        var words: [ErrorReason: UnsafeMutablePointer<CChar>] = [:]
        for reason in ErrorReason.allCases { words[reason] = CText.copy(reason.rawValue) }
        return words
    }()

    static func of(_ reason: ErrorReason?) -> UnsafePointer<CChar>? {
        reason.flatMap { words[$0] }.map { UnsafePointer($0) }
    }
}
