// Wherry: the rules for successful responses.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherryTransport

/// Decides whether a complete response is a success (R10, R11, R26). Pure.
package enum ResponseRules {
    /// Returns the error of a response; `nil` for a success.
    ///
    /// - Parameter receivedAt: When the response arrived, in seconds since 1970 by the local clock.
    package static func error(
        _ response: Response, method: String, request: Request, options: OptionTable,
        receivedAt: @autoclosure () -> Int64
    ) -> WherryError? {
        // Parse the body only once, even if its JSON shape is checked too.
        let readsShape =
            request.jsonShape != nil
            && accepts(response.status, request: request, options: options)
        let typeError = contentTypeError(
            response, method: method, options: options, reads: !readsShape)
        if !accepts(response.status, request: request, options: options) {
            let delay = retryAfter(response, receivedAt())
            return WherryError(
                .httpStatus, WherryError.statusMessage(method, response.url, response.status)
            ).with { fields in
                fields.httpStatus = response.status
                fields.response = response
                fields.retryAfterMilliseconds = delay
                if let typeError { fields.underlying = [typeError] }
            }
        }
        return lengthError(response, options) ?? typeError
            ?? shapeError(response, method: method, request)
    }

    /// Returns the error of a body that may be truncated, unless the caller accepts such bodies.
    private static func lengthError(_ response: Response, _ options: OptionTable) -> WherryError? {
        guard response.isLengthUnverified, options[.requireVerifiedLength] == 1 else { return nil }
        return lengthUnverified(response)
    }

    /// Returns the error of a body that may be truncated.
    package static func lengthUnverified(_ response: Response) -> WherryError {
        WherryError(
            .lengthUnverified,
            "The body of \(HTTPURL.redacted(response.url)) may be incomplete: it has no length, and the connection ended without close_notify. The server should send Content-Length or a chunked body."
        ).with {
            $0.httpStatus = response.status
            $0.response = response
        }
    }

    private static func shapeError(
        _ response: Response, method: String, _ request: Request
    ) -> WherryError? {
        guard let shape = request.jsonShape, method != "HEAD" else { return nil }
        do {
            guard var fault = shape.mismatch(in: try response.json()) else { return nil }
            if response.body.isEmpty { fault = "the body is empty" }
            return WherryError(
                .badJSONBody,
                "The JSON of \(HTTPURL.redacted(response.url)) does not have the requested shape: \(fault)"
            ).with {
                $0.httpStatus = response.status
                $0.response = response
            }
        } catch {
            return error
        }
    }

    /// Returns the `Retry-After` delay in milliseconds; -1 if there is none. A date is relative to
    /// the response's `Date`, so that the two clocks need not agree, or otherwise to the time of
    /// arrival (RFC 9110 10.2.3).
    private static func retryAfter(_ response: Response, _ receivedAt: Int64) -> Int64 {
        guard let text = response.header("retry-after") else { return -1 }
        let date = response.header("date").flatMap { HTTPDate.parse($0, now: receivedAt) }
        guard let seconds = RetryAfter.seconds(text, now: date ?? receivedAt) else { return -1 }
        let (milliseconds, overflowed) = seconds.multipliedReportingOverflow(by: 1000)
        return overflowed ? .max : milliseconds
    }

    /// Returns whether the status is a success.
    package static func accepts(_ status: Int, request: Request, options: OptionTable) -> Bool {
        let number = Int64(status)
        return (number >= options[.acceptStatusMin] && number <= options[.acceptStatusMax])
            || request.acceptedStatus.contains(status)
    }

    /// Other content types that servers use for JSON: those that SJNetwork accepts.
    private static let usualTypes: Set<String> = [
        "text/javascript", "text/plain", "text/html", "text/xml", "application/xml",
    ]

    private static func contentTypeError(
        _ response: Response, method: String, options: OptionTable, reads: Bool
    ) -> WherryError? {
        guard options[.jsonOnly] == 1, method != "HEAD" else { return nil }
        // An empty body or a single space is valid, even without a content type (R11, R12).
        if response.body.isEmpty { return nil }
        let type = response.header("content-type")
        let mayBeJSON =
            type.flatMap { MediaType($0) }.map {
                $0.isJSON || usualTypes.contains($0.essence)
            } ?? false
        guard mayBeJSON else {
            return WherryError(
                .contentType,
                "JSON was requested, but \(HTTPURL.redacted(response.url)) sent \(type ?? "no content type")"
            ).with {
                $0.httpStatus = response.status
                $0.response = response
            }
        }
        guard reads else { return nil }
        do {
            _ = try response.json()
            return nil
        } catch {
            return error
        }
    }
}
