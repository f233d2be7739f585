internal import Crypto
package import Storage

/// A numbered file of `schema/`: applied once and whole, and never edited after a release.
package struct Migration {
    package let number: Int
    package let name: String
    package let sql: String
    package let checksum: String

    /// The files of one engine in their order.
    package static func known(below folder: String) -> [Migration] {
        EmbeddedFile.all(below: folder).compactMap { file in
            let name = file.path.split(separator: "/").last.map(String.init) ?? ""
            guard let number = Int(name.prefix { $0 != "_" }) else { return nil }
            return Migration(
                number: number,
                name: name,
                sql: String(decoding: file.bytes, as: UTF8.self),
                checksum: Digest.sha256Hex(file.bytes)
            )
        }
    }

    /// What a database with these files applied does not have yet.
    ///
    /// - Parameter applied: Checksums by number.
    /// - Parameter place: Names the database.
    /// - Throws: `.wrongSchema` for a database from a newer version or with an edited file.
    package static func pending(
        of known: [Migration],
        applied: [Int64: String],
        in place: String
    ) throws(StorageError) -> [Migration] {
        if let newest = applied.keys.max(), newest > Int64(known.last?.number ?? 0) {
            throw .wrongSchema(
                "\(place) was made by a newer version of the gateway (its schema is \(newest), this program knows up to \(known.last?.number ?? 0)); start that version"
            )
        }
        var pending: [Migration] = []
        for migration in known {
            guard let checksum = applied[Int64(migration.number)] else {
                pending.append(migration)
                continue
            }
            guard checksum == migration.checksum else {
                throw .wrongSchema(
                    "\(place) was made with another \(migration.name) than this program has; restore the program it was made with"
                )
            }
        }
        return pending
    }

    /// Notes in the open transaction that it was applied.
    package func note(in database: any SQLDatabase) throws(StorageError) {
        let insert = try database.prepare("INSERT INTO migration (number, name, checksum) VALUES (?, ?, ?)")
        insert.bind(1, Int64(number))
        insert.bind(2, name)
        insert.bind(3, checksum)
        try insert.run()
    }

    /// The checksums of those that were applied, by number.
    package static func applied(in database: any SQLDatabase) throws(StorageError) -> [Int64: String] {
        var applied: [Int64: String] = [:]
        let query = try database.prepare("SELECT number, checksum FROM migration")
        while try query.step() { applied[query.integer(0)] = query.text(1) }
        return applied
    }
}
