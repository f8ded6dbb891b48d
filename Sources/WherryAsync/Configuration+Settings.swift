// Wherry: settings of clients and requests that are more than the value of one option.
// SPDX-License-Identifier: Apache-2.0

import WherryCore

extension Client.Configuration {
    /// The successful status codes; `Request.acceptedStatus` adds more. Default: 200...299.
    public var acceptedStatusRange: ClosedRange<Int> {
        get { Int.range(values.options[.acceptStatusMin], values.options[.acceptStatusMax]) }
        set {
            values.options[.acceptStatusMin] = Int64(newValue.lowerBound)
            values.options[.acceptStatusMax] = Int64(newValue.upperBound)
        }
    }

    /// The maximum time that a transfer waits while its host is unreachable, in state `waiting`
    /// with the reason `offline`: a request before it is sent, a download after each dropped
    /// connection. `nil`, the default: no wait for requests, 60 s for downloads. Zero: no wait for
    /// either.
    public var waitForNetwork: Duration? {
        get {
            let value = values.options[.waitForNetwork]
            return value < 0 ? nil : .milliseconds(value)
        }
        set { values.options[.waitForNetwork] = newValue?.settingMilliseconds ?? -1 }
    }

    /// The maximum number of automatic retries of transient failures. `nil`, the default: 5 for
    /// downloads, 0 for requests (R29).
    ///
    /// Transient failures are dropped connections, timeouts, and the statuses 408, 429, 500, 502,
    /// 503 and 504. Before each retry, a request waits a random time of up to 0.5, 1, 2, ... 30 s,
    /// or as long as `Retry-After` says. All requests of a client share a budget of 100 retries,
    /// which grows by one for every five successes.
    public var maxRetries: Int? {
        get { values.options[.maxRetries] < 0 ? nil : Int(values.options[.maxRetries]) }
        set { values.options[.maxRetries] = newValue.map { Int64(max(0, $0)) } ?? -1 }
    }

    /// The names of the form fields of images. Default: `photo0`, `photo1`.
    public var imageNaming: ImageNaming {
        get { values.texts[.imageNames].flatMap { ImageNaming(rawValue: $0) } ?? .index }
        set { values.texts[.imageNames] = newValue.rawValue }
    }
}

extension Request {
    /// The successful status codes; ``acceptedStatus`` adds more. `nil` uses the client's setting.
    public var acceptedStatusRange: ClosedRange<Int>? {
        get {
            guard let lower = value(of: .acceptStatusMin), let upper = value(of: .acceptStatusMax)
            else { return nil }
            return Int.range(lower, upper)
        }
        set {
            set(.acceptStatusMin, newValue.map { Int64($0.lowerBound) })
            set(.acceptStatusMax, newValue.map { Int64($0.upperBound) })
        }
    }
}

extension Int {
    /// Returns a range of bounds that were set separately and may be in the wrong order.
    static func range(_ lower: Int64, _ upper: Int64) -> ClosedRange<Int> {
        Int(lower)...Int(Swift.max(lower, upper))
    }
}
