package import Entitlements

/// A purchase's own key in the store.
package typealias PurchaseKey = Int64
/// An event's place in the order of arrival.
package typealias EventSequence = Int64
/// The key of what events say of a purchase with one set of ids.
package typealias MentionKey = Int64

/// A set of ids by which events spoke of a purchase.
package struct MentionRecord: Sendable {
    package var key: MentionKey
    package var purchase: PurchaseKey
    package var ids: [PurchaseReference.Identifier]

    package init(key: MentionKey, purchase: PurchaseKey, ids: [PurchaseReference.Identifier]) {
        self.key = key
        self.purchase = purchase
        self.ids = ids
    }
}

/// A purchase as the store keeps it.
package struct PurchaseRecord: Hashable, Sendable {
    package var key: PurchaseKey
    package var environment: StoreEnvironment
    package var provider: ProviderID
    package var purchaseID: String
    package var owner: UserID?
    package var outcome: PurchaseOutcome?

    package init(
        key: PurchaseKey,
        environment: StoreEnvironment,
        provider: ProviderID,
        purchaseID: String,
        owner: UserID?,
        outcome: PurchaseOutcome?
    ) {
        self.key = key
        self.environment = environment
        self.provider = provider
        self.purchaseID = purchaseID
        self.owner = owner
        self.outcome = outcome
    }
}

/// A user's row as the store keeps it.
package struct RowRecord: Hashable, Sendable {
    package var version: Int64
    package var updatedAt: UnixMillis
    package var body: [UInt8]
    /// The moment at which the answer that was told last was judged.
    package var judgedAt: UnixMillis
    /// The next moment after it at which the clock alone changes an answer.
    package var turnsAt: UnixMillis?
    /// Place of the row's last change among all changes of all rows.
    package var sequence: Int64

    /// A row that is written now, judged at `judgedAt`.
    package init(version: Int64, updatedAt: UnixMillis, body: [UInt8], judgedAt: UnixMillis) {
        self.version = version
        self.updatedAt = updatedAt
        self.body = body
        self.judgedAt = judgedAt
        turnsAt = RowClock.nextTurn(of: body, after: judgedAt)
        sequence = version
    }

    /// As it stood when it was told last.
    package var judged: JudgedRow {
        JudgedRow(version: version, updatedAt: updatedAt, body: body, moment: judgedAt)
    }
}

/// An event to be recorded.
package struct EventRecord: Sendable {
    package var provider: ProviderID
    package var eventID: String
    package var type: String
    package var environment: StoreEnvironment?
    package var occurredAt: UnixMillis?
    package var receivedAt: UnixMillis

    package init(
        provider: ProviderID,
        eventID: String,
        type: String,
        environment: StoreEnvironment?,
        occurredAt: UnixMillis?,
        receivedAt: UnixMillis
    ) {
        self.provider = provider
        self.eventID = eventID
        self.type = type
        self.environment = environment
        self.occurredAt = occurredAt
        self.receivedAt = receivedAt
    }
}

/// What became of a recorded event.
package struct EventConclusion: Hashable, Sendable {
    package var outcome: EventOutcome
    package var user: UserID?
    package var reason: String?
    package var payload: [UInt8]?

    package init(outcome: EventOutcome, user: UserID? = nil, reason: String? = nil, payload: [UInt8]? = nil) {
        self.outcome = outcome
        self.user = user
        self.reason = reason
        self.payload = payload
    }
}

/// What the ingestion asks of a database inside one transaction. A database holds no rule: all rules are in this module.
///
/// Every call belongs to the thread that opened the transaction.
package protocol StorageTransaction: AnyObject {
    // Events.
    /// - Parameter expected: What will most likely become of it: written at once, and not again if it does.
    /// - Returns: Nil when (provider, event id) was seen before.
    func insert(_ event: EventRecord, expecting expected: EventConclusion) throws(StorageError) -> EventSequence?
    func conclude(_ event: EventSequence, _ conclusion: EventConclusion) throws(StorageError)
    /// Writes type, environment and time of a recorded event anew: its body was read again.
    func describe(_ event: EventSequence, _ record: EventRecord) throws(StorageError)

    // Purchases.
    func purchase(known id: ExternalID, in environment: StoreEnvironment) throws(StorageError) -> PurchaseKey?
    func createPurchase(in environment: StoreEnvironment, provider: ProviderID) throws(StorageError) -> PurchaseKey
    /// The id leads to this purchase from now on, with this rank.
    func bind(
        _ id: PurchaseReference.Identifier,
        in environment: StoreEnvironment,
        to key: PurchaseKey
    ) throws(StorageError)
    /// The ids that lead to a purchase.
    func identifiers(of key: PurchaseKey) throws(StorageError) -> [PurchaseReference.Identifier]
    /// Moves ids, mentions and facts of one purchase to another and deletes it.
    func merge(_ key: PurchaseKey, into other: PurchaseKey) throws(StorageError)
    /// - Parameter heir: The purchase that goes on with what hung on this one; nil when none does.
    func delete(_ key: PurchaseKey, heir: PurchaseKey?) throws(StorageError)
    func record(of key: PurchaseKey) throws(StorageError) -> PurchaseRecord?
    func update(_ record: PurchaseRecord) throws(StorageError)
    func purchases(ownedBy users: [UserID], in environment: StoreEnvironment) throws(StorageError) -> [PurchaseRecord]
    /// Purchases that carry this external id, whatever its kind.
    func purchases(carrying externalID: String) throws(StorageError) -> [PurchaseKey]

    // Mentions.
    /// The mention of a purchase by exactly these ids, made when it is new.
    func mention(of key: PurchaseKey, by ids: [PurchaseReference.Identifier]) throws(StorageError) -> MentionKey
    func mentions(of key: PurchaseKey) throws(StorageError) -> [MentionRecord]
    func purchase(of mention: MentionKey) throws(StorageError) -> PurchaseKey?
    /// Moves a mention and its facts to another purchase.
    func move(_ mention: MentionRecord, to key: PurchaseKey) throws(StorageError)
    /// The purchases that share ids with this one and are not one with it, itself among them; empty where there are none.
    func contested(with key: PurchaseKey) throws(StorageError) -> [PurchaseKey]
    /// These purchases share ids and are not one; fewer than two are nothing special.
    func setContested(_ keys: [PurchaseKey]) throws(StorageError)

    // Facts.
    /// - Parameter place: Where they stand among all facts of the event.
    func add(
        _ facts: [RecordedFact],
        to key: PurchaseKey,
        by mention: MentionKey,
        event: EventSequence,
        place: Int
    ) throws(StorageError)
    func facts(of key: PurchaseKey) throws(StorageError) -> [RecordedFact]
    /// Forgets the facts of an event; the purchases that had some of them.
    func removeFacts(of event: EventSequence) throws(StorageError) -> [PurchaseKey]
    func purchases(withFactsOf event: EventSequence) throws(StorageError) -> [PurchaseKey]

    // Identities.
    /// True when the customer is somebody else now, or the same user since another moment.
    func add(_ link: CustomerLink, of customer: CustomerID) throws(StorageError) -> Bool
    func newestLink(of customer: CustomerID) throws(StorageError) -> CustomerLink?
    func claim(provider: ProviderID, externalID: String, by link: CustomerLink) throws(StorageError)
    func newestClaim(of externalIDs: [String], providers: Set<ProviderID>) throws(StorageError) -> CustomerLink?
    func add(_ transfer: Transfer) throws(StorageError)
    func transfers(fromAnyOf ids: [String]) throws(StorageError) -> [Transfer]
    func dependents(of node: String) throws(StorageError) -> [PurchaseKey]
    func setDependencies(of key: PurchaseKey, _ nodes: Set<String>) throws(StorageError)
    /// All ids of the person, the given one among them.
    func person(of user: UserID) throws(StorageError) -> [UserID]
    func setPerson(_ person: UserID, of users: [UserID]) throws(StorageError)

    // Rows.
    func row(of user: UserID, in environment: StoreEnvironment) throws(StorageError) -> RowRecord?
    /// Writes the row in place of `known`, and in the same transaction whom to tell that answers changed.
    func setRow(
        _ row: RowRecord,
        replacing known: RowRecord?,
        of user: UserID,
        in environment: StoreEnvironment
    ) throws(StorageError)
    /// Records what the clock alone has changed up to `moment`, and gives the row as it then stands. Nothing of the row
    /// is written yet.
    func turned(
        _ row: RowRecord,
        upTo moment: UnixMillis,
        of user: UserID,
        in environment: StoreEnvironment
    ) throws(StorageError) -> RowRecord
    /// A number greater than every version given before, across all users, erased ones too.
    func nextVersion() throws(StorageError) -> Int64
}
