// Wherry: localized texts of a reachability status.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

extension Reachability.Status {
    /// Returns the localized text of the status, such as "Reachable via WiFi".
    ///
    /// Texts set with ``setText(_:for:language:)`` take precedence over the built-in ones: English,
    /// and Simplified and Traditional Chinese.
    ///
    /// - Parameters:
    ///   - language: A language tag such as "zh", "zh_CN.UTF-8", or "zh-Hant". `zh-TW`, `zh-HK`, and
    ///     `zh-MO` are Traditional Chinese. An unknown tag falls back to its first part, then to English.
    ///   - interface: The kind of interface that the route uses. Without it, every route except a
    ///     mobile one reads "Reachable via WiFi", as in AFNetworking. With it, a wired route reads
    ///     "Reachable via Ethernet".
    public func text(
        language: String = "en", interface: Reachability.Interface? = nil
    ) -> String {
        let tags = Self.candidates(language)
        let own = ReachabilityTexts.shared.withLock { $0.own }
        for tag in tags {
            if let text = own[tag]?[self] { return text }
        }
        let texts = tags.lazy.compactMap { BuiltInTexts.languages[$0] }.first ?? .english
        return texts.text(of: self, interface)
    }

    /// Overrides the text of a status in a language for this process; `nil` restores the default.
    public static func setText(_ text: String?, for status: Self, language: String) {
        ReachabilityTexts.shared.withLock {
            $0.own[normalized(language), default: [:]][status] = text
        }
    }

    /// Returns "zh-cn" for "zh_CN.UTF-8".
    private static func normalized(_ language: String) -> String {
        String(language.prefix { $0 != "." && $0 != "@" }.map { $0 == "_" ? "-" : $0 }).lowercased()
    }

    /// Returns the tags to look up, most specific first.
    private static func candidates(_ language: String) -> [String] {
        let tag = normalized(language)
        let parts = tag.split(separator: "-").map(String.init)
        let isTraditional =
            parts.first == "zh" && !parts.contains("hans")
            && parts.contains { ["hant", "tw", "hk", "mo"].contains($0) }
        return [tag] + (isTraditional ? ["zh-hant"] : []) + (parts.first.map { [$0] } ?? [])
    }
}

extension Reachability.Status: CustomStringConvertible {
    /// The text in English.
    public var description: String { text() }
}

extension Reachability.Change {
    /// Returns the localized text of the new status with its interface, such as
    /// "Reachable via Ethernet".
    public func text(language: String = "en") -> String {
        status.text(language: language, interface: interface)
    }
}

/// The texts that the program has set.
private struct ReachabilityTexts: Sendable {
    static let shared = Lock(ReachabilityTexts())
    var own: [String: [Reachability.Status: String]] = [:]
}

/// The built-in texts of one language.
private struct BuiltInTexts: Sendable {
    let unknown, notReachable, wwan, wifi, wired, vpn, loopback: String

    func text(of status: Reachability.Status, _ interface: Reachability.Interface?) -> String {
        switch (status, interface) {
        case (.unknown, _): unknown
        case (.notReachable, _): notReachable
        case (.reachableViaWWAN, _): wwan
        case (.reachableViaWiFi, .wired): wired
        case (.reachableViaWiFi, .vpn): vpn
        case (.reachableViaWiFi, .loopback): loopback
        case (.reachableViaWiFi, _): wifi
        }
    }

    static let english = BuiltInTexts(
        unknown: "Unknown", notReachable: "Not Reachable",
        wwan: "Reachable via WWAN", wifi: "Reachable via WiFi",
        wired: "Reachable via Ethernet", vpn: "Reachable via VPN",
        loopback: "Reachable on this machine")

    static let languages = [
        "en": english,
        "zh": BuiltInTexts(
            unknown: "未知", notReachable: "无法连接", wwan: "通过WWAN连接", wifi: "通过WiFi连接",
            wired: "通过以太网连接", vpn: "通过VPN连接", loopback: "可在本机连接"),
        "zh-hant": BuiltInTexts(
            unknown: "未知", notReachable: "無法連線", wwan: "透過WWAN連線", wifi: "透過WiFi連線",
            wired: "透過乙太網路連線", vpn: "透過VPN連線", loopback: "可在本機連線"),
    ]
}
