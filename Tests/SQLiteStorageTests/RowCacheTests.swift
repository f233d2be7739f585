internal import Crypto
internal import Entitlements
internal import Foundation
internal import Storage
internal import TestSupport
internal import Testing

@testable internal import SQLStorage
@testable internal import SQLiteStorage

/// Rows in memory: what is kept, what is found, and what counts no more.
struct RowCacheTests {
    private let stamps = RowStamps()
    private let cache: RowCache
    private let packed: PackedRow

    init() throws {
        cache = try #require(RowCache(bytes: 1 << 16))
        packed = PackedRow(cache.templates)
    }

    private func hash(_ user: String, _ environment: StoreEnvironment = .production) -> KeyedHash.Value {
        stamps.hash(UserID(unchecked: user), environment)
    }

    private func keep(
        _ user: String,
        _ body: [UInt8],
        _ environment: StoreEnvironment = .production,
        version: Int64 = 1,
        updatedAt: Int64 = 7,
        asOf commit: Int = 0
    ) {
        let row = RowView(version: version, updatedAt: UnixMillis(updatedAt), body: body.span)
        cache.keep(hash(user, environment), row, asOf: commit, stamps, packed)
    }

    private struct Kept: Equatable {
        var version: Int64
        var updatedAt: Int64
        var body: [UInt8]
    }

    private func row(_ user: String, _ environment: StoreEnvironment = .production) -> Kept? {
        guard cache.find(hash(user, environment), packed) else { return nil }
        var kept: Kept?
        packed.withRow { row in
            switch row {
            case .some(let row):
                var copy: [UInt8] = []
                for index in 0..<row.body.count { copy.append(row.body[index]) }
                kept = Kept(version: row.version, updatedAt: row.updatedAt.value, body: copy)
            case .none: break
            }
        }
        return kept
    }

    private func find(_ user: String, _ environment: StoreEnvironment = .production) -> [UInt8]? {
        row(user, environment)?.body
    }

    /// What the writer does after a commit.
    private func write(_ user: String, _ environment: StoreEnvironment = .production, commit: Int) {
        stamps.mark(hash(user, environment), commit: commit)
        cache.forget(hash(user, environment))
    }

    private func subscription(
        _ id: String,
        end: Int64?,
        periodEnd: Int64? = nil,
        grace: Int64? = nil,
        url: String? = nil
    )
        -> Subscription.Entitlement
    {
        Subscription.Entitlement(
            name: "pro",
            provider: ProviderID("stripe"),
            purchaseID: id,
            productID: "price_1",
            store: "stripe",
            managementURL: url,
            willRenew: true,
            end: end.map { UnixMillis($0) },
            periodEnd: (periodEnd ?? end).map { UnixMillis($0) },
            live: .active,
            graceFrom: grace.map { UnixMillis($0) },
            ended: .expired
        )
    }

    @Test("what is kept is found, by user and environment")
    func found() {
        keep("u1", [1, 2, 3])
        keep("u1", [4], .sandbox)
        #expect(find("u1") == [1, 2, 3])
        #expect(find("u1", .sandbox) == [4])
        #expect(find("u2") == nil)
    }

    @Test("every kind of row comes back as it was, and a usual one takes 48 bytes")
    func kinds() {
        let end: Int64 = 1_893_456_000_123
        var second = subscription("sub_1QAbCdEf0123456789-_", end: end)
        second.name = "team"
        var other = subscription("sub_other", end: end)
        other.name = "team"
        let usual = subscription("sub_1QAbCdEf0123456789-_", end: end)
        let bodies: [Subscription] = [
            Subscription(entitlements: [usual]),
            Subscription(entitlements: [usual, second]),
            Subscription(entitlements: [usual, other]),
            Subscription(entitlements: [subscription("1000000123456789", end: nil)]),
            Subscription(entitlements: [subscription("GPA.3345-1111-2222-33333..0", end: end)]),
            Subscription(entitlements: [subscription("in_9", end: end, periodEnd: end - 5, grace: end - 7)]),
            Subscription(entitlements: [subscription("in_9", end: end, grace: -4)]),
            Subscription(entitlements: [subscription("", end: -1)]),
            Subscription(entitlements: [subscription(String(repeating: "x", count: 61), end: end)]),
            Subscription(entitlements: [subscription("sub_ä", end: end, url: "https://example.com/a")]),
            Subscription(),
        ]
        for (index, subscription) in bodies.enumerated() {
            let body = SubscriptionRow.encode(subscription)
            keep("u\(index)", body, version: Int64(index) + 1, updatedAt: end + 99)
            let expected = Kept(version: Int64(index) + 1, updatedAt: end + 99, body: body)
            #expect(row("u\(index)") == expected, "row \(index)")
        }
        let body = SubscriptionRow.encode(bodies[0])
        let view = RowView(version: 1, updatedAt: UnixMillis(end), body: body.span)
        #expect(packed.pack(hash("u"), view) == 6)
        keep("large", body, version: 1 << 41, updatedAt: 1 << 45)
        #expect(row("large") == Kept(version: 1 << 41, updatedAt: 1 << 45, body: body))
    }

    @Test("rows of any bytes come back as they were")
    func anyBytes() {
        var random = SystemRandomNumberGenerator()
        let usual = SubscriptionRow.encode(Subscription(entitlements: [subscription("sub_12345", end: 1)]))
        for index in 0..<300 {
            var body = usual
            // One byte of it is another one: most such bodies are none, and all must come back.
            body[index % body.count] = UInt8.random(in: 0...255, using: &random)
            keep("u\(index)", body)
            #expect(find("u\(index)") == body)
        }
    }

    @Test("a row that a later commit has written does not count")
    func written() {
        keep("u1", [1], asOf: 4)
        write("u1", commit: 5)
        #expect(find("u1") == nil)
        // Read in a snapshot from before that commit: the same.
        keep("u1", [1], asOf: 4)
        #expect(find("u1") == nil)
        keep("u1", [3], asOf: 5)
        #expect(find("u1") == [3])
        stamps.markAll(commit: 6)
        cache.forgetAll()
        #expect(find("u1") == nil)
        keep("u1", [3], asOf: 5)
        #expect(find("u1") == nil)
        keep("u1", [4], asOf: 6)
        #expect(find("u1") == [4])
    }

    @Test("what is too long is not kept, and nothing else is lost for it")
    func long() {
        keep("u1", [1])
        keep("u2", [UInt8](repeating: 7, count: 2000))
        keep(String(repeating: "x", count: 255), [1])
        #expect(find("u1") == [1])
        #expect(find("u2") == nil)
        #expect(find(String(repeating: "x", count: 255)) == [1])
    }

    @Test("it never grows: of many rows nearly as many are found as have room, each whole")
    func full() {
        let end: Int64 = 1_893_456_000_000
        func body(_ index: Int) -> [UInt8] {
            SubscriptionRow.encode(
                Subscription(entitlements: [subscription("sub_1Q\(100_000_000_000 + index)AbCdEf", end: end)])
            )
        }
        for index in 0..<5000 { keep("user-\(index)", body(index)) }
        var kept = 0
        for index in 0..<5000 {
            guard let found = find("user-\(index)") else { continue }
            #expect(found == body(index))
            kept += 1
        }
        // 128 buckets of ten rows.
        #expect(kept > 1200 && kept <= 1280, "\(kept) rows are kept")
    }

    @Test("so many templates of management addresses leave room for others")
    func templates() {
        for index in 0..<5000 {
            let url = "https://billing.example.com/p/session/\(index)"
            let body = SubscriptionRow.encode(
                Subscription(entitlements: [subscription("sub_\(index)", end: 5, url: url)])
            )
            keep("user-\(index)", body)
            #expect(find("user-\(index)") == body)
        }
        let body = SubscriptionRow.encode(
            Subscription(entitlements: [subscription("sub_1QAbCdEf0123456789-_", end: 5)])
        )
        let view = RowView(version: 1, updatedAt: UnixMillis(5), body: body.span)
        #expect(packed.pack(hash("u"), view) == 6)
    }

    @Test("a row that is asked for outlives those that are not")
    func favourites() {
        keep("favourite", [1])
        var found = 0
        for index in 0..<4000 {
            keep("user-\(index)", [2, 3, 4, 5, 6, 7, 8, 9])
            if find("favourite") != nil { found += 1 } else { keep("favourite", [1]) }
        }
        #expect(found > 3900, "found \(found) times of 4000")
    }

    /// Readers keep and find while a writer counts a row up: nobody may find a number that is older than the last one told.
    @Test("beside writers no row is found that was written since", .timeLimit(.minutes(1)))
    func threads() async throws {
        let users = (0..<40).map { "user-\($0)" }
        let world = World(users.count)
        let (cache, stamps) = (cache, stamps)
        let hashes = users.map { hash($0) }
        try await withThrowingTaskGroup(of: Int.self) { group in
            for reader in 0..<3 {
                group.addTask {
                    let packed = PackedRow(cache.templates)
                    var random = SystemRandomNumberGenerator()
                    var stale = 0
                    for _ in 0..<60_000 {
                        let user = Int.random(in: 0..<hashes.count, using: &random)
                        let told = world.told(user)
                        if cache.find(hashes[user], packed) {
                            packed.withRow { row in
                                switch row {
                                case .some(let row): if row.version < told { stale += 1 }
                                case .none: stale += 1
                                }
                            }
                            continue
                        }
                        let known = world.commits
                        let body = [UInt8](repeating: UInt8(reader), count: 20 + user)
                        let view = RowView(version: world.stored(user), updatedAt: UnixMillis(1), body: body.span)
                        cache.keep(hashes[user], view, asOf: known, stamps, packed)
                    }
                    return stale
                }
            }
            group.addTask {
                var random = SystemRandomNumberGenerator()
                for commit in 1...20_000 {
                    let user = Int.random(in: 0..<hashes.count, using: &random)
                    world.store(user, Int64(commit))
                    if commit % 500 == 0 {
                        stamps.markAll(commit: commit)
                        cache.forgetAll()
                    } else {
                        stamps.mark(hashes[user], commit: commit)
                        cache.forget(hashes[user])
                    }
                    world.commit(commit)
                    world.tell(user, Int64(commit))
                }
                return 0
            }
            for try await stale in group { #expect(stale == 0) }
        }
    }
}

/// A database of numbers, and what was told of them.
private final class World: Sendable {
    private let rows: Locked<(stored: [Int64], told: [Int64], commits: Int)>

    init(_ count: Int) {
        let zeros = [Int64](repeating: 0, count: count)
        rows = Locked((zeros, zeros, 0))
    }

    var commits: Int { rows.with { $0.commits } }
    func stored(_ user: Int) -> Int64 { rows.with { $0.stored[user] } }
    func told(_ user: Int) -> Int64 { rows.with { $0.told[user] } }
    func store(_ user: Int, _ value: Int64) { rows.with { $0.stored[user] = value } }
    func commit(_ number: Int) { rows.with { $0.commits = number } }
    func tell(_ user: Int, _ value: Int64) { rows.with { $0.told[user] = value } }
}
