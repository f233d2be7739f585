public import Entitlements

/// Something to ask a provider, or to send to it, that must not be forgotten.
public struct ProviderTask: Hashable, Sendable {
    public enum Kind: Int64, Sendable, CaseIterable {
        /// A delivery said that something has changed; what it is has to be read.
        case read = 0
        /// The acknowledgement of a purchase, sent until it is accepted or refused for good.
        case acknowledge = 1
        /// The same for a request without which nobody loses anything.
        case tell = 2

        /// Whether it is a request as it stands.
        public var isRequest: Bool { self != .read }
    }

    public var provider: ProviderID
    public var kind: Kind
    /// The id of the event, or the path of the request: one task a key.
    public var key: String
    /// The delivery's body, or the request's.
    public var body: [UInt8]
    public var createdAt: UnixMillis
    /// When it is taken up by whoever looks after tasks, should nobody have finished it before.
    public var nextAt: UnixMillis

    public init(
        provider: ProviderID,
        kind: Kind,
        key: String,
        body: [UInt8],
        createdAt: UnixMillis,
        nextAt: UnixMillis
    ) {
        self.provider = provider
        self.kind = kind
        self.key = key
        self.body = body
        self.createdAt = createdAt
        self.nextAt = nextAt
    }
}

/// A task as it is kept.
public struct KeptProviderTask: Hashable, Sendable {
    public var id: Int64
    public var task: ProviderTask
    public var attempts: Int

    package init(id: Int64, task: ProviderTask, attempts: Int) {
        self.id = id
        self.task = task
        self.attempts = attempts
    }
}

/// What happens to tasks.
public enum ProviderTaskCommand: Sendable {
    /// Keeps a task; one of the same key stays as it is. A reading of an event that is known is nothing new.
    case keep(ProviderTask)
    /// It failed for a passing reason.
    case postpone(id: Int64, until: UnixMillis)
    case done(id: Int64)
}

/// How many tasks of one kind wait, and since when.
public struct WaitingTasks: Hashable, Sendable {
    public var provider: ProviderID
    public var kind: ProviderTask.Kind
    public var count: Int
    public var oldest: UnixMillis

    package init(provider: ProviderID, kind: ProviderTask.Kind, count: Int, oldest: UnixMillis) {
        self.provider = provider
        self.kind = kind
        self.count = count
        self.oldest = oldest
    }
}
