// Wherry: the choice of a request's transfer type.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherryRequests

extension Client {
    /// Creates the transfer of a request or an upload without starting it.
    func makeTransfer(
        _ request: Request, settings: ClientSettings, observer: any TransferObserver,
        userData: UInt
    ) throws(WherryError) -> Transfer {
        let request = request.ownForm
        let made = try makeRequest(
            request, settings: settings, observer: observer, userData: userData)
        guard made.options[.separateImages] > 0, request.hasImages,
            case .multipart(let parts) = request.body
        else {
            guard made.options[.coalesce] == 1 else { return made }
            let shared = try makeShared(
                request, settings: settings, options: made.options, observer: observer,
                userData: userData)
            if let shared { return shared }
            return made
        }
        guard !request.isStreamed else {
            throw WherryError(
                .badArgument,
                "The responses to separate image uploads cannot be streamed. Send all images in one request to stream its response."
            )
        }
        guard !request.isWritten else {
            throw WherryError(
                .badArgument,
                "Separate image uploads cannot send a part that is written during the transfer. Use bytes or a file, or send all images in one request."
            )
        }
        return SeparateUpload(
            request, parts, client: self, settings: settings, options: made.options,
            observer: observer, userData: userData)
    }
}
