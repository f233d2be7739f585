internal import Crypto
internal import Entitlements
internal import Storage

/// Takes the hashes of buyers' addresses out of the database.
struct AddressPurge {
    let database: any SQLDatabase
    let transaction: SQLTransaction

    /// Forgets all of them, because the seller keeps none any more. What somebody has claimed stays theirs: their claim is
    /// put on the purchase itself.
    func forgetAll(_ policy: EntitlementPolicy, at moment: UnixMillis) throws(StorageError) -> [ChangedRow] {
        let query = try database.prepare("SELECT DISTINCT purchase FROM dependency WHERE node >= ? AND node < ?")
        query.bind(1, AddressCustomer.nodePrefix)
        // The character after the colon.
        query.bind(2, String(AddressCustomer.nodePrefix.dropLast()) + ";")
        var keys: [PurchaseKey] = []
        while try query.step() { keys.append(query.integer(0)) }
        query.reset()
        guard !keys.isEmpty else { return [] }
        var owners: [PurchaseKey: UserID] = [:]
        for key in keys {
            owners[key] = try transaction.record(of: key)?.owner
            try forget(in: key)
        }
        try run("DELETE FROM link WHERE provider = ?")
        try run("DELETE FROM claim WHERE provider = ?")
        var ingestion = Ingestion(policy: policy, transaction: transaction)
        for key in keys {
            guard let change = try ingestion.recompute(key), change.after.owner == nil, let owner = owners[key] else {
                continue
            }
            let link = CustomerLink(user: owner, at: moment, eventID: "address:" + Hex.encode(RandomBytes.make(12)))
            try transaction.claim(
                provider: change.after.provider,
                externalID: change.after.purchaseID,
                by: link
            )
        }
        _ = try ingestion.recomputeAll(keys, moment)
        return ingestion.changedRows
    }

    /// Forgets the addresses of one purchase.
    func forget(in key: PurchaseKey) throws(StorageError) {
        try StoredFacts(database).change(of: key) { recorded in
            guard case .customer(let customer) = recorded.fact, customer.provider == AddressCustomer.provider else {
                return recorded
            }
            return nil
        }
    }

    private func run(_ sql: String) throws(StorageError) {
        let statement = try database.prepare(sql)
        statement.bind(1, AddressCustomer.provider.name)
        try statement.run()
    }
}
