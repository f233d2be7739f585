public import Entitlements

/// A purchase that an app hands in for a user (rule 6): the facts it proves, and whose it shall be.
public struct PurchaseSubmission: Sendable {
    /// What happens to a purchase that is somebody else's.
    public enum Restore: String, Sendable {
        /// It goes over.
        case transfer
        /// It stays, and the one who submits is told.
        case keep
    }

    public var event: IncomingEvent
    /// The purchase's own id.
    public var id: ExternalID
    public var environment: StoreEnvironment
    public var user: UserID
    public var restore: Restore
    public var by: Actor
    /// What has to be sent to the provider once the purchase is recorded.
    public var then: [ProviderTask] = []
    /// The same, but only when the purchase was not the user's before.
    public var thenIfNew: [ProviderTask] = []

    public init(
        event: IncomingEvent,
        id: ExternalID,
        environment: StoreEnvironment,
        user: UserID,
        restore: Restore,
        by: Actor
    ) {
        self.event = event
        self.id = id
        self.environment = environment
        self.user = user
        self.restore = restore
        self.by = by
    }

    /// The statement of the app, in the form of one made by hand.
    package var claim: IdentityRequest {
        IdentityRequest(user: user, provider: event.provider, externalID: id.value, by: by)
    }
}

extension Ingestion {
    /// What became of a submission.
    package enum Submitted: Equatable {
        /// The purchase is the user's; whether it was not before.
        case owned(isNew: Bool)
        case ownedByAnother
    }

    /// Takes a submission in. Its facts are true whoever submits them; whose the purchase is, is decided apart from them.
    ///
    /// - Parameter claimEventID: Id of the event that the claim becomes, if one is needed.
    package mutating func submit(
        _ submission: PurchaseSubmission,
        claimEventID: String
    ) throws(StorageError) -> Submitted {
        if submission.restore == .transfer {
            // Said first, so that the facts find their owner and nothing is parked on the way.
            let isNew = try claim(submission, claimEventID)
            _ = try ingest(submission.event)
            return .owned(isNew: isNew)
        }
        _ = try ingest(submission.event)
        if let owner = try owner(of: submission), !owner.contains(submission.user) { return .ownedByAnother }
        return .owned(isNew: try claim(submission, claimEventID))
    }

    /// Everyone who is the person the purchase belongs to; nil when it is nobody's.
    private func owner(of submission: PurchaseSubmission) throws(StorageError) -> [UserID]? {
        guard let key = try transaction.purchase(known: submission.id, in: submission.environment),
            let owner = try transaction.record(of: key)?.owner
        else { return nil }
        return try transaction.person(of: owner)
    }

    /// The same app says the same again at every start: only what is not so already is written.
    private mutating func claim(
        _ submission: PurchaseSubmission,
        _ eventID: String
    ) throws(StorageError) -> Bool {
        let known = try transaction.newestClaim(of: [submission.id.value], providers: [submission.event.provider])
        if known?.user == submission.user, try owner(of: submission)?.contains(submission.user) == true { return false }
        _ = try ingest(ManualProvider.event(adding: submission.claim, eventID: eventID))
        return true
    }
}
