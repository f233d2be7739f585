/// What became of an event (contract section 4).
public enum EventOutcome: UInt8, Sendable, Hashable, CaseIterable {
    /// Something changed.
    case applied = 0
    /// A valid newest event that changes nothing visible.
    case unchanged = 1
    /// Seen before; nothing happens twice.
    case duplicate = 2
    /// Older than what is known of that purchase, and it changes nothing.
    case stale = 3
    /// Without meaning for access.
    case observed = 4
    /// A purchase whose user is not known yet.
    case parked = 5
    /// The product is not in the product map.
    case unmapped = 6
    /// Authentic but not understandable.
    case quarantined = 7

    /// The word of the API.
    public var name: String {
        switch self {
        case .applied: "applied"
        case .unchanged: "unchanged"
        case .duplicate: "duplicate"
        case .stale: "stale"
        case .observed: "observed"
        case .parked: "parked"
        case .unmapped: "unmapped"
        case .quarantined: "quarantined"
        }
    }

    public init?(name: String) {
        guard let found = EventOutcome.allCases.first(where: { $0.name == name }) else { return nil }
        self = found
    }
}

/// One thing an event does, in the product's own words. An adapter makes these and never sees the database; the store takes
/// them and never sees a provider's words.
public enum Effect: Hashable, Sendable {
    /// Facts about one purchase.
    case facts(PurchaseReference, [Fact])
    /// The customer is this user.
    case link(CustomerID, UserID)
    /// These user ids are one person and read the same row (contract section 6).
    case samePerson([UserID])
    case transfer(Transfer)
    /// An administrator says that exactly this id, whatever it names, is the user's.
    case claim(provider: ProviderID, externalID: String, user: UserID)
}

extension NormalizedEvent {
    /// The same effects with everything about one purchase in one piece and nothing twice: several places of a provider's event
    /// may speak of the same.
    public var effectsTogether: [Effect] {
        var together: [Effect] = []
        var places: [PurchaseReference: Int] = [:]
        // What is told again, gathered apart: an event with thousands of parts costs as much as they are many.
        var gathered: [Int: (facts: [Fact], told: Set<Fact>)] = [:]
        var seen: Set<Effect> = []
        for effect in effects {
            guard case .facts(let reference, let facts) = effect else {
                if seen.insert(effect).inserted { together.append(effect) }
                continue
            }
            if let place = places[reference], case .facts(_, let earlier) = together[place] {
                for fact in facts where gathered[place, default: (earlier, Set(earlier))].told.insert(fact).inserted {
                    gathered[place]?.facts.append(fact)
                }
            } else {
                places[reference] = together.count
                together.append(effect)
            }
        }
        for (place, all) in gathered {
            if case .facts(let reference, _) = together[place] { together[place] = .facts(reference, all.facts) }
        }
        return together
    }
}

/// The ids by which an event names a purchase. All of them name the same one.
public struct PurchaseReference: Hashable, Sendable {
    public var environment: StoreEnvironment
    public var ids: [Identifier]
    /// The provider tells of a purchase that another provider keeps (rule 7).
    public var isSecondHand: Bool

    public init(environment: StoreEnvironment, ids: [Identifier], isSecondHand: Bool = false) {
        self.environment = environment
        self.ids = ids
        self.isSecondHand = isSecondHand
    }

    public struct Identifier: Hashable, Sendable {
        public var id: ExternalID
        public var rank: ExternalIDRank

        public init(id: ExternalID, rank: ExternalIDRank) {
            self.id = id
            self.rank = rank
        }
    }
}

/// An event in the product's own words.
public struct NormalizedEvent: Sendable {
    public var eventID: String
    /// The provider's word for it.
    public var type: String
    /// The event's own time; nil when it has none.
    public var occurredAt: UnixMillis?
    /// Nil where the event does not say.
    public var environment: StoreEnvironment?
    public var effects: [Effect]
    /// Set when the event has no effects: why.
    public var verdict: Verdict?

    public enum Verdict: Hashable, Sendable {
        /// No meaning for access; the reason is for people.
        case observed(String)
        /// Not understandable; the reason names the field.
        case quarantined(String)
        /// No meaning for access and too many to keep: counted only.
        case counted
    }

    public init(
        eventID: String,
        type: String,
        occurredAt: UnixMillis?,
        environment: StoreEnvironment?,
        effects: [Effect],
        verdict: Verdict? = nil
    ) {
        self.eventID = eventID
        self.type = type
        self.occurredAt = occurredAt
        self.environment = environment
        self.effects = effects
        self.verdict = verdict
    }
}
