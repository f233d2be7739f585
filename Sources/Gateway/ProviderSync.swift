internal import Entitlements
internal import Outbound
internal import Platform
internal import ProviderKit
internal import SQLStorage
internal import Storage

/// What a look at the providers came to.
struct SyncReport: Sendable {
    /// Providers that could not be asked, and why, in words.
    var unreachable: [ProviderID: String] = [:]
    /// Providers whose answers had not come when the time was over; what they say still counts when it comes.
    var pending: Set<ProviderID> = []
    /// Providers among the unreachable ones that will say the same when they are asked again: somebody has to mend it.
    var refused: Set<ProviderID> = []
    /// Providers among the unreachable ones that answered something else than was expected.
    var notUnderstood: Set<ProviderID> = []
    /// Why what a provider said could not be stored; nil when it was.
    var failure: String?
    /// Events that changed something.
    var applied = 0
    /// Of a list: where the next page begins.
    var nextPage: String?
    /// Questions that were asked.
    var questions = 0
    /// What people see now and did not see before; of a trial, what they would see.
    var differences: [AnswerDifference] = []
    /// What the one thing that was looked at came to; nil when it could not be looked at, or is not there.
    var result: Committed<StoreResult>?
    /// Whether the provider answered that there is no such thing.
    var isUnknown = false
    /// Whose purchase it was, and where, when an app has handed one in.
    var owner: (user: UserID, environment: StoreEnvironment)?
}

/// How a look at the providers is meant.
struct SyncManner: Sendable {
    /// When to answer with what has come until then; nil waits for everything.
    var deadlineMillis: Int?
    /// Nothing is kept; the report tells what would change.
    var isTrial = false
    /// Leaves a part of what each provider allows to those who wait for an answer.
    var isPatient = false
}

/// A purchase that an app hands in by its id at the provider, which alone knows what it is worth.
struct PurchaseClaim: Sendable {
    var id: ExternalID
    /// Nil: whom the purchase itself names.
    var user: UserID?
    var restore: PurchaseSubmission.Restore
    var by: Actor
}

/// Asks the providers' APIs about people, on a thread of its own, and takes what they say in under the same rule as
/// deliveries.
///
/// A provider that cannot be reached takes nothing away from anybody: no answer is no fact.
final class ProviderSync: Sendable {
    typealias Reply = @Sendable (SyncReport) -> Void

    enum Message: Sendable {
        case sync(SweepSubject, SyncManner, reply: Reply)
        case answered(SyncWorker.Place, Result<OutboundAnswer, OutboundFailure>)
        case stored(job: Int, Result<Committed<StoreResult>, StorageError>)
        case deliver(ProviderTask, deadlineMillis: Int, reply: Reply)
        /// The delivery is kept, or it is known what became of it.
        case kept(ProviderTask, deadlineMillis: Int, reply: Reply, Result<Committed<StoreResult>, StorageError>)
        case claim(PurchaseClaim, provider: ProviderID, deadlineMillis: Int, reply: Reply)
        case page(APIListPage, api: Int, SyncManner, reply: Reply)
        /// An access token, or not.
        case authorized(api: Int, Result<OutboundAnswer, OutboundFailure>)
        /// Something was written that nobody waits for.
        case noted
    }

    /// People who may wait to be looked at; more are refused.
    static let waitingMax = 4096

    /// A list that a provider has, and where it is asked for.
    struct List: Sendable {
        var provider: ProviderID
        var list: APIList
        fileprivate var api: Int
    }

    /// Every list that can be read.
    let lists: [List]
    /// Providers that can be asked.
    private let providers: Set<ProviderID>
    private let mailbox: Mailbox<Message>
    private let thread: WorkerThread

    private init(_ apis: [any ProviderAPI], mailbox: Mailbox<Message>, thread: WorkerThread) {
        providers = Set(apis.map(\.provider))
        lists = apis.enumerated().flatMap { index, api in
            api.lists.map { List(provider: api.provider, list: $0, api: index) }
        }
        self.mailbox = mailbox
        self.thread = thread
    }

    /// - Throws: When the process has no room for another thread, or the database cannot be read.
    static func start(_ apis: [any ProviderAPI], _ store: any Store) throws(ConfigurationError) -> ProviderSync {
        do {
            let mailbox = try Mailbox<Message>()
            let reader = try store.makeReader()
            let worker = SyncWorker(apis: apis, store: store, reader: reader, mailbox: mailbox)
            let thread = try WorkerThread.start(name: "sync") { worker.run() }
            return ProviderSync(apis, mailbox: mailbox, thread: thread)
        } catch {
            throw ConfigurationError("sync", "\(error)")
        }
    }

    /// Looks at everything the providers know of a person. `reply` is called once, on the sync thread: when all is read and
    /// stored, or when the deadline is over. False when too many wait.
    func sync(_ user: UserID, deadlineMillis: Int?, _ reply: @escaping Reply) -> Bool {
        sync(.user(user), SyncManner(deadlineMillis: deadlineMillis), reply)
    }

    /// The same for anything that providers can be asked about.
    func sync(_ subject: SweepSubject, _ manner: SyncManner, _ reply: @escaping Reply) -> Bool {
        guard mailbox.count < Self.waitingMax else { return false }
        return mailbox.post(.sync(subject, manner, reply: reply))
    }

    /// Whether there is any provider that can be asked.
    var canAsk: Bool { !providers.isEmpty }

    func canAsk(_ provider: ProviderID) -> Bool { providers.contains(provider) }

    /// Keeps a delivery that says that something has changed, reads what it is, and takes that in. `reply` is called once, on
    /// the sync thread. What cannot be read in time is read later, whoever waits. False when too many wait.
    func deliver(_ task: ProviderTask, deadlineMillis: Int, _ reply: @escaping Reply) -> Bool {
        guard mailbox.count < Self.waitingMax else { return false }
        return mailbox.post(.deliver(task, deadlineMillis: deadlineMillis, reply: reply))
    }

    /// Reads a purchase that an app hands in, and makes it the user's.
    func claim(
        _ claim: PurchaseClaim,
        at provider: ProviderID,
        deadlineMillis: Int,
        _ reply: @escaping Reply
    ) -> Bool {
        guard mailbox.count < Self.waitingMax else { return false }
        return mailbox.post(.claim(claim, provider: provider, deadlineMillis: deadlineMillis, reply: reply))
    }

    /// Reads one page of a list and takes in what it tells.
    func read(_ page: APIListPage, of list: List, _ manner: SyncManner, _ reply: @escaping Reply) -> Bool {
        guard mailbox.count < Self.waitingMax else { return false }
        return mailbox.post(.page(page, api: list.api, manner, reply: reply))
    }

    func stop() {
        mailbox.close()
        thread.join()
    }
}
