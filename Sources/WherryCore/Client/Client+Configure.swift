// Wherry: changes to the settings of a running client.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherryRequests

extension Client {
    /// Changes settings for transfers that start afterwards. Running transfers keep their settings.
    /// Connection limits and debugging change immediately.
    ///
    ///     try client.configure { $0.maxRedirects = 0; $0.userAgent = "Demo/2" }
    ///
    /// Only the settings that the closure changes are written, so threads may change different
    /// settings at the same time. The headers, the parameters, and the base URLs count as one
    /// setting each.
    ///
    /// - Throws: `bad_option` for settings that only a new client accepts: proxy, certificates,
    ///   storage, `isInsecure`, and the stub. Otherwise the same errors as creating a client. If
    ///   this method throws, no setting has changed.
    public func configure(_ change: (inout Configuration) -> Void) throws(WherryError) {
        let before = settings.values
        var changed = Configuration()
        changed.values = before
        change(&changed)
        let after = changed.values
        guard changed.stub == nil else {
            throw WherryError(
                .badOption,
                "The stub server of a client cannot be changed. Set it when you create the client.")
        }
        guard after.trustLists == before.trustLists else {
            throw WherryError(
                .badOption,
                "The trust policy of a client cannot be changed. Set it when you create the client."
            )
        }
        let options = Option.allCases.filter { after.options[$0] != before.options[$0] }
        for option in options { try option.check(after.options[option], in: .live) }
        let texts = TextOption.allCases.filter { after.texts[$0] != before.texts[$0] }
        for option in texts { try option.check(after.texts[option], in: .live) }
        for field in after.headers.fields { try Headers.check(field.name, field.value) }
        try update { values throws(WherryError) in
            for option in options { values.options[option] = after.options[option] }
            for option in texts { values.texts[option] = after.texts[option] }
            if after.bases != before.bases { values.bases = after.bases }
            if after.headers != before.headers { values.headers = after.headers }
            if after.secretNames != before.secretNames { values.secretNames = after.secretNames }
            if after.parameters != before.parameters { values.parameters = after.parameters }
            if after.credentials != before.credentials { values.credentials = after.credentials }
        }
        takeOver(options)
    }
}
