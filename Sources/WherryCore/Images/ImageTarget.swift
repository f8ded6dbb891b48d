// Wherry: the keys of loaded images.
// SPDX-License-Identifier: Apache-2.0

import WherryCache
import WherryHTTP
import WherryImaging
import WherryRequests

/// How the bytes of an image become pixels.
package struct ImageTarget: Hashable, Sendable {
    /// The pixel format; `nil` selects the smallest one without loss.
    package let format: PixelFormat?
    /// The settings that apply to decoding; the others have their defaults.
    package let compression: Compression

    package init(as format: PixelFormat? = nil, _ settings: Compression = Compression()) {
        var compression = Compression()
        compression.maxWidth = settings.maxWidth
        compression.maxHeight = settings.maxHeight
        compression.resizeMode = settings.resizeMode
        compression.sharpen = settings.sharpen
        if let color = settings.givenBackground { compression.background = color }
        compression.orientation = settings.orientation
        compression.animated = settings.animated
        compression.maxPixels = settings.maxPixels
        compression.maxMemory = settings.maxMemory
        compression.deadline = settings.deadline
        self.format = format
        self.compression = compression
    }

    /// Hashes only what usually differs, since each lookup computes the hash.
    package func hash(into hasher: inout Hasher) {
        hasher.combine(compression.maxWidth)
        hasher.combine(compression.maxHeight)
    }
}

/// The properties of a request that determine the bytes of an image, except the settings of the
/// client.
package struct ImageAddress: Hashable, Sendable {
    /// What a request contains besides its URL.
    private struct Details: Hashable {
        let bases: [String]
        let parameters: [JSONObject.Member]
        let query: [Request.Pair]
        let headers: Headers
        let bearerToken: String?
        let credentials: Credentials?
        let options: [OptionValue]
        let acceptedStatus: [Int]
        let caching: RequestCaching?
        let hooks: HookSet?

        /// Whether the request has nothing but a URL.
        var isPlain: Bool {
            bases.isEmpty && parameters.isEmpty && query.isEmpty && headers.fields.isEmpty
                && bearerToken == nil && credentials == nil && options.isEmpty
                && acceptedStatus.isEmpty && caching == nil && hooks == nil
        }
    }

    private let url: String
    /// `nil` for a request with nothing but a URL.
    private let details: Details?

    /// The options that affect the transfer, but not the response.
    private static let ignoredOptions: Set<Option> = [
        .priority, .wantProgress, .totalTimeout, .imagePreviews,
    ]

    /// The address of a request with nothing but a URL.
    package init(url: String) {
        self.url = url
        details = nil
    }

    /// `nil` for a request with hooks of its own and no `hooksKey`: their answers are unknown.
    package init?(_ request: Request) {
        if let hooks = request.hooks, !hooks.isEmpty, (request.value(of: .hooksKey) ?? 0) == 0 {
            return nil
        }
        url = request.url
        var caching = request.caching
        // Which cache to ask does not change the image.
        caching?.policy = nil
        let details = Details(
            bases: request.bases, parameters: Array(request.parameters), query: request.query,
            headers: request.headers, bearerToken: request.bearerToken,
            credentials: request.credentials,
            options: request.overrides.filter { !Self.ignoredOptions.contains($0.option) },
            acceptedStatus: request.acceptedStatus,
            caching: caching == RequestCaching() ? nil : caching, hooks: request.hooks)
        self.details = details.isPlain ? nil : details
    }
}
