internal import Entitlements
internal import Testing

@testable internal import SQLiteStorage
@testable internal import Storage

/// What comes of attempts to send messages.
struct OutboxTests {
    private static func waiting(_ sequence: Int64, _ message: String, in ledger: Ledger) throws -> OutboxMessage {
        try ledger.database.execute(
            """
            INSERT INTO outbox (seq, receiver, user_id, message_id, body, is_last, created_at, next_at)
            VALUES (\(sequence), 'r', 'u1', '\(message)', x'', 0, 1, 1)
            """
        )
        return OutboxMessage(
            sequence: sequence,
            receiver: "r",
            user: person("u1"),
            messageID: message,
            body: [],
            createdAt: UnixMillis(1),
            attempts: 0,
            deadAt: nil,
            reason: nil
        )
    }

    private static func rows(_ ledger: Ledger, where condition: String = "1") throws -> Int64 {
        let query = try ledger.database.prepare("SELECT count(*) FROM outbox WHERE \(condition)")
        defer { query.reset() }
        return try query.step() ? query.integer(0) : -1
    }

    @Test("a report of a message that is gone is no word about the one with its number", arguments: [true, false])
    func numbersAreUsedAgain(isDelivered: Bool) throws {
        let ledger = try Ledger()
        let gone = try Self.waiting(1, "msg_gone", in: ledger)
        try ledger.database.execute("DELETE FROM outbox")
        let present = try Self.waiting(1, "msg_present", in: ledger)
        let failure = OutboxReport.Failure(reason: "status 500", nextAt: day(9))
        let outbox = Outbox(database: ledger.database)
        try outbox.record(OutboxReport(gone, failure: isDelivered ? nil : failure, at: day(8)))
        #expect(try Self.rows(ledger, where: "attempts = 0 AND next_at = 1 AND dead_at IS NULL") == 1)
        try outbox.record(OutboxReport(present, failure: isDelivered ? nil : failure, at: day(8)))
        #expect(try Self.rows(ledger) == (isDelivered ? 0 : 1))
        #expect(try Self.rows(ledger, where: "attempts = 0") == 0)
    }
}
