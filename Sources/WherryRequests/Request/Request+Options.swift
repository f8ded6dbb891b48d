// Wherry: the settings of a request that are one option each.
// SPDX-License-Identifier: Apache-2.0
// Written by scripts/make-options from options.toml.

extension Request {
    /// The maximum time without a byte in either direction. Zero: no limit. `nil` uses the client's
    /// setting.
    public var idleTimeout: Duration? {
        get { value(of: .idleTimeout).map { .milliseconds($0) } }
        set { set(.idleTimeout, newValue?.settingMilliseconds) }
    }
    /// The maximum time for name lookup, connection, and handshakes together. 0: libcurl's default
    /// of 300 s. `nil` uses the client's setting.
    public var connectTimeout: Duration? {
        get { value(of: .connectTimeout).map { .milliseconds($0) } }
        set { set(.connectTimeout, newValue?.settingMilliseconds) }
    }
    /// The maximum time from the last byte sent to the first byte received. Zero: no limit. `nil`
    /// uses the client's setting.
    ///
    /// A shorter ``idleTimeout`` also limits this wait, except for downloads.
    public var firstByteTimeout: Duration? {
        get { value(of: .firstByteTimeout).map { .milliseconds($0) } }
        set { set(.firstByteTimeout, newValue?.settingMilliseconds) }
    }
    /// The maximum time of a transfer, including redirects and retries. Zero: no limit. `nil` uses
    /// the client's setting.
    public var totalTimeout: Duration? {
        get { value(of: .totalTimeout).map { .milliseconds($0) } }
        set { set(.totalTimeout, newValue?.settingMilliseconds) }
    }
    /// The maximum number of redirects. 0 returns the redirect response. Range: 0 to 100. `nil`
    /// uses the client's setting.
    public var maxRedirects: Int? {
        get { value(of: .maxRedirects).map { Int($0) } }
        set { set(.maxRedirects, newValue.map { Int64($0) }) }
    }
    /// The maximum size in bytes of a body collected in memory, after decoding. `nil` uses the
    /// client's setting.
    public var maxBodyBytes: Int64? {
        get { value(of: .maxBodyBytes) }
        set { set(.maxBodyBytes, newValue) }
    }
    /// Whether to add the client's default parameters. Parameters of the request override them.
    /// Default: true.
    public var usesDefaultParameters: Bool {
        get { value(of: .defaultParameters) != 0 }
        set { set(.defaultParameters, newValue ? nil : 0) }
    }
    /// Whether to ignore the client's base URL, both for the request's URL and for its identifier.
    /// Default: false.
    public var ignoresBase: Bool {
        get { value(of: .ignoreBase) == 1 }
        set { set(.ignoreBase, newValue ? 1 : nil) }
    }
    /// Whether a response fails if its content type is not JSON or its body is not valid JSON.
    /// `nil` uses the client's setting.
    public var wantsJSON: Bool? {
        get { value(of: .jsonOnly).map { $0 == 1 } }
        set { set(.jsonOnly, newValue.map { $0 ? 1 : 0 }) }
    }
    /// Whether an image load reports previews while the image arrives: one after each scan of a
    /// progressive JPEG except the last, and one after each of the first six passes of an
    /// interlaced PNG. Previews have the size of the result. `nil` uses the client's setting.
    public var imagePreviews: Bool? {
        get { value(of: .imagePreviews).map { $0 == 1 } }
        set { set(.imagePreviews, newValue.map { $0 ? 1 : 0 }) }
    }
    /// Whether a download resumes an existing partial file. Default: true.
    public var resumes: Bool {
        get { value(of: .resume) != 0 }
        set { set(.resume, newValue ? nil : 0) }
    }
}
