// Wherry: formats bytes, speeds, and times.
// SPDX-License-Identifier: Apache-2.0

/// Texts for amounts.
enum Units {
    /// "318 bytes", "1.5 KiB", "256.0 MiB".
    static func bytes(_ count: Int64) -> String {
        guard count >= 1024 else { return count == 1 ? "1 byte" : "\(count) bytes" }
        let (value, unit) = scaled(count)
        return "\(fixed(value, digits: 1)) \(unit)"
    }

    /// "158.7 of 256.0 MiB", in the unit of the second number.
    static func bytes(_ count: Int64, of total: Int64) -> String {
        guard total >= 1024 else { return "\(count) of \(bytes(total))" }
        let (value, unit) = scaled(total)
        let part = total == 0 ? 0 : Double(count) / Double(total) * value
        return "\(fixed(part, digits: 1)) of \(fixed(value, digits: 1)) \(unit)"
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
        let rest = padded(seconds % 60)
        return hours > 0 ? "\(hours):\(padded(minutes)):\(rest)" : "\(minutes):\(rest)"
    }

    /// "0.42 s".
    static func seconds(_ duration: Duration) -> String {
        "\(fixed(duration.inSeconds, digits: 2)) s"
    }

    /// A number below 2^53 with this many decimals, such as "1.50".
    static func fixed(_ value: Double, digits: Int) -> String {
        let scale = (0..<digits).reduce(1.0) { scale, _ in scale * 10 }
        let text = String(Int64((value.magnitude * scale).rounded(.toNearestOrEven)))
        let padded = String(repeating: "0", count: max(0, digits + 1 - text.count)) + text
        return "\(value < 0 ? "-" : "")\(padded.dropLast(digits)).\(padded.suffix(digits))"
    }

    /// A number with at least two digits.
    private static func padded(_ number: Int64) -> String {
        number < 10 ? "0\(number)" : "\(number)"
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
