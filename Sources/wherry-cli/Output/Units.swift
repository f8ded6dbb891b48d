// Wherry: formats bytes, speeds, and times.
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Texts for amounts.
enum Units {
    /// "318 bytes", "1.5 KiB", "256.0 MiB".
    static func bytes(_ count: Int64) -> String {
        guard count >= 1024 else { return count == 1 ? "1 byte" : "\(count) bytes" }
        let (value, unit) = scaled(count)
        return String(format: "%.1f %@", value, unit)
    }

    /// "158.7 of 256.0 MiB", in the unit of the second number.
    static func bytes(_ count: Int64, of total: Int64) -> String {
        guard total >= 1024 else { return "\(count) of \(bytes(total))" }
        let (value, unit) = scaled(total)
        let part = total == 0 ? 0 : Double(count) / Double(total) * value
        return String(format: "%.1f of %.1f %@", part, value, unit)
    }

    /// "3.2 MiB → 812.0 KiB (-75 %)"; only the second size if the first is unknown.
    static func change(_ original: Int64, _ now: Int64) -> String {
        guard original > 0 else { return bytes(now) }
        let percent = Int(((Double(now) / Double(original) - 1) * 100).rounded())
        return "\(bytes(original)) → \(bytes(now)) (\(percent > 0 ? "+" : "")\(percent) %)"
    }

    /// "12.3 MiB/s".
    static func speed(_ bytesPerSecond: Int64) -> String { bytes(bytesPerSecond) + "/s" }

    /// "0:03", "1:02:03"; days count as hours.
    static func time(_ duration: Duration) -> String {
        let seconds = max(0, duration.components.seconds)
        let (minutes, hours) = (seconds / 60 % 60, seconds / 3600)
        return hours > 0
            ? String(format: "%lld:%02lld:%02lld", hours, minutes, seconds % 60)
            : String(format: "%lld:%02lld", minutes, seconds % 60)
    }

    /// "0.42 s".
    static func seconds(_ duration: Duration) -> String {
        String(format: "%.2f s", duration.inSeconds)
    }

    private static func scaled(_ count: Int64) -> (Double, String) {
        var value = Double(count) / 1024
        for unit in ["KiB", "MiB", "GiB"] {
            // A number that rounds to 1024.0 is 1.0 of the next unit.
            if value < 1023.95 { return (value, unit) }
            value /= 1024
        }
        return (value, "TiB")
    }
}

extension Duration {
    var inSeconds: Double {
        Double(components.seconds) + Double(components.attoseconds) / 1e18
    }
}
