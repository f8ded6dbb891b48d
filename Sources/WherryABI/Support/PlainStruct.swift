// Wherry: structs in the caller's memory.
// SPDX-License-Identifier: Apache-2.0

import CWherry
import Glibc
import WherryCore
import WherryHTTP

/// A struct in wherry.h whose first member is its size.
protocol PlainStruct {
    var size: Int { get set }
    init()
}

extension wherry_progress: PlainStruct {}
extension wherry_record: PlainStruct {}
extension wherry_metrics: PlainStruct {}
extension wherry_transfer_row: PlainStruct {}
extension wherry_image_row: PlainStruct {}
extension wherry_image_info: PlainStruct {}
extension wherry_image_photo: PlainStruct {}
extension wherry_image_comparison: PlainStruct {}
extension wherry_partial_row: PlainStruct {}
extension wherry_entry_row: PlainStruct {}
extension wherry_cookie_row: PlainStruct {}
extension wherry_job_row: PlainStruct {}
extension wherry_change_row: PlainStruct {}
extension wherry_cache_usage: PlainStruct {}
extension wherry_image_usage: PlainStruct {}
extension wherry_timing: PlainStruct {}
extension wherry_log_record: PlainStruct {}
extension wherry_counters: PlainStruct {}

/// Validates the size of a caller's struct: it may be smaller or larger than ours, within limits.
func checkedSize(_ size: Int, atLeast least: Int = MemoryLayout<Int>.size) throws(WherryError)
    -> Int
{
    guard size >= least, size <= 4096 else {
        throw WherryError(
            .badArgument, "The size of a struct is \(size). Set it to the sizeof of the struct.")
    }
    return size
}

/// Writes a struct up to the size of the caller's, and zeroes the caller's members beyond ours.
func write<Struct: PlainStruct>(
    _ value: Struct, to out: UnsafeMutableRawPointer, size: Int
) {
    var value = value
    value.size = size
    withUnsafeBytes(of: &value) { bytes in
        guard let base = bytes.baseAddress else { return }
        memcpy(out, base, min(size, bytes.count))
        if size > bytes.count { memset(out + bytes.count, 0, size - bytes.count) }
    }
}

/// Fills the caller's struct.
func fill<Struct: PlainStruct>(
    _ out: UnsafeMutablePointer<Struct>?, _ make: () throws(WherryError) -> Struct
) throws(WherryError) {
    let out = try required(out)
    let size = try checkedSize(out.pointee.size)
    write(try make(), to: UnsafeMutableRawPointer(out), size: size)
}
