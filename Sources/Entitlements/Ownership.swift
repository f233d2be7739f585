/// That a customer (or an anonymous id) is this user, as an event or an administrator says.
public struct CustomerLink: Hashable, Sendable {
    public var user: UserID
    /// When it was last said.
    public var at: UnixMillis
    public var eventID: String
    /// When it was first said, nobody else having been named since: from here on the customer is the user.
    public var since: UnixMillis

    /// - Parameter since: Nil where it was said once.
    public init(user: UserID, at: UnixMillis, eventID: String, since: UnixMillis? = nil) {
        self.user = user
        self.at = at
        self.eventID = eventID
        self.since = since ?? at
    }

    /// Whether this link is the newer one (rule 6 d).
    public func isNewer(than other: CustomerLink) -> Bool {
        (other.at, other.eventID, other.user) < (at, eventID, user)
    }
}

/// That everything of some ids goes over to others at a moment (a RevenueCat TRANSFER).
public struct Transfer: Hashable, Sendable {
    public var at: UnixMillis
    public var eventID: String
    public var from: Holder
    public var to: Holder
    /// Nil: in both environments.
    public var environment: StoreEnvironment?

    public init(at: UnixMillis, eventID: String, from: Holder, to: Holder, environment: StoreEnvironment?) {
        self.at = at
        self.eventID = eventID
        self.from = from
        self.to = to
        self.environment = environment
    }
}

/// A person as one event names them: user ids and anonymous ids.
public struct Holder: Hashable, Sendable {
    public var users: [UserID]
    public var anonymous: [CustomerID]

    public init(users: [UserID], anonymous: [CustomerID]) {
        self.users = users
        self.anonymous = anonymous
    }

    /// Whether `other` is the same person. User ids decide; anonymous ids only where one of the two has no user id, so
    /// that an anonymous id never joins two people.
    public func meets(_ other: Holder) -> Bool {
        if !users.isEmpty, !other.users.isEmpty { return users.contains { other.users.contains($0) } }
        return anonymous.contains { other.anonymous.contains($0) }
    }
}

/// What the store knows about identities; asked while an owner is worked out.
public protocol IdentitySource {
    /// The newest claim of exactly this purchase by an administrator or an app (rule 6 a).
    func newestClaim(of ids: [ExternalID]) throws -> CustomerLink?
    /// The newest link of the customer (rule 6 d).
    func newestLink(of customer: CustomerID) throws -> CustomerLink?
    /// Every transfer away from one of these ids.
    func transfers(from holder: Holder) throws -> [Transfer]
}

/// Rule 6: who a purchase belongs to.
///
/// The newest of (a) a claim of exactly this purchase, else (b) its own facts naming a user, else (c) a checkout that names
/// it, else (d) the newest link of its customer; then the transfers that came later in time, in their order.
///
/// A link counts from when it was first said: it is told again with every event of the person, and telling it again must
/// not undo a transfer.
public struct Ownership: Hashable, Sendable {
    public var owner: UserID?
    /// Every customer and user id the answer depends on: when one of them changes, it is worked out again.
    public var dependsOn: Set<Dependency>

    public enum Dependency: Hashable, Sendable {
        case customer(CustomerID)
        case user(UserID)
    }

    /// More transfers of one purchase than any person makes; ends a circle of transfers at equal times.
    static let transfersMax = 256

    public static func resolve(
        facts: [RecordedFact],
        ids: [ExternalID],
        environment: StoreEnvironment,
        identities: some IdentitySource
    ) throws -> Ownership {
        var statements: [(statement: OwnerStatement, eventID: String)] = []
        var customers: Set<CustomerID> = []
        // Whom a statement names matters even where another one was chosen: an erased person must be found in all of them.
        var named: Set<UserID> = []
        var canTransfer = false
        for recorded in facts {
            switch recorded.fact {
            case .owner(let statement):
                statements.append((statement, recorded.eventID))
                named.formUnion(statement.users)
                customers.formUnion(statement.anonymous)
                canTransfer = canTransfer || recorded.isSecondHand || !statement.anonymous.isEmpty
            case .customer(let customer): customers.insert(customer)
            case .state: canTransfer = canTransfer || recorded.isSecondHand
            case .payment, .adjustment, .superseded: continue
            }
        }
        var result = Ownership(owner: nil, dependsOn: Set(customers.map(Dependency.customer)))
        result.dependsOn.formUnion(named.map(Dependency.user))
        var holder = Holder(users: [], anonymous: [])
        var since: UnixMillis?

        func newest(_ source: OwnerStatement.Source) -> OwnerStatement? {
            statements.filter { $0.statement.source == source && !$0.statement.users.isEmpty }
                .max { ($0.statement.at, $0.eventID) < ($1.statement.at, $1.eventID) }?.statement
        }
        if let claim = try identities.newestClaim(of: ids) {
            (holder.users, since) = ([claim.user], claim.at)
        } else if let own = newest(.own) ?? newest(.checkout) {
            (holder, since) = (Holder(users: own.users, anonymous: own.anonymous), own.at)
        } else if canTransfer {
            let last = statements.max { ($0.statement.at, $0.eventID) < ($1.statement.at, $1.eventID) }?.statement
            holder.anonymous = last?.anonymous ?? []
            since = statements.map(\.statement.at).min() ?? .earliest
        }
        if canTransfer, let since {
            try result.follow(from: &holder, linkedBy: customers, since: since, environment: environment, identities)
        } else if holder.users.isEmpty, let link = try newestLink(of: customers, identities) {
            holder.users = [link.user]
        }
        result.owner = holder.users.first.flatMap { $0.isErased ? nil : $0 }
        result.dependsOn.formUnion(holder.users.map(Dependency.user))
        return result
    }

    /// Goes through what happened to the holder in the order of time: transfers, and links of anonymous ids.
    private mutating func follow(
        from holder: inout Holder,
        linkedBy customers: Set<CustomerID>,
        since: UnixMillis,
        environment: StoreEnvironment,
        _ identities: some IdentitySource
    ) throws {
        var customers = customers
        // Strictly later in time than the statement; among transfers of one moment the event id decides.
        var moment: (at: UnixMillis, eventID: String?) = (since, nil)
        func isLater(_ transfer: Transfer) -> Bool {
            guard let eventID = moment.eventID else { return transfer.at > moment.at }
            return (transfer.at, transfer.eventID) > (moment.at, eventID)
        }
        for _ in 0..<Ownership.transfersMax {
            dependsOn.formUnion(holder.users.map(Dependency.user))
            dependsOn.formUnion(holder.anonymous.map(Dependency.customer))
            let current = holder
            let next = try identities.transfers(from: holder)
                .filter { transfer in
                    (transfer.environment == nil || transfer.environment == environment)
                        && transfer.from.meets(current) && isLater(transfer)
                }
                .min { ($0.at, $0.eventID) < ($1.at, $1.eventID) }
            if holder.users.isEmpty, let link = try newestLink(of: customers, identities),
                next.map({ link.since <= $0.at }) ?? true
            {
                holder.users = [link.user]
                if link.since > moment.at { moment = (link.since, nil) }
                continue
            }
            guard let next else { return }
            (holder, moment) = (next.to, (next.at, next.eventID))
            customers = Set(holder.anonymous)
        }
    }
}

private func newestLink(of customers: Set<CustomerID>, _ identities: some IdentitySource) throws -> CustomerLink? {
    var newest: CustomerLink?
    for customer in customers.sorted() {
        guard let link = try identities.newestLink(of: customer) else { continue }
        if let known = newest, !link.isNewer(than: known) { continue }
        newest = link
    }
    return newest
}
