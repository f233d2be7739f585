internal import Entitlements
internal import Foundation
internal import TestSupport
internal import Testing

@testable internal import SQLStorage
@testable internal import SQLiteStorage
@testable internal import Storage

/// A store without its threads: a database in a file, one transaction at a time. The fast way to take events in.
final class Ledger {
    let folder: TemporaryFolder
    let path: String
    private(set) var policy: EntitlementPolicy
    let database: any SQLDatabase
    let transaction: SQLTransaction
    /// Keeps the folder of a continued ledger.
    private let predecessor: Ledger?

    /// A database with the tables and nothing in them, made once and copied.
    private static let template: [UInt8] = {
        do {
            let folder = try TemporaryFolder(prefix: "template")
            defer { folder.remove() }
            let path = folder.file("empty.db")
            _ = try Migrations.apply(to: path)
            let database = try SQLiteDatabase(path: path, mode: .readWrite, busyMillis: 1000)
            try database.execute("PRAGMA journal_mode = DELETE")
            return [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
        } catch {
            return []
        }
    }()

    init(policy: EntitlementPolicy = Ledger.plainPolicy) throws {
        predecessor = nil
        folder = try TemporaryFolder(prefix: "ledger")
        path = folder.file("gateway.db")
        self.policy = policy
        try Data(Ledger.template).write(to: URL(fileURLWithPath: path))
        let file = try SQLiteDatabase(path: path, mode: .readWrite, busyMillis: 1000)
        // Nothing of a test has to survive a power cut.
        try file.execute("PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF;")
        database = file
        transaction = try SQLTransaction(database)
    }

    /// The database of another ledger, opened anew; the other one must not be used any more.
    init(continuing other: Ledger) throws {
        (folder, path, policy, predecessor) = (other.folder, other.path, other.policy, other)
        database = try SQLiteDatabase(path: path, mode: .readWrite, busyMillis: 1000)
        transaction = try SQLTransaction(database)
    }

    /// On a database that is there and empty, of whatever engine.
    init(on database: any SQLDatabase, policy: EntitlementPolicy = Ledger.plainPolicy) throws {
        predecessor = nil
        folder = try TemporaryFolder(prefix: "ledger")
        path = ""
        self.policy = policy
        self.database = database
        transaction = try SQLTransaction(database)
    }

    deinit { if predecessor == nil { folder.remove() } }

    static let plainPolicy = EntitlementPolicy(
        firstProviders: ["app_store", "google_play", "revenuecat"].map { ProviderID($0) },
        lastProviders: [ManualProvider.id]
    )

    @discardableResult
    func take(_ events: [IncomingEvent]) throws -> [EventOutcome] {
        try database.beginWriting()
        var outcomes: [EventOutcome] = []
        for event in events {
            var ingestion = Ingestion(policy: policy, transaction: transaction)
            outcomes.append(try ingestion.ingest(event))
        }
        try transaction.saveCounters()
        try database.commit()
        return outcomes
    }

    /// The seller has changed the policy.
    func adopt(_ policy: EntitlementPolicy) throws {
        self.policy = policy
        _ = try Rebuild(database: database, transaction: transaction, policy: policy).run(now: day(200))
    }

    func erase(_ user: UserID, at moment: UnixMillis) throws {
        try database.beginWriting()
        var changed: [ChangedRow] = []
        try Erasure(database: database, transaction: transaction, policy: policy).erase(user, at: moment, &changed)
        try transaction.saveCounters()
        try database.commit()
    }

    func row(_ user: String, in environment: StoreEnvironment = .production) throws -> Subscription {
        guard let row = try transaction.row(of: UserID(unchecked: user), in: environment) else { return Subscription() }
        return try SubscriptionRow.decode(row.body)
    }

    func version(_ user: String) throws -> Int64 {
        try transaction.row(of: UserID(unchecked: user), in: .production)?.version ?? 0
    }

    /// What everybody is answered: the bodies of all rows, the purchases with their owners. A row in which nothing was
    /// ever given is as good as none.
    func picture() throws -> Picture {
        var picture = Picture()
        let empty = SubscriptionRow.encode(Subscription())
        let rows = try database.prepare("SELECT user_id, environment, body FROM subscription")
        while try rows.step() {
            let body = rows.blob(2)
            if body != empty { picture.rows["\(rows.text(0)) \(rows.integer(1))"] = body }
        }
        rows.reset()
        let purchases = try database.prepare("SELECT id FROM purchase ORDER BY id")
        var keys: [Int64] = []
        while try purchases.step() { keys.append(purchases.integer(0)) }
        purchases.reset()
        for key in keys {
            guard let record = try transaction.record(of: key) else { continue }
            let ids = try transaction.identifiers(of: key).map { "\($0.id.namespace)|\($0.id.value)|\($0.rank)" }
                .sorted()
            picture.purchases.append(
                "\(record.environment.name) \(record.provider.name) \(record.purchaseID) owner \(record.owner?.value ?? "-") "
                    + "ids \(ids) outcome \(record.outcome.map(OutcomeCoding.encode) ?? [])"
            )
        }
        picture.purchases.sort()
        return picture
    }

    struct Picture: Equatable {
        var rows: [String: [UInt8]] = [:]
        var purchases: [String] = []
    }

    /// What `rebuild --check` says.
    func differences() throws -> [String] {
        try Rebuild(database: database, transaction: transaction, policy: policy).check().differences
    }

    /// Every text and blob of every table in which `needle` stands.
    func traces(of needle: String) throws -> [String] {
        var found: [String] = []
        let tables = try database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'")
        var names: [String] = []
        while try tables.step() { names.append(tables.text(0)) }
        tables.reset()
        for table in names {
            let columns = try database.prepare("SELECT name FROM pragma_table_info('\(table)')")
            var fields: [String] = []
            while try columns.step() { fields.append(columns.text(0)) }
            columns.reset()
            for field in fields {
                let values = try database.prepare("SELECT CAST(\(field) AS BLOB) FROM \(table)")
                while try values.step() {
                    if values.blob(0).contains(Array(needle.utf8)) { found.append("\(table).\(field)") }
                }
                values.reset()
            }
        }
        return found
    }
}

extension [UInt8] {
    fileprivate func contains(_ needle: [UInt8]) -> Bool {
        guard !needle.isEmpty, count >= needle.count else { return false }
        return (0...(count - needle.count)).contains { self[$0..<($0 + needle.count)].elementsEqual(needle) }
    }
}

/// Takes `events` in every order (up to five of them, else some orders) into stores of their own; all must look alike, and
/// working everything out again must find nothing.
func expectOneResult(
    _ events: [IncomingEvent],
    policy: EntitlementPolicy = Ledger.plainPolicy,
    orders: Int = 40,
    _ name: String,
    sourceLocation: SourceLocation = #_sourceLocation
) throws {
    var first: Ledger.Picture?
    var generator = SplitMix64(seed: 5)
    let all =
        events.count <= 5
        ? permutations(of: Array(events.indices))
        : (0..<orders).map { _ in Array(events.indices).shuffled(using: &generator) }
    for order in all {
        let ledger = try Ledger(policy: policy)
        try ledger.take(order.map { events[$0] })
        let picture = try ledger.picture()
        let expected = first ?? picture
        first = expected
        let differences = try ledger.differences()
        let told = order.map { events[$0].event.eventID }
        #expect(picture.rows == expected.rows, "\(name): rows, in the order \(told)", sourceLocation: sourceLocation)
        #expect(
            picture.purchases == expected.purchases,
            "\(name): purchases, in the order \(told)",
            sourceLocation: sourceLocation
        )
        #expect(differences.isEmpty, "\(name): \(differences), in the order \(told)", sourceLocation: sourceLocation)
        // Redelivery changes nothing.
        let again = try ledger.take(order.shuffled(using: &generator).map { events[$0] })
        #expect(again.allSatisfy { $0 == .duplicate || $0 == .observed }, "\(name)", sourceLocation: sourceLocation)
        #expect(try ledger.picture() == expected, "\(name): told again", sourceLocation: sourceLocation)
        if picture != expected || !differences.isEmpty { break }
    }
}

func permutations<Element>(of elements: [Element]) -> [[Element]] {
    guard elements.count > 1 else { return [elements] }
    return elements.indices.flatMap { index -> [[Element]] in
        var rest = elements
        let first = rest.remove(at: index)
        return permutations(of: rest).map { [first] + $0 }
    }
}
