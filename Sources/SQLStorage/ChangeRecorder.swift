internal import Crypto
internal import Entitlements
internal import Storage

/// Writes down who is to be told of a changed answer, in the transaction that changed the row.
///
/// The receivers are named in the database itself, so that every program that changes rows (the gateway, a rebuild, an
/// import) tells them. Where nobody is named and nobody listens, nothing is worked out and nothing is written.
final class ChangeRecorder {
    /// Where the ids of the receivers stand, one a line.
    static let receiversName = "receivers"

    private let insert: any SQLStatement
    private(set) var receivers: [String] = []
    /// False where rows are changed that the seller knows already.
    var tellsReceivers = true
    /// Whether somebody in this process wants to see the changes of a batch after its commit.
    var isListening = false
    /// What has changed in the open transaction, for those who listen.
    private(set) var recorded: [AnswerChange] = []

    init(_ database: any SQLDatabase) throws(StorageError) {
        insert = try database.prepare(
            """
            INSERT INTO outbox (receiver, user_id, message_id, body, is_last, created_at, next_at)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, CASE WHEN EXISTS (
                SELECT 1 FROM outbox WHERE receiver = ?1 AND user_id = ?2 AND dead_at IS NULL) THEN NULL ELSE ?6 END)
            """
        )
    }

    private var hasTold = false

    /// Whether messages were written since the last time this was asked.
    func takeTold() -> Bool {
        defer { hasTold = false }
        return hasTold
    }

    func setReceivers(_ text: String?) {
        receivers = (text ?? "").split(separator: "\n").map(String.init)
    }

    /// Gives up what was recorded after `count` changes, or all of it.
    func forget(after count: Int = 0) {
        recorded.removeSubrange(min(count, recorded.count)...)
    }

    /// Records every answer that is another now.
    func record(
        _ sequence: Int64,
        _ user: UserID,
        _ environment: StoreEnvironment,
        from before: JudgedRow,
        to after: JudgedRow,
        isLast: Bool = false
    ) throws(StorageError) {
        let tells = tellsReceivers && !receivers.isEmpty
        guard tells || isListening else { return }
        for entitlement in try AnswerChange.entitlements(from: before, to: after) {
            let change = AnswerChange(
                sequence: sequence,
                user: user,
                environment: environment,
                entitlement: entitlement,
                before: before,
                after: after,
                isLast: isLast
            )
            if isListening { recorded.append(change) }
            guard tells else { continue }
            let body = AnswerChangeCoding.encode(change)
            let message = "msg_" + Hex.encode(RandomBytes.make(12))
            for receiver in receivers {
                insert.bind(1, receiver)
                insert.bind(2, user.value)
                insert.bind(3, message)
                insert.bind(4, body)
                insert.bind(5, isLast ? 1 : 0)
                insert.bind(6, after.moment.value)
                try insert.run()
                hasTold = true
            }
        }
    }
}
