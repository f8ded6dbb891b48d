// Wherry: requests of a client as curl commands.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherryRequests

extension Client {
    /// Returns a shell command that sends the same request with curl (L9).
    ///
    /// Headers, parameters and JSON members with secret names show `***`, and a body that is
    /// neither a form nor JSON is omitted, unless `revealingSecrets` is true. Images appear as
    /// their source files or bytes, before compression. A streamed body is read from standard
    /// input. Nothing is sent, and no file is opened.
    ///
    /// - Throws: The errors that sending the request would throw immediately.
    public func curlCommand(
        of request: Request, revealingSecrets: Bool = false
    ) throws(WherryError) -> String {
        try CurlCommand(
            request, settings: settings, workers: workers, revealing: revealingSecrets
        ).text
    }
}

extension Transfer {
    /// Returns a shell command that sends the same request with curl, with the settings in effect
    /// when the transfer started; see ``Client/curlCommand(of:revealingSecrets:)``.
    public final func curlCommand(revealingSecrets: Bool = false) throws(WherryError) -> String {
        try CurlCommand(
            request, settings: settings, workers: client.workers, revealing: revealingSecrets,
            isDownload: kind == .download
        ).text
    }
}
