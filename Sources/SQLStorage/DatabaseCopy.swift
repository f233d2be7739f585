internal import Crypto
internal import Entitlements
package import Storage

/// Carries a database from one engine to another, and proves that everything came over.
///
/// Rows go in the order of their keys, some at a time, each batch in a transaction: what the target has says how far it came,
/// so a copy that was cut off goes on where it stopped. Until all is proven the target is marked, and is not served.
package struct DatabaseCopy {
    /// Rows of one transaction.
    private static let batchMax = 500
    /// Where the target says that it is half made; what stands there is the source's name.
    static let markName = "copy"

    /// How far it is.
    package struct Progress: Sendable {
        package var table: String
        package var rows: Int64
        package var rowsMax: Int64
        package var isProof: Bool
    }

    /// What came of one table.
    package struct Table: Sendable {
        package var name: String
        package var rows: Int64
        package var digest: String
    }

    private let source: any SQLDatabase
    private let target: any SQLDatabase
    private let sourceName: String
    private let targetName: String

    /// - Throws: `.wrongSchema` when the source is not up to date, or the target holds something else already.
    package init(from: any DatabaseLocation, to: any DatabaseLocation) throws(StorageError) {
        (sourceName, targetName) = (from.name, to.name)
        guard try from.pendingMigrations().isEmpty else {
            throw .wrongSchema(
                "\(from.name) is of an earlier version; entitlement-gateway migrate brings it up to date"
            )
        }
        _ = try to.migrate()
        source = try from.connect(.reading)
        target = try to.connect(.importing)
        let mark = try Self.meta(Self.markName, in: target)
        if let mark {
            guard mark == sourceName else { throw .wrongSchema("\(to.name) is a half-made copy of \(mark)") }
            return
        }
        for table in ["event", "subscription", "api_key", "license"]
        where try target.integer("SELECT count(*) FROM (SELECT 1 FROM \(table) LIMIT 1) AS found") > 0 {
            throw .wrongSchema("\(to.name) is not empty; a copy needs a new database")
        }
        try target.beginWriting()
        try Self.setMeta(Self.markName, Array(sourceName.utf8), in: target)
        try target.commit()
    }

    /// - Parameter progress: Called after every batch.
    /// - Returns: What came over.
    /// - Throws: `.damaged` when source and target differ: the source was changed meanwhile.
    package func run(progress: (Progress) -> Void) throws(StorageError) -> [Table] {
        // One snapshot for all of it.
        try source.beginReading()
        defer { source.rollback() }
        for table in CopiedTable.all { try copy(table, progress) }
        var tables: [Table] = []
        for table in CopiedTable.all {
            let (there, here) = (try prove(table, target, progress), try prove(table, source, progress))
            guard there.rows == here.rows, there.digest == here.digest else {
                throw .damaged(
                    "\(table.name) has \(here.rows) rows in \(sourceName) and \(there.rows) in \(targetName), or they differ: stop the gateway on \(sourceName), and copy into an empty database"
                )
            }
            tables.append(there)
        }
        try finish()
        return tables
    }

    private func copy(_ table: CopiedTable, _ progress: (Progress) -> Void) throws(StorageError) {
        let rowsMax = try source.integer("SELECT count(*) FROM \(table.name)")
        var rows = try target.integer("SELECT count(*) FROM \(table.name)")
        var key = try row(target.prepare(table.last), table)
        while true {
            let page = try self.page(table, after: key, source)
            guard let last = page.last else { break }
            try target.beginWriting()
            do throws(StorageError) {
                let insert = try target.prepare(table.insert)
                for values in page {
                    for (index, value) in values.enumerated() {
                        value.bind(Int32(index + 1), to: insert, table.columns[index].kind)
                    }
                    try insert.run()
                }
                try target.commit()
            } catch {
                target.rollback()
                throw error
            }
            key = last
            rows += Int64(page.count)
            progress(Progress(table: table.name, rows: rows, rowsMax: rowsMax, isProof: false))
        }
        if table.isNumbered { try target.continueNumbers(of: table.name, table.columns[0].name) }
    }

    /// Counts the rows and works a digest out over all of them, in the order of their keys.
    private func prove(
        _ table: CopiedTable,
        _ database: any SQLDatabase,
        _ progress: (Progress) -> Void
    ) throws(StorageError) -> Table {
        var proof = Table(name: table.name, rows: 0, digest: "")
        var digest: [UInt8] = []
        var key: [CopiedValue]?
        while true {
            let page = try self.page(table, after: key, database)
            guard let last = page.last else { break }
            // Each batch is chained to those before it.
            var bytes = digest
            for values in page { for value in values { value.append(to: &bytes) } }
            digest = Digest.sha256(bytes)
            key = last
            proof.rows += Int64(page.count)
            progress(Progress(table: table.name, rows: proof.rows, rowsMax: proof.rows, isProof: true))
        }
        proof.digest = Hex.encode(digest)
        return proof
    }

    /// The small values last: with them the target counts as whole.
    private func finish() throws(StorageError) {
        try target.endImport()
        try target.beginWriting()
        do throws(StorageError) {
            let query = try source.prepare("SELECT name, value FROM meta")
            while try query.step() { try Self.setMeta(query.text(0), query.blob(1), in: target) }
            query.reset()
            try target.execute("DELETE FROM last_arrival; DELETE FROM row_count")
            try target.execute(
                """
                INSERT INTO last_arrival (provider, received_at) SELECT provider, max(received_at) FROM event GROUP BY provider
                """
            )
            for environment in StoreEnvironment.allCases {
                try target.execute(
                    """
                    INSERT INTO row_count (environment, count) SELECT \(environment.rawValue), count(*) FROM subscription
                    WHERE environment = \(environment.rawValue)
                    """
                )
            }
            let delete = try target.prepare("DELETE FROM meta WHERE name = ?")
            delete.bind(1, Self.markName)
            try delete.run()
            try target.commit()
        } catch {
            target.rollback()
            throw error
        }
        target.settle()
    }

    private func page(
        _ table: CopiedTable,
        after key: [CopiedValue]?,
        _ database: any SQLDatabase
    ) throws(StorageError) -> [[CopiedValue]] {
        let query = try database.prepare(table.page(hasKey: key != nil))
        defer { query.reset() }
        if let key {
            for index in 0..<table.keys { key[index].bind(Int32(index + 1), to: query, table.columns[index].kind) }
        }
        query.bind(Int32(key == nil ? 1 : table.keys + 1), Int64(Self.batchMax))
        var rows: [[CopiedValue]] = []
        while try query.step() { rows.append(values(query, table)) }
        return rows
    }

    private func row(_ query: any SQLStatement, _ table: CopiedTable) throws(StorageError) -> [CopiedValue]? {
        defer { query.reset() }
        return try query.step() ? values(query, table) : nil
    }

    private func values(_ row: any SQLStatement, _ table: CopiedTable) -> [CopiedValue] {
        table.columns.enumerated().map { index, column in CopiedValue(row, Int32(index), column.kind) }
    }

    private static func meta(_ name: String, in database: any SQLDatabase) throws(StorageError) -> String? {
        let query = try database.prepare("SELECT value FROM meta WHERE name = ?")
        query.bind(1, name)
        defer { query.reset() }
        return try query.step() ? String(decoding: query.blob(0), as: UTF8.self) : nil
    }

    private static func setMeta(_ name: String, _ value: [UInt8], in database: any SQLDatabase) throws(StorageError) {
        let upsert = try database.prepare(
            "INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
        )
        upsert.bind(1, name)
        upsert.bind(2, value)
        try upsert.run()
    }

    /// Refuses a database that is a half-made copy.
    static func refuseHalfMade(_ database: any SQLDatabase, _ name: String) throws(StorageError) {
        guard let source = try meta(markName, in: database) else { return }
        throw .wrongSchema("\(name) is a half-made copy of \(source); run migrate --from --to again")
    }
}
