internal import Crypto
internal import Entitlements
internal import Storage

/// What the ingestion asks of the database, in SQL. Lives on the writer's thread, inside its open transaction.
package final class SQLTransaction: StorageTransaction {
    let database: any SQLDatabase
    let sql: WriterSQL
    /// What the open transaction has counted; written once, with its commit.
    private(set) var counters = Counters()
    private var writtenVersion: Int64
    /// Whether any user was ever erased: only then a new row must look for an old version.
    var hasErased: Bool
    /// What need not be asked.
    var used = UsedTables()
    /// Nil when the open event has made none, or more than one.
    private(set) var fresh: FreshPurchase?
    /// What was written with the open event as what becomes of it.
    private var expected: (event: EventSequence, conclusion: EventConclusion)?
    private let usedTables: any SQLStatement
    /// Whom to tell of changed answers.
    let changes: ChangeRecorder
    /// Not later than the first moment at which the clock changes an answer, of the rows written here.
    var nextTurn: UnixMillis?

    init(_ database: any SQLDatabase) throws(StorageError) {
        self.database = database
        sql = try WriterSQL(database)
        changes = try ChangeRecorder(database)
        usedTables = try database.prepare(
            """
            SELECT EXISTS (SELECT 1 FROM erased), EXISTS (SELECT 1 FROM claim), EXISTS (SELECT 1 FROM transfer),
                EXISTS (SELECT 1 FROM person), EXISTS (SELECT 1 FROM contested)
            """
        )
        writtenVersion = 0
        hasErased = false
        try reload()
    }

    /// Reads the counters again: at start, and after a transaction that did not come through.
    func reload() throws(StorageError) {
        counters = Counters()
        counters.version = try meta("version").flatMap { Int64($0) } ?? 0
        writtenVersion = counters.version
        beginCommand()
        defer { usedTables.reset() }
        guard try usedTables.step() else { return }
        hasErased = usedTables.integer(0) != 0
        used.claim = usedTables.integer(1) != 0
        used.transfer = usedTables.integer(2) != 0
        used.person = usedTables.integer(3) != 0
        used.contested = usedTables.integer(4) != 0
        try changes.setReceivers(meta(ChangeRecorder.receiversName))
    }

    /// Writes what was counted; the last thing before COMMIT.
    ///
    /// - Returns: Whether a row was changed.
    @discardableResult
    func saveCounters() throws(StorageError) -> Bool {
        for (provider, moment) in counters.arrivals {
            sql.setLastArrival.bind(1, provider.name)
            sql.setLastArrival.bind(2, moment.value)
            try sql.setLastArrival.run()
        }
        counters.arrivals = [:]
        for (environment, count) in counters.rowsMade {
            sql.countRows.bind(1, count)
            sql.countRows.bind(2, Int64(environment.rawValue))
            try sql.countRows.run()
        }
        counters.rowsMade = [:]
        guard counters.version != writtenVersion else { return false }
        try setMeta("version", String(counters.version))
        writtenVersion = counters.version
        return true
    }

    /// What was written since the counters stood so is undone.
    func goBack(to counters: Counters) {
        self.counters = counters
    }

    // MARK: - Meta

    func meta(_ name: String) throws(StorageError) -> String? {
        sql.getMeta.bind(1, name)
        defer { sql.getMeta.reset() }
        guard try sql.getMeta.step() else { return nil }
        return String(decoding: sql.getMeta.blob(0), as: UTF8.self)
    }

    /// - Parameter value: Nil forgets it.
    func setMeta(_ name: String, _ value: String?) throws(StorageError) {
        guard let value else {
            let delete = try database.prepare("DELETE FROM meta WHERE name = ?")
            delete.bind(1, name)
            return try delete.run()
        }
        sql.setMeta.bind(1, name)
        sql.setMeta.bind(2, Array(value.utf8))
        try sql.setMeta.run()
    }

    /// Nothing that was written is undone; what an earlier command has left open was.
    func beginCommand() {
        fresh = nil
        expected = nil
    }

    // MARK: - Events

    func insert(
        _ event: EventRecord,
        expecting expected: EventConclusion
    ) throws(StorageError) -> EventSequence? {
        try leaveFresh()
        let statement = sql.insertEvent
        statement.bind(1, event.provider.name)
        statement.bind(2, event.eventID)
        statement.bind(3, event.type)
        statement.bind(4, event.environment.map { Int64($0.rawValue) })
        statement.bind(5, event.occurredAt?.value)
        statement.bind(6, event.receivedAt.value)
        statement.bind(7, Int64(expected.outcome.rawValue))
        statement.bind(8, expected.user?.value)
        statement.bind(9, expected.reason)
        guard let sequence = try statement.insert() else { return nil }
        self.expected = (sequence, expected)
        counters.arrivals[event.provider] = max(counters.arrivals[event.provider] ?? event.receivedAt, event.receivedAt)
        return sequence
    }

    func conclude(_ event: EventSequence, _ conclusion: EventConclusion) throws(StorageError) {
        try leaveFresh()
        if let expected, expected.event == event, expected.conclusion == conclusion { return }
        let statement = sql.concludeEvent
        statement.bind(1, Int64(conclusion.outcome.rawValue))
        statement.bind(2, conclusion.user?.value)
        statement.bind(3, conclusion.reason)
        statement.bind(4, conclusion.payload)
        statement.bind(5, event)
        try statement.run()
    }

    func describe(_ event: EventSequence, _ record: EventRecord) throws(StorageError) {
        let statement = sql.describeEvent
        statement.bind(1, record.type)
        statement.bind(2, record.environment.map { Int64($0.rawValue) })
        statement.bind(3, record.occurredAt?.value)
        statement.bind(4, event)
        try statement.run()
    }

    // MARK: - Purchases

    func purchase(known id: ExternalID, in environment: StoreEnvironment) throws(StorageError) -> PurchaseKey? {
        let statement = sql.purchaseByID
        statement.bind(1, Int64(environment.rawValue))
        statement.bind(2, id.namespace)
        statement.bind(3, id.value)
        defer { statement.reset() }
        return try statement.step() ? statement.integer(0) : nil
    }

    func createPurchase(in environment: StoreEnvironment, provider: ProviderID) throws(StorageError) -> PurchaseKey {
        try leaveFresh()
        defer { sql.nextPurchase.reset() }
        guard try sql.nextPurchase.step() else { throw .unavailable("a new purchase got no number") }
        let key = sql.nextPurchase.integer(0)
        fresh = FreshPurchase(key, environment, provider)
        return key
    }

    /// From now on the purchase that the event has made is read from its table, where it stands in any case.
    func leaveFresh() throws(StorageError) {
        guard let left = fresh else { return }
        fresh = nil
        if !left.isWritten { try write(left.record) }
    }

    private func write(_ record: PurchaseRecord) throws(StorageError) {
        let statement = sql.insertPurchase
        statement.bind(1, record.key)
        statement.bind(2, Int64(record.environment.rawValue))
        statement.bind(3, record.provider.name)
        statement.bind(4, record.purchaseID)
        statement.bind(5, record.owner?.value)
        statement.bind(6, record.outcome.map(OutcomeCoding.encode))
        try statement.run()
    }

    /// What the first mention of the open event's purchase is known by.
    func setFreshMention(_ key: MentionKey, _ body: [UInt8]) {
        fresh?.mention = (key, body)
    }

    func bind(
        _ id: PurchaseReference.Identifier,
        in environment: StoreEnvironment,
        to key: PurchaseKey
    ) throws(StorageError) {
        let statement = sql.bindID
        statement.bind(1, Int64(environment.rawValue))
        statement.bind(2, id.id.namespace)
        statement.bind(3, id.id.value)
        statement.bind(4, key)
        statement.bind(5, Int64(id.rank.rawValue))
        try statement.run()
        // An id that leads to another one now may have led here before.
        if fresh?.record.key == key { fresh?.bind(id) } else { try leaveFresh() }
    }

    func identifiers(of key: PurchaseKey) throws(StorageError) -> [PurchaseReference.Identifier] {
        if let fresh, fresh.record.key == key { return fresh.ids }
        let statement = sql.identifiers
        statement.bind(1, key)
        defer { statement.reset() }
        var found: [PurchaseReference.Identifier] = []
        while try statement.step() {
            let id = ExternalID(namespace: statement.text(0), value: statement.text(1))
            let rank = ExternalIDRank(rawValue: UInt8(truncatingIfNeeded: statement.integer(2))) ?? .reference
            found.append(.init(id: id, rank: rank))
        }
        return found
    }

    func merge(_ key: PurchaseKey, into other: PurchaseKey) throws(StorageError) {
        try leaveFresh()
        try run(sql.moveIDs, other, key)
        try run(sql.moveMentions, other, key)
        try run(sql.moveFacts, other, key)
        try delete(key, heir: other)
    }

    func delete(_ key: PurchaseKey, heir: PurchaseKey?) throws(StorageError) {
        try leaveFresh()
        sql.moveLicenses.bind(1, heir)
        sql.moveLicenses.bind(2, key)
        try sql.moveLicenses.run()
        try run(sql.deleteDependencies, key)
        try run(sql.forgetContested, key)
        try run(sql.deletePurchase, key)
    }

    private func run(_ statement: any SQLStatement, _ first: Int64, _ second: Int64? = nil) throws(StorageError) {
        statement.bind(1, first)
        if let second { statement.bind(2, second) }
        try statement.run()
    }

    func record(of key: PurchaseKey) throws(StorageError) -> PurchaseRecord? {
        if let fresh, fresh.record.key == key { return fresh.record }
        sql.purchase.bind(1, key)
        defer { sql.purchase.reset() }
        return try sql.purchase.step() ? try Self.record(sql.purchase) : nil
    }

    static func record(_ statement: any SQLStatement) throws(StorageError) -> PurchaseRecord {
        PurchaseRecord(
            key: statement.integer(0),
            environment: StoreEnvironment(rawValue: UInt8(truncatingIfNeeded: statement.integer(1))) ?? .sandbox,
            provider: ProviderID(statement.text(2)),
            purchaseID: statement.text(3),
            owner: statement.optionalText(4).map { UserID(unchecked: $0) },
            outcome: try statement.optionalBlob(5).map { bytes throws(StorageError) in try OutcomeCoding.decode(bytes) }
        )
    }

    func update(_ record: PurchaseRecord) throws(StorageError) {
        if let fresh, fresh.record.key == record.key, !fresh.isWritten {
            try write(record)
            self.fresh?.record = record
            self.fresh?.isWritten = true
            return
        }
        let statement = sql.updatePurchase
        statement.bind(1, record.provider.name)
        statement.bind(2, record.purchaseID)
        statement.bind(3, record.owner?.value)
        statement.bind(4, record.outcome.map(OutcomeCoding.encode))
        statement.bind(5, record.key)
        try statement.run()
        if fresh?.record.key == record.key { fresh?.record = record }
    }

    func purchases(ownedBy users: [UserID], in environment: StoreEnvironment) throws(StorageError) -> [PurchaseRecord] {
        let statement = sql.purchasesByOwner
        defer { statement.reset() }
        var found: [PurchaseRecord] = []
        for user in users {
            statement.reset()
            statement.bind(1, user.value)
            statement.bind(2, Int64(environment.rawValue))
            while try statement.step() { found.append(try Self.record(statement)) }
        }
        return found
    }

    func purchases(carrying externalID: String) throws(StorageError) -> [PurchaseKey] {
        sql.purchasesCarrying.bind(1, externalID)
        return try keys(sql.purchasesCarrying)
    }

    private func keys(_ statement: any SQLStatement) throws(StorageError) -> [PurchaseKey] {
        defer { statement.reset() }
        var found: [PurchaseKey] = []
        while try statement.step() { found.append(statement.integer(0)) }
        return found
    }

    // MARK: - Facts

    func add(
        _ facts: [RecordedFact],
        to key: PurchaseKey,
        by mention: MentionKey,
        event: EventSequence,
        place: Int
    ) throws(StorageError) {
        let statement = sql.insertFact
        statement.bind(1, key)
        statement.bind(2, event)
        statement.bind(3, Int64(place))
        statement.bind(4, FactCoding.encode(facts))
        statement.bind(5, mention)
        try statement.run()
        if fresh?.record.key == key { fresh?.facts += facts }
    }

    func facts(of key: PurchaseKey) throws(StorageError) -> [RecordedFact] {
        if let fresh, fresh.record.key == key { return fresh.facts }
        let statement = sql.facts
        statement.bind(1, key)
        defer { statement.reset() }
        var found: [RecordedFact] = []
        while try statement.step() {
            found += try FactCoding.decode(
                statement.blob(2),
                provider: ProviderID(statement.text(0)),
                eventID: statement.text(1)
            )
        }
        return found
    }

    func purchases(withFactsOf event: EventSequence) throws(StorageError) -> [PurchaseKey] {
        sql.purchasesOfEvent.bind(1, event)
        return try keys(sql.purchasesOfEvent)
    }

    func removeFacts(of event: EventSequence) throws(StorageError) -> [PurchaseKey] {
        try leaveFresh()
        let found = try purchases(withFactsOf: event)
        sql.deleteFacts.bind(1, event)
        try sql.deleteFacts.run()
        return found
    }

    // MARK: - Identities

    func add(_ link: CustomerLink, of customer: CustomerID) throws(StorageError) -> Bool {
        let known = try newestLink(of: customer)
        let statement = sql.insertLink
        statement.bind(1, customer.provider.name)
        statement.bind(2, customer.value)
        statement.bind(3, link.user.value)
        statement.bind(4, link.at.value)
        statement.bind(5, link.eventID)
        try statement.run()
        // The first link of a customer is news in any case.
        guard let known else { return true }
        let now = try newestLink(of: customer)
        return now?.user != known.user || now?.since != known.since
    }

    func newestLink(of customer: CustomerID) throws(StorageError) -> CustomerLink? {
        let statement = sql.links
        statement.bind(1, customer.provider.name)
        statement.bind(2, customer.value)
        defer { statement.reset() }
        // Nearly every customer is one user; sorting by SQLite would cost more than the search.
        var newest: (link: CustomerLink, first: UnixMillis)?
        // When somebody else than the newest was named last.
        var others: UnixMillis?
        while try statement.step() {
            let (link, first) = (Self.link(statement), UnixMillis(statement.integer(3)))
            guard let known = newest?.link else {
                newest = (link, first)
                continue
            }
            let isNewer = link.isNewer(than: known)
            others = max(others ?? .earliest, isNewer ? known.at : link.at)
            if isNewer { newest = (link, first) }
        }
        guard let newest else { return nil }
        var link = newest.link
        // Somebody else was named between the first time and the last: only the last one is sure.
        if others.map({ $0 < newest.first }) ?? true { link.since = newest.first }
        return link
    }

    private static func link(_ statement: any SQLStatement) -> CustomerLink {
        CustomerLink(
            user: UserID(unchecked: statement.text(0)),
            at: UnixMillis(statement.integer(1)),
            eventID: statement.text(2)
        )
    }

    func claim(provider: ProviderID, externalID: String, by link: CustomerLink) throws(StorageError) {
        let statement = sql.upsertClaim
        statement.bind(1, provider.name)
        statement.bind(2, externalID)
        statement.bind(3, link.user.value)
        statement.bind(4, link.at.value)
        statement.bind(5, link.eventID)
        try statement.run()
        used.claim = true
    }

    func newestClaim(of externalIDs: [String], providers: Set<ProviderID>) throws(StorageError) -> CustomerLink? {
        guard used.claim else { return nil }
        let statement = sql.newestClaim
        defer { statement.reset() }
        var newest: CustomerLink?
        for provider in providers {
            for externalID in externalIDs {
                statement.reset()
                statement.bind(1, provider.name)
                statement.bind(2, externalID)
                while try statement.step() {
                    let claim = Self.link(statement)
                    if newest.map({ claim.isNewer(than: $0) }) ?? true { newest = claim }
                }
            }
        }
        return newest
    }

    func add(_ transfer: Transfer) throws(StorageError) {
        used.transfer = true
        let statement = sql.insertTransfer
        let body = TransferCoding.encode(transfer)
        for id in transfer.from.users.map(\.value) + transfer.from.anonymous.map(\.value) {
            statement.bind(1, id)
            statement.bind(2, transfer.at.value)
            statement.bind(3, transfer.eventID)
            statement.bind(4, transfer.environment.map { Int64($0.rawValue) })
            statement.bind(5, body)
            try statement.run()
        }
    }

    func transfers(fromAnyOf ids: [String]) throws(StorageError) -> [Transfer] {
        guard used.transfer else { return [] }
        let statement = sql.transfers
        defer { statement.reset() }
        var found: [Transfer] = []
        for id in ids {
            statement.reset()
            statement.bind(1, id)
            while try statement.step() {
                let environment = statement.optionalInteger(2).flatMap {
                    StoreEnvironment(rawValue: UInt8(truncatingIfNeeded: $0))
                }
                let transfer = try TransferCoding.decode(
                    statement.blob(3),
                    at: UnixMillis(statement.integer(0)),
                    eventID: statement.text(1),
                    environment: environment
                )
                if !found.contains(transfer) { found.append(transfer) }
            }
        }
        return found
    }

    func dependents(of node: String) throws(StorageError) -> [PurchaseKey] {
        sql.dependents.bind(1, node)
        return try keys(sql.dependents)
    }

    func setDependencies(of key: PurchaseKey, _ nodes: Set<String>) throws(StorageError) {
        var known: Set<String> = []
        if let fresh, fresh.record.key == key, !fresh.hasDependencies {
            self.fresh?.hasDependencies = true
        } else {
            sql.dependencies.bind(1, key)
            while try sql.dependencies.step() { known.insert(sql.dependencies.text(0)) }
            sql.dependencies.reset()
        }
        for node in nodes.subtracting(known) {
            sql.insertDependency.bind(1, node)
            sql.insertDependency.bind(2, key)
            try sql.insertDependency.run()
        }
        for node in known.subtracting(nodes) {
            sql.deleteDependency.bind(1, node)
            sql.deleteDependency.bind(2, key)
            try sql.deleteDependency.run()
        }
    }

    func person(of user: UserID) throws(StorageError) -> [UserID] {
        guard used.person else { return [user] }
        let statement = sql.personMembers
        statement.bind(1, user.value)
        defer { statement.reset() }
        var members: [UserID] = []
        while try statement.step() { members.append(UserID(unchecked: statement.text(0))) }
        return members.isEmpty ? [user] : members
    }

    func setPerson(_ person: UserID, of users: [UserID]) throws(StorageError) {
        used.person = true
        for user in users {
            sql.setPerson.bind(1, user.value)
            sql.setPerson.bind(2, person.value)
            try sql.setPerson.run()
        }
    }

    // MARK: - Rows

    func row(of user: UserID, in environment: StoreEnvironment) throws(StorageError) -> RowRecord? {
        let statement = sql.row
        statement.bind(1, user.value)
        statement.bind(2, Int64(environment.rawValue))
        defer { statement.reset() }
        guard try statement.step() else { return nil }
        var row = RowRecord(
            version: statement.integer(0),
            updatedAt: UnixMillis(statement.integer(1)),
            body: statement.blob(2),
            judgedAt: UnixMillis(statement.integer(3))
        )
        row.turnsAt = statement.optionalInteger(4).map(UnixMillis.init)
        row.sequence = statement.integer(5)
        // From before these columns.
        if row.judgedAt.value == 0 { row.judgedAt = row.updatedAt }
        return row
    }

    func setRow(
        _ row: RowRecord,
        replacing known: RowRecord?,
        of user: UserID,
        in environment: StoreEnvironment
    ) throws(StorageError) {
        let statement = sql.setRow
        statement.bind(1, user.value)
        statement.bind(2, Int64(environment.rawValue))
        statement.bind(3, row.version)
        statement.bind(4, row.updatedAt.value)
        statement.bind(5, row.body)
        statement.bind(6, row.judgedAt.value)
        statement.bind(7, row.turnsAt?.value)
        statement.bind(8, row.sequence)
        try statement.run()
        if known == nil { counters.rowsMade[environment, default: 0] += 1 }
        if let turnsAt = row.turnsAt { nextTurn = min(nextTurn ?? turnsAt, turnsAt) }
        let before = known?.judged ?? .nothing(at: row.judgedAt)
        try changes.record(row.sequence, user, environment, from: before, to: row.judged)
        guard hasErased else { return }
        sql.forgetErased.bind(1, Self.digest(of: user))
        sql.forgetErased.bind(2, Int64(environment.rawValue))
        try sql.forgetErased.run()
    }

    func nextVersion() throws(StorageError) -> Int64 {
        counters.version += 1
        return counters.version
    }

    /// What stands before the id of an erased user in its digest.
    package static let erasedPrefix: StaticString = "erased user "

    /// What is left of the id of an erased user.
    static func digest(of user: UserID) -> [UInt8] {
        Digest.sha256(Array("\(erasedPrefix)\(user.value)".utf8))
    }
}
