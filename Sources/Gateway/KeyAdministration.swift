internal import Entitlements
internal import Foundation
internal import Platform
internal import SQLStorage
internal import Storage

/// The keys of callers, made and revoked in the database itself: with or without a running gateway, which hears of it.
public enum KeyAdministration {
    /// A key as it may be shown: never the key itself.
    public struct Key: Sendable {
        /// What the audit says instead of the key, and what `revoke` takes.
        public var id: String
        public var isAdmin: Bool
        public var label: String
        /// RFC 3339; nil for one that the environment holds.
        public var createdAt: String?
        public var revokedAt: String?

        public var scope: String { isAdmin ? "admin" : "read" }
    }

    /// Longest label in bytes: a few words for a colleague.
    public static let labelBytesMax = 255

    /// Makes a key; it cannot be shown again.
    ///
    /// - Throws: When the label is too long, or the database cannot be written.
    public static func create(
        isAdmin: Bool,
        label: String,
        _ configuration: GatewayConfiguration
    ) throws(ConfigurationError) -> (key: String, shown: Key) {
        guard label.utf8.count <= labelBytesMax,
            !label.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
        else {
            throw ConfigurationError("--label", "expected at most \(labelBytesMax) bytes without control characters")
        }
        let location = configuration.location
        let (key, record) = KeyStore.make(isAdmin ? .admin : .read, label: label)
        try onDatabase(location) { () throws(StorageError) in
            // One that is there is left as it is: a running gateway may be of an older version.
            if !location.isThere { _ = try location.migrate() }
            try KeyRecords.insert([record], by: command, in: location)
        }
        return (key, Key(record))
    }

    /// Every key: those of the environment, and those of the database with the revoked ones.
    public static func list(_ configuration: GatewayConfiguration) throws(ConfigurationError) -> [Key] {
        try Maintenance.requireDatabase(configuration)
        var keys: [Key] = []
        for key in try KeyStore.environmentKeys(configuration.environment) {
            let label = key.scope == .admin ? "GATEWAY_ADMIN_KEY" : "GATEWAY_READ_KEY"
            keys.append(Key(id: key.id, isAdmin: key.scope == .admin, label: label))
        }
        return keys
            + (try onDatabase(configuration.location) { () throws(StorageError) in
                try KeyRecords.all(in: configuration.location)
            }).map(Key.init)
    }

    /// Takes a key's rights away. False when no key has this id, or it was revoked before.
    public static func revoke(
        _ id: String,
        _ configuration: GatewayConfiguration
    ) throws(ConfigurationError) -> Bool {
        try Maintenance.requireDatabase(configuration)
        return try onDatabase(configuration.location) { () throws(StorageError) in
            try KeyRecords.revoke(id, by: command, in: configuration.location)
        }
    }

    private static var command: Actor {
        Actor(keyID: "command", at: UnixMillis(wallClockMillis()))
    }

    private static func onDatabase<Value>(
        _ location: any DatabaseLocation,
        _ work: () throws(StorageError) -> Value
    ) throws(ConfigurationError) -> Value {
        do throws(StorageError) {
            return try work()
        } catch {
            throw ConfigurationError(location.name, error.description)
        }
    }
}

extension KeyAdministration.Key {
    fileprivate init(_ record: KeyRecord) {
        self.init(
            id: record.id,
            isAdmin: record.isAdmin,
            label: record.label,
            createdAt: record.createdAt?.rfc3339,
            revokedAt: record.revokedAt?.rfc3339
        )
    }
}
