internal import Entitlements
internal import Testing

@testable internal import SQLStorage
@testable internal import SQLiteStorage
@testable internal import Storage

/// What is a change of an answer, and when the clock makes one.
struct AnswerChangeTests {
    private static func row(_ entries: Subscription.Entitlement..., at moment: Int64 = 0, version: Int64 = 1)
        -> JudgedRow
    {
        JudgedRow(
            version: version,
            updatedAt: UnixMillis(0),
            body: SubscriptionRow.encode(Subscription(entitlements: entries)),
            moment: UnixMillis(moment)
        )
    }

    private static func entry(_ name: String = "pro", end: Int64?, grace: Int64? = nil) -> Subscription.Entitlement {
        Subscription.Entitlement(
            name: name,
            provider: ProviderID("creem"),
            purchaseID: "sub_1",
            productID: nil,
            store: nil,
            managementURL: nil,
            willRenew: true,
            end: end.map(UnixMillis.init),
            periodEnd: nil,
            live: .active,
            graceFrom: grace.map(UnixMillis.init),
            ended: .expired
        )
    }

    @Test func theVersionAloneIsNoChange() throws {
        let (old, new) = (Self.row(Self.entry(end: 10)), Self.row(Self.entry(end: 10), version: 2))
        #expect(try AnswerChange.entitlements(from: old, to: new).isEmpty)
    }

    @Test func onlyTheEntitlementThatAnswersDifferentlyIsTold() throws {
        let old = Self.row(Self.entry("a", end: 10), Self.entry("b", end: nil))
        let new = Self.row(Self.entry("a", end: 11), Self.entry("b", end: nil), Self.entry("c", end: 5))
        #expect(try AnswerChange.entitlements(from: old, to: new) == ["a", "c"])
        #expect(try AnswerChange.entitlements(from: new, to: .nothing(at: UnixMillis(0))) == ["a", "b", "c"])
    }

    @Test func theClockChangesAnAnswerAtItsEndAndWhenGraceBegins() throws {
        let body = Self.row(Self.entry("a", end: 10, grace: 5), Self.entry("b", end: 7), Self.entry("c", end: nil)).body
        var turns: [Int64] = []
        var moment = UnixMillis(0)
        while let turn = RowClock.nextTurn(of: body, after: moment) {
            turns.append(turn.value)
            moment = turn
        }
        #expect(turns == [5, 7, 10])
        let (before, after) = (
            JudgedRow(version: 1, updatedAt: nil, body: body, moment: UnixMillis(6)),
            JudgedRow(version: 1, updatedAt: nil, body: body, moment: UnixMillis(7))
        )
        #expect(try AnswerChange.entitlements(from: before, to: after) == ["b"])
    }

    @Test func aGraceThatWouldBeginAfterTheEndIsNoTurn() {
        let body = Self.row(Self.entry(end: 10, grace: 20)).body
        #expect(RowClock.nextTurn(of: body, after: UnixMillis(10)) == nil)
    }

    @Test func asBytesAndBack() throws {
        let change = AnswerChange(
            sequence: 7,
            user: UserID(unchecked: "u1"),
            environment: .sandbox,
            entitlement: "pro",
            before: .nothing(at: UnixMillis(3)),
            after: Self.row(Self.entry(end: 10), at: 4, version: 7)
        )
        let bytes = AnswerChangeCoding.encode(change)
        #expect(try AnswerChangeCoding.decode(bytes, user: change.user) == change)
        for count in 0..<bytes.count {
            #expect(throws: StorageError.self) {
                try AnswerChangeCoding.decode(Array(bytes[..<count]), user: change.user)
            }
        }
    }

    /// A clock that was set back, or a long stop: every turn is recorded once, and what was told is never judged earlier.
    @Test func everyTurnIsRecordedOnce() throws {
        let ledger = try Ledger()
        ledger.transaction.changes.setReceivers("r")
        typealias Say = Happening
        try ledger.take([Say.state("stripe", "e1", of: "sub_1", at: 0, period: 0, end: 30, user: "u1")])
        let first = try #require(try ledger.transaction.firstTurn())
        func turn(_ moment: UnixMillis) throws {
            try ledger.database.beginWriting()
            while try ledger.transaction.turnRows(upTo: moment, limit: 10) > 0 {}
            try ledger.transaction.saveCounters()
            try ledger.database.commit()
        }
        func count() throws -> Int64 {
            let query = try ledger.database.prepare("SELECT count(*) FROM outbox")
            return try query.step() ? query.integer(0) : -1
        }
        #expect(try count() == 1)
        try turn(UnixMillis(first.value - 1))
        #expect(try count() == 1)
        try turn(first)
        #expect(try count() == 2)
        try turn(first.adding(days: 400))
        #expect(try count() == 2)
        #expect(try ledger.transaction.firstTurn() == nil)
        // An event that arrives by a clock that runs behind: the answer before is the one that was told.
        try ledger.take([Say.state("stripe", "e2", of: "sub_1", at: 30, period: 30, end: 60, user: "u1")])
        let row = try #require(try ledger.transaction.row(of: UserID(unchecked: "u1"), in: .production))
        #expect(row.judgedAt >= first)
        #expect(try count() == 3)
    }
}
