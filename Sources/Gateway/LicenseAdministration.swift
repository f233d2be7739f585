internal import Entitlements
internal import Foundation
internal import Licensing
internal import Platform
internal import ProviderKit
internal import SQLiteStorage
internal import Storage

/// What commands do to licences on this machine, beside a gateway that may be running.
public enum LicenseAdministration {
    /// Longest life of a licence that is carried to a machine without a network, in days.
    public static let daysMax = 3650

    /// Makes a new signing key. A running gateway signs with it within a second.
    ///
    /// - Returns: The new key's id, and how many keys are published.
    public static func rotateSigningKeys(
        _ configuration: GatewayConfiguration
    ) throws(ConfigurationError) -> (kid: String, published: Int) {
        guard FileManager.default.fileExists(atPath: configuration.database) else {
            throw ConfigurationError(configuration.database, "no such file", hint: "--database names the gateway's")
        }
        let file = try SigningKeyFile.load(besideDatabase: configuration.database)
        return try file.rotate(tokenDays: configuration.access.licenses.offlineDays, now: UnixMillis(wallClockMillis()))
    }

    /// Answers a request file of a machine without a network: takes a seat for it, as activating does, and signs the token.
    ///
    /// - Parameter request: JSON with `license_key` or `license_id`, `device_id` and perhaps `device_name`.
    /// - Parameter days: How long the machine may work without asking; nil for what is configured.
    /// - Returns: The file to carry back.
    public static func sign(
        request: [UInt8],
        days: Int?,
        _ configuration: GatewayConfiguration
    ) throws(ConfigurationError) -> String {
        guard let asked = JSON(request), let deviceID = asked["device_id"]?.string, !deviceID.isEmpty,
            deviceID.utf8.count <= 255, asked["license_key"]?.string != nil || asked["license_id"]?.string != nil
        else {
            throw ConfigurationError(
                "the request",
                "expected JSON with license_key (or license_id) and device_id",
                hint: "such as {\"license_key\": \"…\", \"device_id\": \"…\", \"device_name\": \"…\"}"
            )
        }
        var signing = try SigningKeyFile.load(besideDatabase: configuration.database)
        do {
            let store = try SQLiteStore.open(path: configuration.database, policy: nil) { _ in }
            defer { store.close() }
            let reader = try LicenseReader(try store.makeReader())
            let now = UnixMillis(wallClockMillis())
            var license: LicenseRecord?
            if let key = asked["license_key"]?.string { license = try reader.license(typedKey: key, now: now) }
            if license == nil, let id = asked["license_id"]?.string { license = try reader.license(id) }
            guard let license else { throw ConfigurationError("the request", "no licence has this key or id") }
            guard license.revokedAt == nil else { throw ConfigurationError(license.id, "this licence was revoked") }
            let entitlements = try reader.subscription(of: license.user, now: now).entitlements
                .filter { $0.isEntitled(at: now) }
            guard let own = entitlements.first(where: { $0.name == license.entitlement }) else {
                throw ConfigurationError(license.id, "its user has no \(license.entitlement) now")
            }
            let seat = SeatRequest(
                holder: .license(license.id),
                deviceID: deviceID,
                deviceName: asked["device_name"]?.string,
                at: now
            )
            _ = try perform(.adopt(configuration.access.licenses), store)
            switch try perform(.activate(seat), store) {
            case .activated: break
            case .full(let seats):
                throw ConfigurationError(
                    license.id,
                    "every seat is held: \(seats.map(\.deviceID).joined(separator: ", "))",
                    hint: "one of these devices can be deactivated"
                )
            default: throw ConfigurationError(license.id, "it gives no seat")
            }
            let token = OfflineToken(
                issuer: configuration.access.tokenIssuer,
                user: license.user,
                licenseID: license.id,
                deviceID: deviceID,
                entitlements: Dictionary(entitlements.map { ($0.name, $0.end) }) { first, _ in first },
                accessUntil: own.end,
                issuedAt: now,
                offlineDays: days ?? configuration.access.licenses.offlineDays
            )
            try signing.note(tokenDays: token.offlineDays)
            return LicenseFile.armoured(try signed(token, &signing))
        } catch let error as ConfigurationError {
            throw error
        } catch {
            throw ConfigurationError(configuration.database, "\(error)")
        }
    }

    private static func signed(
        _ token: OfflineToken,
        _ file: inout SigningKeyFile
    ) throws(ConfigurationError) -> String {
        do throws(SigningKeyError) {
            return try token.signed(by: file.current())
        } catch {
            throw ConfigurationError(file.path, error.reason)
        }
    }

    private static func perform(
        _ command: LicenseCommand,
        _ store: SQLiteStore
    ) throws(StorageError) -> LicenseResult {
        let done: Mailbox<Result<LicenseResult, StorageError>>
        do throws(SystemError) {
            done = try Mailbox(capacity: 1)
        } catch {
            throw .unavailable("\(error)")
        }
        let isTaken = store.submit(.license(command)) { result in
            done.post(
                result.map { committed in
                    guard case .license(let license) = committed.value else { return .noted }
                    return license
                }
            )
        }
        guard isTaken else { throw .overloaded }
        var answers = ContiguousArray<Result<LicenseResult, StorageError>>()
        while answers.isEmpty {
            _ = done.wait(milliseconds: nil)
            done.drain(into: &answers)
        }
        return try answers[0].get()
    }
}
