public import Entitlements

/// A change asked of the store. Every one is carried out by the single writer, in a transaction shared with others.
public enum StoreCommand: Sendable {
    case ingest(IncomingEvent)
    case grant(GrantRequest)
    case endGrant(user: UserID, grantID: String, reason: String?, by: Actor)
    case addIdentity(IdentityRequest)
    /// An app hands in a purchase for a user.
    case submitPurchase(PurchaseSubmission)
    case erase(user: UserID, by: Actor)
    case license(LicenseCommand)
    case providerTask(ProviderTaskCommand)
    /// No hashes of addresses are kept any more.
    case forgetAddresses(at: UnixMillis)
    /// Takes a recorded event in again: with what its kept body says now, or, without one, from its facts.
    case replay(EventSequenceNumber, IncomingEvent?, by: Actor)
    /// The seller has changed the policy: rows are elected anew, a few with each turn of the writer.
    case adopt(EntitlementPolicy)
    /// What came of an attempt to send a message of the outbox.
    case sent(OutboxReport)
    /// Puts a dead letter back among those that wait to be sent; nil for all of them, some at a time.
    case resend(messageID: String?, by: Actor)
    /// Takes in what a provider's API said of somebody, all of it or nothing.
    case takeReading(ProviderReading)
    /// Keeps a small value of the gateway's own; nil forgets it.
    case remember(StoreMemory, String?)
    /// Removes kept payloads from before a moment, and dead letters that are too old, some at a time.
    case prune(payloadsBefore: UnixMillis?, now: UnixMillis)
    /// Writes something small: readiness is that a write goes through.
    case probe(UnixMillis)
}

/// An event's place in the order of arrival.
public typealias EventSequenceNumber = Int64

/// Who makes a change by hand, and when.
public struct Actor: Hashable, Sendable {
    /// The key's id, never the key.
    public var keyID: String
    public var at: UnixMillis

    public init(keyID: String, at: UnixMillis) {
        self.keyID = keyID
        self.at = at
    }
}

/// A manual grant as asked for (contract section 6).
public struct GrantRequest: Hashable, Sendable {
    public var user: UserID
    public var grantID: String
    /// Nil: for life.
    public var until: UnixMillis?
    public var reason: String
    public var entitlement: String
    public var by: Actor

    public init(
        user: UserID,
        grantID: String,
        until: UnixMillis?,
        reason: String,
        entitlement: String,
        by: Actor
    ) {
        self.user = user
        self.grantID = grantID
        self.until = until
        self.reason = reason
        self.entitlement = entitlement
        self.by = by
    }
}

/// That an external id is a user's.
public struct IdentityRequest: Hashable, Sendable {
    public var user: UserID
    public var provider: ProviderID
    public var externalID: String
    /// Other ids that are the same person by this statement, if they are users at all.
    public var samePerson: [UserID]
    public var by: Actor

    public init(user: UserID, provider: ProviderID, externalID: String, samePerson: [UserID] = [], by: Actor) {
        self.user = user
        self.provider = provider
        self.externalID = externalID
        self.samePerson = samePerson
        self.by = by
    }
}

/// What a change came to.
public enum StoreResult: Hashable, Sendable {
    case ingested(EventOutcome)
    case granted(isNew: Bool)
    /// The grant's id is known with another content.
    case grantConflict
    case grantEnded
    case notFound
    case identityAdded(isNew: Bool)
    /// The purchase is recorded and the user's.
    case submitted
    /// The purchase is recorded and stays somebody else's.
    case ownedByAnother
    case erased
    case license(LicenseResult)
    case replayed(EventOutcome)
    /// A task is kept, or was.
    case taskKept(id: Int64)
    case taskChanged
    /// Nothing is kept of the event that could be read again.
    case notReplayable
    case adopted
    case sent
    case resent(Int)
    case pruned(Int)
    /// What became of each event, and what people see that they did not see before.
    case readingTaken([EventOutcome], [AnswerDifference])
    case remembered
    case ready

    /// What became of the event that was to be taken in, or of the first of several.
    public var outcome: EventOutcome? {
        switch self {
        case .ingested(let outcome): outcome
        case .readingTaken(let outcomes, _): outcomes.first
        default: nil
        }
    }
}

/// A result whose transaction has been committed and synced to the disk.
///
/// Only the writer makes one, after COMMIT: whoever holds it may tell the world. This is what keeps "200 only after fsync"
/// true by type and not by care.
public struct Committed<Value: Sendable>: Sendable {
    public let value: Value

    package init(afterCommit value: Value) {
        self.value = value
    }
}

/// Called on the writer's thread when a command's transaction has been committed, or when it failed.
public typealias StoreReply = @Sendable (Result<Committed<StoreResult>, StorageError>) -> Void
