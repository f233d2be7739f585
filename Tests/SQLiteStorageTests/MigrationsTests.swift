internal import Entitlements
internal import Foundation
internal import TestSupport
internal import Testing

@testable internal import SQLStorage
@testable internal import SQLiteStorage
@testable internal import Storage

struct MigrationsTests {
    private func database(_ body: (String) throws -> Void) throws {
        let folder = try TemporaryFolder(prefix: "migrations")
        defer { folder.remove() }
        try body(folder.file("gateway.db"))
    }

    /// A database as an earlier version of the program has made it.
    private func older(_ path: String, files: Int) throws -> SQLiteDatabase {
        let database = try SQLiteDatabase(path: path, mode: .readWrite, busyMillis: 0)
        try database.execute(
            "CREATE TABLE migration (number INTEGER PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL) STRICT"
        )
        for migration in Migrations.known.prefix(files) {
            try database.execute(migration.sql)
            try migration.note(in: database)
        }
        return database
    }

    @Test("applied once; a second time is nothing")
    func twice() throws {
        try database { path in
            let (first, second) = (try Migrations.apply(to: path), try Migrations.apply(to: path))
            #expect(first == Migrations.known.map(\.name))
            #expect(second.isEmpty)
        }
    }

    @Test("a file that was edited after it was applied is refused by name")
    func edited() throws {
        try database { path in
            _ = try Migrations.apply(to: path)
            try SQLiteDatabase(path: path, mode: .readWrite, busyMillis: 0).execute(
                "UPDATE migration SET checksum = 'x'"
            )
            let error = #expect(throws: StorageError.self) { try Migrations.apply(to: path) }
            guard case .wrongSchema(let reason) = error else {
                return #expect(Bool(false), "\(String(describing: error))")
            }
            #expect(reason.contains(Migrations.known[0].name))
        }
    }

    @Test("a database from before mentions were kept goes on: its purchases keep their facts and their ids")
    func beforeMentions() throws {
        let ledger = try Ledger()
        typealias Say = Happening
        try ledger.take([
            Say.state("stripe", "e1", of: "sub_b", at: 0, period: 0, end: 30, user: "u1", also: ["in_ü:1"]),
            Say.state("stripe", "e2", of: "sub_b", at: 1, period: 30, end: 60, user: "u1"),
        ])
        let before = try ledger.picture()
        // What 0003 adds is taken away again, as if the database were older.
        try ledger.database.execute(
            """
            DROP INDEX mention_of_purchase; DROP INDEX contested_by_cluster; DROP TABLE contested; DROP TABLE mention;
            ALTER TABLE fact DROP COLUMN mention; DELETE FROM migration WHERE number = 3;
            """
        )
        let applied = try Migrations.apply(to: ledger.path)
        #expect(applied.first == "0003_mentions.sql")
        let again = try Ledger(continuing: ledger)
        let after = try again.picture()
        #expect(after == before)
        try again.take([
            Say.state("stripe", "e3", of: "sub_a", at: 0, period: 0, end: 90, user: "u2", also: ["in_ü:1"]),
            Say.adjusted("stripe", "e4", of: "sub_b", at: 31, rank: .subscription),
        ])
        #expect(try again.row("u1").entitlements.first?.end == day(31))
        #expect(try again.row("u2").entitlements.first?.end == day(90))
    }

    @Test("a database from before ids stood by their value keeps every one of them")
    func beforeIDsByValue() throws {
        try database { path in
            let database = try older(path, files: 7)
            try database.execute(
                """
                INSERT INTO external_id VALUES (0, 'stripe', 'a', 1, 0), (1, 'stripe', 'a', 2, 0), (0, 'creem', 'a', 3, 1),
                    (0, 'stripe', 'b', 1, 2);
                """
            )
            _ = try Migrations.apply(to: path)
            let transaction = try SQLTransaction(SQLiteDatabase(path: path, mode: .readWrite, busyMillis: 0))
            let ids = [("stripe", "a", 0, 1), ("stripe", "a", 1, 2), ("creem", "a", 0, 3), ("stripe", "b", 0, 1)]
            for (namespace, value, environment, purchase) in ids {
                let found = try transaction.purchase(
                    known: ExternalID(namespace: namespace, value: value),
                    in: environment == 0 ? .production : .sandbox
                )
                #expect(found == Int64(purchase))
            }
            #expect(try transaction.identifiers(of: 1).map(\.id.value).sorted() == ["a", "b"])
            #expect(try transaction.purchases(carrying: "a").sorted() == [1, 2, 3])
        }
    }

    @Test("a database of a newer version is refused")
    func newer() throws {
        try database { path in
            _ = try Migrations.apply(to: path)
            try SQLiteDatabase(path: path, mode: .readWrite, busyMillis: 0)
                .execute("INSERT INTO migration VALUES (9999, '9999_later.sql', 'x')")
            let error = #expect(throws: StorageError.self) { try Migrations.apply(to: path) }
            guard case .wrongSchema(let reason) = error else {
                return #expect(Bool(false), "\(String(describing: error))")
            }
            #expect(reason.contains("newer"))
        }
    }

    @Test("the files are numbered without gaps from 1")
    func numbers() {
        #expect(Migrations.known.map(\.number) == Array(1...Migrations.known.count))
    }

    @Test("a database that was in use before the counts were kept is counted once")
    func countsOfWhatWasThere() throws {
        try database { path in
            let database = try older(path, files: 2)
            try database.execute(
                """
                INSERT INTO subscription VALUES ('u1', 0, 1, 1, x''), ('u2', 0, 2, 1, x''), ('u2', 1, 3, 1, x'');
                INSERT INTO event (provider, event_id, type, outcome, received_at)
                    VALUES ('creem', 'e1', '', 0, 5), ('creem', 'e2', '', 6, 9), ('stripe', 'e1', '', 0, 7);
                """
            )
            _ = try Migrations.apply(to: path)
            let counts = try SQLiteReader(path: path, commits: CommitCounter()).counts()
            #expect(counts.rows == [.production: 2, .sandbox: 1])
            #expect(counts.lastArrivals == [ProviderID("creem"): UnixMillis(9), ProviderID("stripe"): UnixMillis(7)])
            #expect(counts.unmappedEvents == 1 && counts.quarantinedEvents == 0)
        }
    }

    @Test("what is no database is refused")
    func noDatabase() throws {
        try database { path in
            try Array(String(repeating: "no database ", count: 200).utf8).write(toFile: path)
            #expect(throws: StorageError.self) { try Migrations.apply(to: path) }
        }
    }
}

extension [UInt8] {
    fileprivate func write(toFile path: String) throws {
        try Data(self).write(to: URL(fileURLWithPath: path))
    }
}
