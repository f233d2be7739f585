internal import SQLStorage
internal import Storage

/// `migrate --from … --to …`: carries everything that is kept into a database of another kind, and proves it.
public enum DatabaseMove {
    /// How far it is.
    public struct Progress: Sendable {
        public var table: String
        public var rows: Int64
        public var rowsMax: Int64
        /// All is there, and is compared.
        public var isProof: Bool
    }

    /// A table that came over, with a digest that is the same on both sides.
    public struct Table: Sendable {
        public var name: String
        public var rows: Int64
        public var digest: String
    }

    /// - Parameters:
    ///   - source: As `--database` takes it; the gateway on it is stopped.
    ///   - target: The same; an empty database, or one that an earlier run has left half made.
    ///   - progress: Called after every batch.
    /// - Throws: When one of them cannot be used, or they differ in the end.
    public static func run(
        from source: String,
        to target: String,
        progress: (Progress) -> Void
    ) throws(ConfigurationError) -> [Table] {
        let (from, to) = (try location(source), try location(target))
        guard from.name != to.name else {
            throw ConfigurationError("--to", "it is the same database", hint: "name another one")
        }
        guard from.isThere else { throw ConfigurationError("--from", "\(from.name): there is no database") }
        do throws(StorageError) {
            let tables = try DatabaseCopy(from: from, to: to).run {
                progress(Progress(table: $0.table, rows: $0.rows, rowsMax: $0.rowsMax, isProof: $0.isProof))
            }
            return tables.map { Table(name: $0.name, rows: $0.rows, digest: $0.digest) }
        } catch {
            throw ConfigurationError(
                "migrate",
                error.description,
                hint: "run the same again when that is put right: it goes on where it stopped"
            )
        }
    }

    private static func location(_ text: String) throws(ConfigurationError) -> any DatabaseLocation {
        try DatabaseAddress.location(text.hasPrefix("sqlite:") ? String(text.dropFirst(7)) : text)
    }
}
