internal import Entitlements
internal import Platform
internal import SQLStorage
internal import SQLiteStorage
internal import Storage

/// What commands do to the database without a running gateway.
public enum Maintenance {
    /// Brings the database up to date; the names of what was applied.
    public static func migrate(_ configuration: GatewayConfiguration) throws(ConfigurationError) -> [String] {
        do throws(StorageError) {
            return try configuration.location.migrate()
        } catch {
            throw ConfigurationError(configuration.location.name, error.description)
        }
    }

    /// What `rebuild` found.
    public struct Report: Sendable {
        public var purchases: Int
        public var rows: Int
        public var changed: Int
        public var differences: [String]
        var isCheck: Bool

        public var text: String {
            if !isCheck { return "\(purchases) purchases worked out, \(changed) rows changed" }
            if differences.isEmpty { return "\(purchases) purchases and \(rows) rows are as their facts say" }
            return differences.map { "different: \($0)" }.joined(separator: "\n")
                + "\n\(differences.count) differences; rebuild without --check mends them"
        }

        public var json: String {
            var json = JSONWriter()
            json.raw("{")
            json.key("purchases")
            json.integer(Int64(purchases))
            json.key("rows")
            json.integer(Int64(rows))
            json.key("changed")
            json.integer(Int64(changed))
            json.key("differences")
            json.raw("[")
            for difference in differences {
                json.separate()
                json.string(difference)
            }
            json.raw("]}")
            return String(decoding: json.bytes, as: UTF8.self)
        }
    }

    /// Works everything out from the stored facts; with `checkOnly` nothing is written.
    public static func rebuild(
        _ configuration: GatewayConfiguration,
        checkOnly: Bool
    ) throws(ConfigurationError) -> Report {
        try requireDatabase(configuration)
        do throws(StorageError) {
            let report = try configuration.location.rebuild(
                policy: configuration.policy,
                now: UnixMillis(wallClockMillis()),
                checkOnly: checkOnly
            )
            return Report(
                purchases: report.purchases,
                rows: report.rows,
                changed: report.changed,
                differences: report.differences,
                isCheck: checkOnly
            )
        } catch {
            throw ConfigurationError(configuration.location.name, error.description)
        }
    }

    /// A backup that was made and passed SQLite's own check.
    public struct BackupReport: Sendable {
        public var pages: Int
        public var bytes: Int64
        /// People with a row.
        public var people: Int64
    }

    /// Copies the database as it stands into one file, beside a running gateway.
    ///
    /// - Parameter replacing: Whether a file of that name may be replaced.
    /// - Parameter progress: Called with the pages copied so far and all pages.
    public static func backup(
        _ configuration: GatewayConfiguration,
        to file: String,
        replacing: Bool,
        progress: (_ done: Int, _ pages: Int) -> Void
    ) throws(ConfigurationError) -> BackupReport {
        try requireDatabase(configuration)
        guard configuration.location is SQLiteLocation else {
            throw ConfigurationError(
                configuration.location.name,
                "backup copies a SQLite file",
                hint: "pg_dump --format=custom; and keep the files .signing-keys and .address-key of the gateway"
            )
        }
        for own in ["", "-wal", "-shm", "-journal"] where PrivateFile.isSame(configuration.database + own, file) {
            throw ConfigurationError(file, "this is the database itself", hint: "name another file")
        }
        var report: BackupReport?
        do throws(StorageError) {
            let made = try Backup.make(
                of: configuration.database,
                to: file,
                replacing: replacing,
                progress: progress
            )
            if let made {
                report = BackupReport(pages: made.pages, bytes: made.bytes, people: made.people)
            }
        } catch {
            throw ConfigurationError("backup of \(configuration.database)", error.description)
        }
        if let report {
            try copyKeys(of: configuration.database, beside: file)
            return report
        }
        throw ConfigurationError(file, "it is there already", hint: "choose another name, or replace it with --force")
    }

    /// The keys that licences are signed with, and the one that addresses are hashed with: without them a restored database
    /// would not know its own.
    private static func copyKeys(of database: String, beside file: String) throws(ConfigurationError) {
        for path in [SigningKeyFile.path(besideDatabase: ""), BuyerAddresses.path(besideDatabase: "")]
        where PrivateFile.isThere(database + path) {
            try SecretFile.write(try SecretFile.read(database + path), to: file + path, isNew: false)
        }
    }

    /// A name that was mistyped must not become a database.
    static func requireDatabase(_ configuration: GatewayConfiguration) throws(ConfigurationError) {
        guard configuration.location.isThere else {
            throw ConfigurationError(
                configuration.location.name,
                "there is no database",
                hint: "name it with --database or GATEWAY_DATABASE; serve or migrate makes one"
            )
        }
    }
}
