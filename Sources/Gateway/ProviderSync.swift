internal import Entitlements
internal import Outbound
internal import Platform
internal import ProviderKit
internal import SQLiteStorage
internal import Storage

/// What a look at the providers came to.
struct SyncReport: Sendable {
    /// Providers that could not be asked, and why, in words.
    var unreachable: [ProviderID: String] = [:]
    /// Providers whose answers had not come when the time was over; what they say still counts when it comes.
    var pending: Set<ProviderID> = []
    /// Events that changed something.
    var applied = 0
}

/// Asks the providers' APIs about people, on a thread of its own, and takes what they say in under the same rule as
/// deliveries.
///
/// A provider that cannot be reached takes nothing away from anybody: no answer is no fact.
final class ProviderSync: Sendable {
    typealias Reply = @Sendable (SyncReport) -> Void

    enum Message: Sendable {
        case sync(user: UserID, deadlineMillis: Int?, reply: Reply)
        case answered(SyncWorker.Place, Result<OutboundAnswer, OutboundFailure>)
        case stored(job: Int, Result<Committed<StoreResult>, StorageError>)
    }

    /// People who may wait to be looked at; more are refused.
    static let waitingMax = 4096

    /// Whether there is any provider that can be asked.
    let canAsk: Bool
    private let mailbox: Mailbox<Message>
    private let thread: WorkerThread

    private init(canAsk: Bool, mailbox: Mailbox<Message>, thread: WorkerThread) {
        self.canAsk = canAsk
        self.mailbox = mailbox
        self.thread = thread
    }

    /// - Throws: When the process has no room for another thread, or the database cannot be read.
    static func start(_ apis: [any ProviderAPI], _ store: SQLiteStore) throws(ConfigurationError) -> ProviderSync {
        do {
            let mailbox = try Mailbox<Message>()
            let reader = try store.makeReader()
            let worker = SyncWorker(apis: apis, store: store, reader: reader, mailbox: mailbox)
            let thread = try WorkerThread.start(name: "sync") { worker.run() }
            return ProviderSync(canAsk: !apis.isEmpty, mailbox: mailbox, thread: thread)
        } catch {
            throw ConfigurationError("sync", "\(error)")
        }
    }

    /// Looks at everything the providers know of a person. `reply` is called once, on the sync thread: when all is read and
    /// stored, or when the deadline is over. False when too many wait.
    func sync(_ user: UserID, deadlineMillis: Int?, _ reply: @escaping Reply) -> Bool {
        guard mailbox.count < Self.waitingMax else { return false }
        return mailbox.post(.sync(user: user, deadlineMillis: deadlineMillis, reply: reply))
    }

    func stop() {
        mailbox.close()
        thread.join()
    }
}
