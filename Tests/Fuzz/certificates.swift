// Wherry: fuzz target of the index of CA certificates (libFuzzer); scripts/fuzz builds and runs it
// SPDX-License-Identifier: Apache-2.0

import WherrySystem

@testable import WherryTransport

private let certificate = """
    -----BEGIN CERTIFICATE-----
    MIIBvTCCAWOgAwIBAgIUFsN9Ti5dBhHq+UG7Eo932932KnkwCgYIKoZIzj0EAwIw
    MzELMAkGA1UEBhMCREUxFTATBgNVBAoMDFdoZXJyeSB0ZXN0czENMAsGA1UEAwwE
    Um9vdDAgFw0yNjExMjkwMjE5MDdaGA8yMTI2MTEwNTAyMTkwN1owMzELMAkGA1UE
    BhMCREUxFTATBgNVBAoMDFdoZXJyeSB0ZXN0czENMAsGA1UEAwwEUm9vdDBZMBMG
    ByqGSM49AgEGCCqGSM49AwEHA0IABID23xdpr94xI9aG5zSA4ApKKKcianHOKjAQ
    fWY8NKpPuHc206FFEir72FIk0KDGWGJ8wo0a2s/b7/VPEb78CjajUzBRMB0GA1Ud
    DgQWBBR10INkJoxeG9XBk+D6SSs9iQ5N4DAfBgNVHSMEGDAWgBR10INkJoxeG9XB
    k+D6SSs9iQ5N4DAPBgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0gAMEUCIG/Q
    GWpOKa2V9EMMn4BguzNfUdjGmijErdz4kjU/BzsuAiEAva4ZUP5NkuuK9vrNWYZF
    a8pOBqtAtTQI7ARUJbxuHP8=
    -----END CERTIFICATE-----

    """

@_cdecl("LLVMFuzzerInitialize")
public func initialize(
    _ count: UnsafeMutablePointer<CInt>?, _ arguments: UnsafeMutableRawPointer?
) -> CInt {
    let der = Certificate.all(in: Array(certificate.utf8))?.first?.der ?? []
    demand(TrustAnchors.areOrdinary(Array(certificate.utf8)), "the certificate is not indexed")
    writeSeeds([
        FuzzInput.seed(0, certificate),
        FuzzInput.seed(0, "# Root\r\n" + certificate + "text\n" + certificate),
        [1] + der,
    ])
    return 0
}

/// Indexes a file, or one certificate in DER. What is indexed must be certificates for `Certificate`
/// too, and text after them must change nothing.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    guard let input = FuzzInput(data, count) else { return 0 }
    let file = input.choice & 1 == 0 ? input.bytes : pem(input.bytes)
    guard let anchors = TrustAnchors(bytes: file) else { return 0 }
    demand(anchors.count > 0, "an index is empty")
    let longer = TrustAnchors(bytes: file + Array("\n# text\n".utf8))
    demand(longer?.count == anchors.count, "text after the certificates is not ignored")
    // Certificate ignores spaces, and ends lines at a CR alone.
    guard !file.contains(where: { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }) else { return 0 }
    let found = Certificate.all(in: file)
    demand(found?.count == anchors.count, "\(found?.count ?? 0) of \(anchors.count) certificates")
    return 0
}

private func pem(_ der: [UInt8]) -> [UInt8] {
    let text = Array(Base64.encode(der).utf8)
    let lines = stride(from: 0, to: text.count, by: 64).flatMap { start in
        text[start..<min(start + 64, text.count)] + [0x0A]
    }
    return Array("-----BEGIN CERTIFICATE-----\n".utf8) + lines
        + Array("-----END CERTIFICATE-----\n".utf8)
}
