internal import Crypto
internal import Entitlements
internal import Platform
internal import Storage

/// Works everything out again when what the seller has configured is not what the rows were made with (rule 10).
struct Reelection {
    let path: String
    let policy: EntitlementPolicy

    /// Rows worked out in one transaction: short enough for a start that is watched, long enough to be quick.
    static let batchMax = 2000

    func runIfNeeded() throws(StorageError) {
        let database = try SQLiteDatabase(path: path, mode: .readWrite, busyMillis: 10_000)
        try database.execute("PRAGMA synchronous = FULL")
        let transaction = try SQLiteTransaction(database)
        let fingerprint = Self.fingerprint(of: policy)
        guard try transaction.meta("policy") != fingerprint else { return }
        let count = try Rebuild(database: database, transaction: transaction, policy: policy)
            .run(now: UnixMillis(wallClockMillis()))
        try database.execute("BEGIN IMMEDIATE")
        try transaction.setMeta("policy", fingerprint)
        try database.execute("COMMIT")
        if count.purchases > 0 {
            Log.info(
                "configuration changed, rows elected anew",
                ("purchases", .integer(Int64(count.purchases))),
                ("changed", .integer(Int64(count.changed)))
            )
        }
    }

    /// Equal for equal policies, whatever the order of their tables.
    static func fingerprint(of policy: EntitlementPolicy) -> String {
        var text = "1|\(policy.defaultEntitlement)|\(policy.pastDueDays)|\(policy.sandboxUsers.sorted())"
        text += "|\(policy.firstProviders.map(\.name))|\(policy.lastProviders.map(\.name))"
        for (provider, map) in policy.products.sorted(by: { $0.key < $1.key }) {
            for (product, grant) in map.sorted(by: { $0.key < $1.key }) {
                text += "|\(provider.name)\u{0}\(product)\u{0}\(grant.entitlements)\u{0}\(grant.days ?? -1)"
            }
        }
        return Digest.sha256Hex(Array(text.utf8))
    }
}
