// Wherry: custom Host headers.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP

/// A custom `Host` header makes a server respond for another host than the one in the URL. Cookies
/// and cached responses belong to the URL, so such a request uses neither (SEC-U11).
extension Request {
    /// The `Host` header that the request or its client sets. `nil` if the URL's host is sent.
    package func ownHost(_ settings: ClientSettings) -> String? {
        headers.isEmpty ? settings.ownHost : headers["Host"] ?? settings.ownHost
    }
}
