internal import CSQLite
internal import Entitlements
internal import Storage

/// Users written straight into the table that the gate reads, coded by the store's own code.
///
/// Deliveries would make the same rows in many minutes; what the gate reads does not differ.
enum Population {
    /// Like a UUID: spread over the index as random ones are. The load scripts make the same.
    static func userID(_ index: Int) -> String {
        "\(hex(index * 2_654_435_761 % 4_294_967_296, 8))-0000-4000-8000-\(hex(index, 12))"
    }

    private static func hex(_ value: Int, _ width: Int) -> String {
        let digits = String(value, radix: 16)
        return String(repeating: "0", count: width - digits.count) + digits
    }

    /// - Parameter path: A database that a gateway has made and closed.
    static func write(_ users: Int, to path: String) throws(BenchError) {
        var opened: OpaquePointer?
        guard unsafe sqlite3_open_v2(path, &opened, SQLITE_OPEN_READWRITE, nil) == SQLITE_OK,
            let database = unsafe opened
        else { throw BenchError("\(path) cannot be opened") }
        defer { unsafe sqlite3_close_v2(database) }
        func execute(_ sql: String) throws(BenchError) {
            guard unsafe sqlite3_exec(database, sql, nil, nil, nil) == SQLITE_OK else {
                throw BenchError("\(path): \(unsafe String(cString: sqlite3_errmsg(database)))")
            }
        }
        // The file is thrown away when it does not come to its end, so nothing has to be synced.
        try execute("PRAGMA synchronous = OFF; PRAGMA cache_size = -400000; BEGIN")
        var statement: OpaquePointer?
        unsafe sqlite3_prepare_v2(
            database,
            "INSERT INTO subscription (user_id, environment, version, updated_at, body, turns_at) VALUES (?, 0, ?, ?, ?, ?)",
            -1,
            &statement,
            nil
        )
        defer { unsafe sqlite3_finalize(statement) }
        for index in 0..<users {
            let subscription = subscription(index)
            let body = SubscriptionRow.encode(subscription)
            unsafe sqlite3_bind_text(statement, 1, userID(index), -1, csqlite_transient())
            unsafe sqlite3_bind_int64(statement, 2, Int64(index + 1))
            unsafe sqlite3_bind_int64(statement, 3, 1_790_000_000_000)
            unsafe sqlite3_bind_blob(statement, 4, body, Int32(body.count), csqlite_transient())
            // Worked out as the gateway would: else it would do so for every row while it is measured.
            unsafe sqlite3_bind_int64(statement, 5, subscription.entitlements.first?.end?.value ?? 0)
            let code = unsafe sqlite3_step(statement)
            unsafe sqlite3_reset(statement)
            guard code == SQLITE_DONE else { throw BenchError("\(path) took no more rows (SQLite \(code))") }
        }
        try execute(
            "INSERT OR REPLACE INTO meta (name, value) VALUES ('version', CAST('\(users + 1)' AS BLOB)); COMMIT"
        )
        try execute("PRAGMA wal_checkpoint(TRUNCATE)")
    }

    private static func subscription(_ index: Int) -> Subscription {
        let end = UnixMillis(1_893_456_000_000 + Int64(index) * 1000)
        return Subscription(entitlements: [
            Subscription.Entitlement(
                name: "pro",
                provider: ProviderID("stripe"),
                purchaseID: "sub_1Q\(hex(index, 12))AbCdEf",
                productID: "price_1QpRoMonthly000000000",
                store: "stripe",
                managementURL: nil,
                willRenew: true,
                end: end,
                periodEnd: end,
                live: .active,
                graceFrom: nil,
                ended: .expired
            )
        ])
    }
}
