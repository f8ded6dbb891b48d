// Wherry: words for people.
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

extension Reachability.Status {
    /// The words for it, such as "Reachable via WiFi": those that were set with ``setText(_:for:language:)``,
    /// else those built in for "en" and "zh".
    ///
    /// - Parameter language: a language tag such as "zh" or "zh_CN.UTF-8"; one that is not known is
    ///   looked up by its first part, and English after that.
    public func text(language: String = "en") -> String {
        let tag = Self.normalized(language)
        let short = String(tag.prefix { $0 != "-" })
        let own = ReachabilityTexts.shared.withLock { texts in
            texts.own[tag]?[self] ?? texts.own[short]?[self]
        }
        if let own { return own }
        return ReachabilityTexts.builtIn[short]?[self] ?? ReachabilityTexts.builtIn["en"]?[self]
            ?? ""
    }

    /// Sets the words of a status in a language for this process; `nil` takes them back.
    public static func setText(_ text: String?, for status: Self, language: String) {
        ReachabilityTexts.shared.withLock {
            $0.own[normalized(language), default: [:]][status] = text
        }
    }

    /// "zh_CN.UTF-8" as "zh-cn".
    private static func normalized(_ language: String) -> String {
        String(language.prefix { $0 != "." && $0 != "@" }.map { $0 == "_" ? "-" : $0 }).lowercased()
    }
}

extension Reachability.Status: CustomStringConvertible {
    /// The words in English.
    public var description: String { text() }
}

/// The table of words, and what the program put into it.
private struct ReachabilityTexts: Sendable {
    static let shared = Lock(ReachabilityTexts())
    var own: [String: [Reachability.Status: String]] = [:]

    static let builtIn: [String: [Reachability.Status: String]] = [
        "en": [
            .unknown: "Unknown", .notReachable: "Not Reachable",
            .reachableViaWWAN: "Reachable via WWAN", .reachableViaWiFi: "Reachable via WiFi",
        ],
        "zh": [
            .unknown: "未知", .notReachable: "无法连接",
            .reachableViaWWAN: "通过WWAN连接", .reachableViaWiFi: "通过WiFi连接",
        ],
    ]
}
