internal import Crypto
internal import Entitlements
internal import Foundation
internal import Platform
internal import SQLiteStorage
internal import Storage

/// Where keys come from: the environment, and the database; a first start without any makes one of each scope.
enum KeyStore {
    /// Keys are made of this many random bytes: 256 bits cannot be guessed.
    private static let randomBytes = 32

    /// - Parameter mintsKeys: Whether keys are made when there are none.
    static func ring(
        _ configuration: GatewayConfiguration,
        database: String,
        mintsKeys: Bool
    ) throws(ConfigurationError) -> KeyRing {
        var keys: [KeyRing.Key] = []
        for (variable, scope, id) in [
            ("GATEWAY_ADMIN_KEY", KeyScope.admin, "env:admin"), ("GATEWAY_READ_KEY", KeyScope.read, "env:read"),
        ] {
            for key in try configuration.environment.list(variable) {
                keys.append(KeyRing.Key(id: id, scope: scope, digest: Digest.sha256(Array(key.utf8))))
            }
        }
        do throws(StorageError) {
            for record in try KeyRecords.active(in: database) {
                keys.append(
                    KeyRing.Key(id: record.id, scope: record.isAdmin ? .admin : .read, digest: record.digest)
                )
            }
            if keys.isEmpty, mintsKeys { keys = try mint(database) }
        } catch {
            throw ConfigurationError(database, error.description)
        }
        guard !keys.isEmpty else {
            throw ConfigurationError("GATEWAY_ADMIN_KEY", "no key is left", hint: "nobody could ask anything any more")
        }
        return KeyRing(keys)
    }

    /// Makes one key of each scope: shown once on a terminal, else written beside the database for its owner only. Never in
    /// the log.
    private static func mint(_ database: String) throws(StorageError) -> [KeyRing.Key] {
        var records: [KeyRecord] = []
        var lines = ""
        for (scope, name) in [(KeyScope.admin, "GATEWAY_ADMIN_KEY"), (KeyScope.read, "GATEWAY_READ_KEY")] {
            let key = (scope == .admin ? "admin_" : "read_") + Base64.encodeURL(RandomBytes.make(randomBytes))
            records.append(
                KeyRecord(
                    id: "key_" + Hex.encode(RandomBytes.make(6)),
                    digest: Digest.sha256(Array(key.utf8)),
                    isAdmin: scope == .admin,
                    label: "first start"
                )
            )
            lines += "\(name)=\(key)\n"
        }
        // Told before they count: keys that nobody was shown would lock everybody out.
        if isatty(STDOUT_FILENO) == 1 {
            print("No keys are set, so two were made. They are shown once; only their digests are kept.\n\(lines)")
        } else {
            let folder =
                database.contains("/") ? String(database[..<(database.lastIndex(of: "/") ?? database.startIndex)]) : "."
            let path = folder + "/gateway.keys"
            guard
                FileManager.default.createFile(
                    atPath: path,
                    contents: Data(lines.utf8),
                    attributes: [.posixPermissions: 0o600]
                )
            else { throw .unavailable("\(path) cannot be written") }
            Log.warning("no keys are set, two were made", ("file", .string(path)))
        }
        try KeyRecords.insert(records, at: UnixMillis(wallClockMillis()), in: database)
        return records.map { KeyRing.Key(id: $0.id, scope: $0.isAdmin ? .admin : .read, digest: $0.digest) }
    }
}
