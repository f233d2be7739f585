import Entitlements
import Licensing
import Testing

@Suite("Seats") struct SeatRuleTests {
    private static let day = UnixMillis.millisPerDay
    /// 2026-11-30T12:00:00Z.
    private static let now = UnixMillis(1_796_040_000_000)

    /// A device and the days since it was seen.
    private static func seats(_ unseen: [(String, Int64)]) -> [Seat] {
        unseen.map { name, days in
            Seat(
                deviceID: name,
                deviceName: nil,
                activatedAt: now.adding(millis: -400 * day),
                lastSeenAt: now.adding(millis: -days * day)
            )
        }
    }

    @Test(
        "who gets a seat",
        arguments: [
            ("a", [], 1, 90, .newSeat(releasing: [])),
            ("a", [("a", 0)], 1, 90, .sameSeat),
            // The same device is the same seat at the limit, above it, and after years.
            ("a", [("a", 0), ("b", 0)], 1, 90, .sameSeat),
            ("a", [("a", 900), ("b", 0)], 2, 90, .sameSeat),
            ("b", [("a", 0)], 1, 90, .full),
            ("b", [("a", 0)], 2, 90, .newSeat(releasing: [])),
            // Exactly at the time a seat is still kept.
            ("b", [("a", 90)], 1, 90, .full),
            ("b", [("a", 91)], 1, 90, .newSeat(releasing: ["a"])),
            // Only as many as are needed, longest unseen first.
            ("d", [("a", 91), ("b", 200), ("c", 0)], 3, 90, .newSeat(releasing: ["b"])),
            ("d", [("a", 91), ("b", 200), ("c", 0)], 2, 90, .newSeat(releasing: ["b", "a"])),
            ("d", [("a", 91), ("b", 200), ("c", 0)], 1, 90, .full),
            // With room nobody loses a seat.
            ("d", [("a", 500)], 2, 90, .newSeat(releasing: [])),
            ("b", [("a", 5000)], 1, nil, .full),
        ] as [(String, [(String, Int64)], Int, Int64?, SeatRule.Decision)]
    )
    func whoGetsASeat(
        device: String,
        seats: [(String, Int64)],
        limit: Int,
        days: Int64?,
        expected: SeatRule.Decision
    ) {
        let decision = SeatRule.decide(
            device,
            among: Self.seats(seats),
            limit: limit,
            releaseAfterMillis: days.map { $0 * Self.day },
            now: Self.now
        )
        #expect(decision == expected)
    }

    @Test(
        "how many seats a month may be given back",
        arguments: [
            ([], 1, nil),
            (["2026-11-01T00:00:00Z"], 1, "2026-12-01T00:00:00Z"),
            (["2026-10-31T23:59:59Z"], 1, nil),
            (["2026-11-02T00:00:00Z", "2026-11-03T00:00:00Z"], 3, nil),
            ([], 0, "2026-12-01T00:00:00Z"),
        ] as [([String], Int, String?)]
    )
    func givenBack(freed: [String], limit: Int, until: String?) {
        let refused = SeatRule.refusedUntil(
            freedAt: freed.map { UnixMillis(rfc3339: $0)! },
            perMonth: limit,
            now: Self.now
        )
        #expect(refused == until.map { UnixMillis(rfc3339: $0)! })
    }

    @Test func theYearEndsWithItsMonth() {
        let (start, next) = SeatRule.month(of: UnixMillis(rfc3339: "2026-12-31T23:59:59.999Z")!)
        #expect(start == UnixMillis(rfc3339: "2026-12-01T00:00:00Z")!)
        #expect(next == UnixMillis(rfc3339: "2027-01-01T00:00:00Z")!)
    }
}
