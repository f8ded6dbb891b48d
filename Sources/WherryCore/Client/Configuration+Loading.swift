// Wherry: configuration files.
// SPDX-License-Identifier: Apache-2.0

import WherryHTTP
import WherryRequests
import WherrySystem
import WherryTransport

extension Client.Configuration {
    /// Loads settings from a JSON file (C20). Settings that the file does not name keep their
    /// values.
    ///
    /// The file contains one object that programs in C, Python, and Swift can share.
    /// docs/configuration.md describes its format: settings by their lower-case names in wherry.h,
    /// and `headers`, `parameters`, `bases`, `credentials`, `pins`, `client_certificates`, and
    /// `secret_names`.
    ///
    /// - Throws: The system's error for the file, `bad_json`, or an error that names an unknown or
    ///   invalid setting. If this method throws, no setting has changed.
    public mutating func load(from path: String) throws(WherryError) {
        let limit = 1 << 20
        let bytes: [UInt8]
        do throws(SystemError) {
            let file = try File.open(path, [.read, .following])
            bytes = try file.read(limit + 1, at: 0)
        } catch {
            throw WherryError(error)
        }
        guard bytes.count <= limit else {
            throw WherryError(.tooLarge, "The configuration \(path) is larger than 1 MiB")
        }
        do throws(WherryError) {
            let json: JSON
            do { json = try JSON.parse(bytes) } catch { throw WherryError(.badJSON, error.message) }
            var changed = self
            try changed.take(json)
            self = changed
        } catch {
            throw WherryError(
                error.reasonWord, "Could not load the configuration \(path): \(error.message)")
        }
    }

    /// Loads settings from the file in `WHERRY_CONFIG`. Does nothing if the variable is not set.
    ///
    /// The variable is ignored in a program with elevated privileges.
    public mutating func loadFromEnvironment() throws(WherryError) {
        guard let path = Environment.trusted("WHERRY_CONFIG") else { return }
        try load(from: path)
    }

    private mutating func take(_ json: JSON) throws(WherryError) {
        for (name, value) in try members(json, of: "it") {
            if let option = Option.settings[name] {
                try set(option, value, name)
            } else if let option = TextOption.settings[name] {
                let text = value.isNull ? nil : try self.text(value, name)
                try option.check(text, in: .build)
                values.texts[option] = text
            } else {
                try setList(name, value)
            }
        }
    }

    private mutating func set(
        _ option: Option, _ value: JSON, _ name: String
    ) throws(WherryError) {
        let number: Int64
        switch value {
        case .null: number = option.defaultValue
        case .bool(let isOn) where option.declaration.acceptsBool: number = isOn ? 1 : 0
        case .integer(let value): number = value
        default:
            throw WherryError(
                .badValue,
                "\(name) must be \(option.declaration.acceptsBool ? "true or false, or " : "")a whole number"
            )
        }
        try option.check(number, in: .build)
        values.options[option] = number
    }

    /// Sets a setting with several values. `null` clears it.
    private mutating func setList(_ name: String, _ value: JSON) throws(WherryError) {
        if value.isNull, clearList(name) { return }
        switch name {
        case "headers":
            for (field, value) in try members(value, of: name) {
                let text = value.isNull ? nil : try self.text(value, "\(name)/\(field)")
                try Headers.check(field, text)
                values.headers[field] = text
            }
        case "parameters":
            for (parameter, value) in try members(value, of: name) {
                values.parameters[parameter] = value
            }
        case "bases":
            for (base, value) in try members(value, of: name) {
                values.bases[base] = try value.isNull ? nil : url(value, "\(name)/\(base)")
            }
        case "secret_names":
            guard case .array(let names) = value else {
                throw WherryError(.badValue, "\(name) must be an array of strings")
            }
            for secret in names { values.secretNames.insert(try text(secret, name)) }
        case "credentials":
            for (origin, value) in try members(value, of: name) {
                if !origin.isEmpty { _ = try ClientSettings.origin(origin) }
                values.credentials[origin] = try credentials(value, "\(name)/\(origin)")
            }
        case "pins":
            for (host, value) in try members(value, of: name) {
                guard case .array(let pins) = value else {
                    throw WherryError(.badValue, "\(name)/\(host) must be an array of strings")
                }
                var texts: [String] = []
                for pin in pins { texts.append(try text(pin, "\(name)/\(host)")) }
                // The pins are resolved again when the client is created, since files may change.
                var alone = TrustPolicy()
                alone.pins[host] = TrustPolicy.Pins(texts)
                _ = try alone.pinTable()
                values.trustLists.pins[host] = alone.pins[host]
            }
        case "client_certificates":
            for (origin, value) in try members(value, of: name) {
                values.trustLists.clientCertificates[origin] =
                    try certificate(value, "\(name)/\(origin)")
            }
        default:
            throw WherryError(.badOption, "A client has no setting \"\(name)\"")
        }
    }

    private mutating func clearList(_ name: String) -> Bool {
        switch name {
        case "headers": values.headers = [:]
        case "parameters": values.parameters = [:]
        case "bases": values.bases = [:]
        case "secret_names": values.secretNames = []
        case "credentials": values.credentials = [:]
        case "pins": values.trustLists.pins = [:]
        case "client_certificates": values.trustLists.clientCertificates = [:]
        default: return false
        }
        return true
    }

    private func url(_ value: JSON, _ place: String) throws(WherryError) -> String {
        let text = try text(value, place)
        do throws(WherryError) {
            _ = try HTTPURL.base(text)
        } catch {
            throw WherryError(error.reasonWord, "\(place): \(error.message)")
        }
        return text
    }

    private func credentials(_ value: JSON, _ place: String) throws(WherryError) -> Credentials? {
        if value.isNull { return nil }
        var user: String?
        var password = ""
        var scheme = Credentials.Scheme.any
        for (name, value) in try members(value, of: place) {
            let text = try text(value, "\(place)/\(name)")
            switch (name, text) {
            case ("user", _): user = text
            case ("password", _): password = text
            case ("scheme", "any"): scheme = .any
            case ("scheme", "basic"): scheme = .basic
            case ("scheme", "digest"): scheme = .digest
            default:
                throw WherryError(
                    .badValue,
                    "\(place) has an invalid member. Use only user, password, and scheme (any, basic, or digest)."
                )
            }
        }
        guard let user else { throw WherryError(.badValue, "\(place) has no user") }
        let known = Credentials(user: user, password: password, scheme: scheme)
        try known.check()
        return known
    }

    private func certificate(
        _ value: JSON, _ place: String
    ) throws(WherryError) -> TrustPolicy.ClientCertificate? {
        if value.isNull { return nil }
        var file: String?
        var key: String?
        var password: String?
        for (name, value) in try members(value, of: place) {
            let text = try text(value, "\(place)/\(name)")
            switch name {
            case "certificate": file = text
            case "key": key = text
            case "password": password = text
            default:
                throw WherryError(
                    .badValue,
                    "\(place) has an invalid member. Use only certificate, key, and password.")
            }
        }
        guard let file else { throw WherryError(.badValue, "\(place) has no certificate") }
        return TrustPolicy.ClientCertificate(file, key: key, password: password)
    }

    private func members(
        _ json: JSON, of place: String
    ) throws(WherryError) -> [(String, JSON)] {
        guard case .object(let object) = json else {
            throw WherryError(.badValue, "\(place) must be an object")
        }
        return object.map { ($0.name, $0.value) }
    }

    private func text(_ json: JSON, _ place: String) throws(WherryError) -> String {
        guard case .string(let text) = json else {
            throw WherryError(.badValue, "\(place) must be a string")
        }
        return text
    }
}
