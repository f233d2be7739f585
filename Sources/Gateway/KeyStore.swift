internal import Crypto
internal import Entitlements
internal import Foundation
internal import Platform
internal import SQLStorage
internal import Storage

/// Where keys come from: the environment, and the database; a first start without any makes one of each scope.
enum KeyStore {
    /// Keys are made of this many random bytes: 256 bits cannot be guessed.
    private static let randomBytes = 32

    /// The keys of the environment, and what the database holds; made when there is neither.
    struct Keys {
        var environment: [KeyRing.Key]
        var stored: [KeyRecord]
    }

    /// - Parameter mintsKeys: Whether keys are made when there are none.
    static func keys(
        _ configuration: GatewayConfiguration,
        mintsKeys: Bool
    ) throws(ConfigurationError) -> Keys {
        let database = configuration.location
        var keys = Keys(environment: try environmentKeys(configuration.environment), stored: [])
        do throws(StorageError) {
            keys.stored = try KeyRecords.active(in: database)
            if keys.environment.isEmpty, keys.stored.isEmpty, mintsKeys {
                try mint(database)
                keys.stored = try KeyRecords.active(in: database)
            }
        } catch {
            throw ConfigurationError(database.name, error.description)
        }
        guard !keys.environment.isEmpty || !keys.stored.isEmpty else {
            throw ConfigurationError("GATEWAY_ADMIN_KEY", "no key is left", hint: "nobody could ask anything any more")
        }
        return keys
    }

    static func environmentKeys(_ environment: EnvironmentVariables) throws(ConfigurationError) -> [KeyRing.Key] {
        var keys: [KeyRing.Key] = []
        for (variable, scope, id) in [
            ("GATEWAY_ADMIN_KEY", KeyScope.admin, "env:admin"), ("GATEWAY_READ_KEY", KeyScope.read, "env:read"),
        ] {
            for key in try environment.list(variable) {
                keys.append(KeyRing.Key(id: id, scope: scope, digest: Digest.sha256(Array(key.utf8))))
            }
        }
        return keys
    }

    /// A shorter secret can be guessed by whoever may try often.
    static let secretBytesLow = 16

    /// Variables that hold a key which can be guessed.
    static func guessable(_ environment: EnvironmentVariables) -> [String] {
        ["GATEWAY_ADMIN_KEY", "GATEWAY_READ_KEY"].filter { name in
            ((try? environment.list(name)) ?? []).contains { $0.utf8.count < secretBytesLow }
        }
    }

    /// A new key, and what is kept of it.
    static func make(_ scope: KeyScope, label: String) -> (key: String, record: KeyRecord) {
        let key = (scope == .admin ? "admin_" : "read_") + Base64.encodeURL(RandomBytes.make(randomBytes))
        let record = KeyRecord(
            id: "key_" + Hex.encode(RandomBytes.make(6)),
            digest: Digest.sha256(Array(key.utf8)),
            isAdmin: scope == .admin,
            label: label
        )
        return (key, record)
    }

    static func file(beside database: String) -> String {
        guard let slash = database.lastIndex(of: "/") else { return "./gateway.keys" }
        return String(database[...slash]) + "gateway.keys"
    }

    /// Makes one key of each scope: shown once on a terminal, else written beside the database for its owner only. Never in
    /// the log.
    private static func mint(_ database: any DatabaseLocation) throws(StorageError) {
        var records: [KeyRecord] = []
        var lines = ""
        for (scope, name) in [(KeyScope.admin, "GATEWAY_ADMIN_KEY"), (KeyScope.read, "GATEWAY_READ_KEY")] {
            let (key, record) = make(scope, label: "first start")
            records.append(record)
            lines += "\(name)=\(key)\n"
        }
        // Told before they count: keys that nobody was shown would lock everybody out.
        if isatty(STDOUT_FILENO) == 1 {
            print("No keys are set, so two were made. They are shown once; only their digests are kept.\n\(lines)")
        } else {
            let path = file(beside: database.besides)
            guard
                FileManager.default.createFile(
                    atPath: path,
                    contents: Data(lines.utf8),
                    attributes: [.posixPermissions: 0o600]
                )
            else { throw .unavailable("\(path) cannot be written") }
            Log.warning("no keys are set, two were made", ("file", .string(path)))
        }
        let start = Actor(keyID: "first start", at: UnixMillis(wallClockMillis()))
        try KeyRecords.insert(records, by: start, in: database)
    }
}

extension KeyRing.Key {
    init(_ record: KeyRecord) {
        self.init(id: record.id, scope: record.isAdmin ? .admin : .read, digest: record.digest)
    }
}
