internal import Entitlements
internal import Platform
internal import Storage

/// Works everything out again when what the seller has configured is not what the rows were made with (rule 10).
struct Reelection {
    let policy: EntitlementPolicy

    /// Where the policy that the rows were made with is kept.
    static let metaName = "policy"
    /// Not empty while some rows may still be made with an earlier one.
    static let unfinishedName = "policy_unfinished"

    func runIfNeeded(_ database: any SQLDatabase) throws(StorageError) {
        let transaction = try SQLTransaction(database)
        let text = PolicyCoding.encode(policy)
        let known = try transaction.meta(Self.metaName)
        let unfinished = try transaction.meta(Self.unfinishedName) ?? ""
        guard known != text || !unfinished.isEmpty else { return }
        let report = try Rebuild(database: database, transaction: transaction, policy: policy)
            .run(now: UnixMillis(wallClockMillis()))
        try database.beginWriting()
        try transaction.setMeta(Self.metaName, text)
        try transaction.setMeta(Self.unfinishedName, "")
        try database.commit()
        if report.purchases > 0 { Self.announce(purchases: report.purchases, changed: report.changed) }
    }

    static func announce(purchases: Int, changed: Int) {
        Log.info(
            "configuration changed, rows elected anew",
            ("purchases", .integer(Int64(purchases))),
            ("changed", .integer(Int64(changed)))
        )
    }
}
