internal import Entitlements
internal import SQLStorage
internal import Storage

/// How a look at everyone is meant.
public struct ReconcileOptions: Sendable {
    /// Nothing is written; the report tells what would be mended.
    public var isDryRun = false
    /// Begins at the beginning although an earlier look was cut off.
    public var beginsAnew = false
    /// Also looks at those who have bought for good only.
    public var includesLifetime = false
    /// For how long providers that fail are asked again before their people are left out.
    public var patienceSeconds = 60
    /// Leaves room in the providers' limits for others; for a look beside the daily work.
    var isPatient = false

    public init() {}
}

/// How far a look at everyone has come.
public struct ReconcileProgress: Sendable {
    /// People and ownerless purchases that lie behind it, and all of them.
    public var passed: Int
    public var total: Int
    /// Pages that were read of the providers' lists of what has happened.
    public var pages = 0
    public var differences = 0
    public var unread = 0
}

/// What a look at everyone came to.
public struct ReconcileReport: Sendable {
    /// Somebody a provider could not be asked about, or a list that could not be read.
    public struct Unread: Sendable {
        /// Nil for a purchase without an owner.
        public var user: String?
        /// Of a list: its name at the provider.
        public var list: String?
        /// Provider → why.
        public var reasons: [String: String]
    }

    /// Differences and unread people that are told one by one; all are counted.
    public static let listMax = 10_000

    public internal(set) var isDryRun = false
    /// It went on where an earlier one was cut off.
    public internal(set) var wasResumed = false
    /// Everyone was passed; false when it was stopped.
    public internal(set) var isComplete = false
    /// People and ownerless purchases that providers were asked about…
    public internal(set) var looked = 0
    /// …and those at whose provider nothing can be asked.
    public internal(set) var withoutAPI = 0
    /// Pages that were read of the providers' lists of what has happened.
    public internal(set) var pages = 0
    private(set) var differences: [AnswerDifference] = []
    public private(set) var differenceCount = 0
    public private(set) var unread: [Unread] = []
    public private(set) var unreadCount = 0

    /// Whether everyone could be looked at.
    public var isWhole: Bool { isComplete && unreadCount == 0 }

    mutating func add(_ difference: AnswerDifference) {
        differenceCount += 1
        if differences.count < Self.listMax { differences.append(difference) }
    }

    mutating func add(_ seen: SyncReport, of subject: SweepSubject) {
        var user: String?
        if case .user(let known) = subject { user = known.value }
        add(seen, user, list: nil)
    }

    mutating func add(_ seen: SyncReport, of list: String) {
        add(seen, nil, list: list)
    }

    private mutating func add(_ seen: SyncReport, _ user: String?, list: String?) {
        unreadCount += 1
        guard unread.count < Self.listMax else { return }
        var reasons = Dictionary(uniqueKeysWithValues: seen.unreachable.map { ($0.key.name, $0.value) })
        for provider in seen.pending { reasons[provider.name] = "it did not answer in time" }
        if let failure = seen.failure { reasons["database"] = failure }
        unread.append(Unread(user: user, list: list, reasons: reasons))
    }

    public var json: String {
        var json = JSONWriter()
        json.raw("{")
        for (name, flag) in [("dry_run", isDryRun), ("resumed", wasResumed), ("complete", isComplete)] {
            json.key(name)
            json.bool(flag)
        }
        for (name, count) in [
            ("looked", looked), ("without_api", withoutAPI), ("pages", pages), ("different", differenceCount),
            ("unread", unreadCount),
        ] {
            json.key(name)
            json.integer(Int64(count))
        }
        json.list("differences", differences) { json, difference in
            json.raw("{")
            json.key("user_id")
            json.string(difference.user.value)
            json.key("environment")
            json.string(difference.environment.name)
            json.key("entitlement")
            json.string(difference.entitlement)
            for (name, answer) in [("before", difference.before), ("after", difference.after)] {
                json.key(name)
                if let answer { json.object(answer) } else { json.null() }
            }
            json.raw("}")
        }
        json.list("left_out", unread) { json, entry in
            json.raw("{")
            json.key("user_id")
            json.optional(entry.user)
            json.key("list")
            json.optional(entry.list)
            json.key("reasons")
            json.raw("{")
            for (provider, reason) in entry.reasons.sorted(by: { $0.key < $1.key }) {
                json.key(provider)
                json.string(reason)
            }
            json.raw("}}")
        }
        json.raw("}")
        return String(decoding: json.bytes, as: UTF8.self)
    }
}

extension JSONWriter {
    fileprivate mutating func object(_ answer: AnswerDifference.Answer) {
        raw("{")
        key("entitled")
        bool(answer.isEntitled)
        key("status")
        string(answer.status.name)
        key("access_until")
        time(answer.end)
        key("will_renew")
        bool(answer.willRenew)
        key("provider")
        string(answer.provider.name)
        key("purchase_id")
        string(answer.purchaseID)
        raw("}")
    }
}

extension AnswerDifference {
    /// One line for people.
    var text: String {
        "\(user.value) \(entitlement)\(environment == .sandbox ? " (sandbox)" : ""): "
            + "\(Self.text(before)) -> \(Self.text(after))"
    }

    private static func text(_ answer: Answer?) -> String {
        guard let answer else { return "none" }
        guard let end = answer.end else { return "\(answer.status.name) for good" }
        var json = JSONWriter()
        json.time(end)
        let moment = String(decoding: json.bytes.dropFirst().dropLast(), as: UTF8.self)
        return "\(answer.status.name) until \(moment)"
    }
}
