// Wherry: base URLs.
// SPDX-License-Identifier: Apache-2.0

import WherryTransport

extension HTTPURL {
    /// Parses a base URL and adds a trailing slash, so that relative URLs resolve below it.
    package static func base(_ text: String) throws(WherryError) -> HTTPURL {
        do {
            let url = try HTTPURL(text, as: "base URL")
            if url.query != nil {
                throw WherryError(
                    .badURL,
                    "The base URL \"\(HTTPURL.redacted(text))\" has a query. Remove the query.")
            }
            return url.text.utf8.last == 0x2F ? url : try HTTPURL(url.text + "/")
        } catch let error as WherryError {
            throw error
        } catch let error as HTTPURL.Invalid {
            throw WherryError(.badURL, error.message)
        } catch {
            throw WherryError(.internal, "\(error)")
        }
    }
}
