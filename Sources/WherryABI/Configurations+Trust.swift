// Wherry: wherry.h, section 4: trust settings.
// SPDX-License-Identifier: Apache-2.0

import CWherry
import WherryCore
import WherryHTTP
import WherryRequests

@_cdecl("wherry_config_add_pin") @implementation
public func wherry_config_add_pin(
    _ config: OpaquePointer?, _ host: UnsafePointer<CChar>?, _ pin: UnsafePointer<CChar>?
) -> wherry_status {
    status { () throws(WherryError) in
        try change(config) { trust throws(WherryError) in
            // An empty pin is found when the pins are read.
            guard let pin = optionalPath(pin) else {
                throw WherryError(.badArgument, "The pin is NULL")
            }
            trust.pins[try text(host, "host"), default: .init()].pins.append(pin)
        }
    }
}

@_cdecl("wherry_config_add_pin_certificate") @implementation
public func wherry_config_add_pin_certificate(
    _ config: OpaquePointer?, _ host: UnsafePointer<CChar>?, _ bytes: UnsafeRawPointer?,
    _ count: Int
) -> wherry_status {
    status { () throws(WherryError) in
        try change(config) { trust throws(WherryError) in
            let certificate = try WherryABI.bytes(bytes, count).array
            trust.pins[try text(host, "host"), default: .init()].certificates.append(certificate)
        }
    }
}

@_cdecl("wherry_config_set_pin_expiry") @implementation
public func wherry_config_set_pin_expiry(
    _ config: OpaquePointer?, _ host: UnsafePointer<CChar>?, _ expires_at: Int64
) -> wherry_status {
    status { () throws(WherryError) in
        try change(config) { trust throws(WherryError) in
            guard expires_at >= -1 else {
                throw WherryError(
                    .badValue,
                    "\(expires_at) is not a pin expiry. Pass seconds since 1970, or -1 for never.")
            }
            let host = try text(host, "host")
            trust.pins[host, default: .init()].expires = expires_at < 0 ? nil : expires_at
        }
    }
}

@_cdecl("wherry_config_set_ca_certificates") @implementation
public func wherry_config_set_ca_certificates(
    _ config: OpaquePointer?, _ bytes: UnsafeRawPointer?, _ count: Int
) -> wherry_status {
    status { () throws(WherryError) in
        try change(config) { trust throws(WherryError) in
            let certificates = try WherryABI.bytes(bytes, count).array
            trust.caCertificates = certificates.isEmpty ? nil : certificates
        }
    }
}

@_cdecl("wherry_config_set_client_certificate") @implementation
public func wherry_config_set_client_certificate(
    _ config: OpaquePointer?, _ origin: UnsafePointer<CChar>?,
    _ certificate: UnsafePointer<CChar>?, _ key: UnsafePointer<CChar>?,
    _ password: UnsafePointer<CChar>?
) -> wherry_status {
    status { () throws(WherryError) in
        try change(config) { trust throws(WherryError) in
            let origin = try optionalText(origin, "origin") ?? ""
            let key = optionalPath(key)
            let password = try optionalText(password, "password")
            trust.clientCertificates[origin] = optionalPath(certificate).map {
                .init($0, key: key, password: password)
            }
        }
    }
}

private func change(
    _ config: OpaquePointer?, _ body: (inout TrustPolicy) throws(WherryError) -> Void
) throws(WherryError) {
    try Handles.change(config, Client.Configuration.self) { configuration throws(WherryError) in
        try body(&configuration.trust)
    }
}
