internal import Entitlements
package import Storage

/// Purchases whose user is not known yet, for whoever finds out whose they are.
extension SQLReading {
    /// A page of them, newest first, each with the ids by which it can be claimed.
    package func parked(limit: Int, before: Int64?) throws(StorageError) -> [ParkedPurchase] {
        letGo()
        let query = try database.prepare(
            """
            SELECT id, environment, provider, purchase_id, owner, outcome FROM purchase \(indexed(by: "purchase_parked"))
            WHERE owner IS NULL AND id < ?1 AND NOT EXISTS (
                SELECT 1 FROM dependency WHERE dependency.purchase = purchase.id
                    AND node >= ?3 AND node < ?4)
            ORDER BY id DESC LIMIT ?2
            """
        )
        let names = try database.prepare(
            "SELECT namespace, value FROM external_id WHERE purchase = ? ORDER BY rank, value"
        )
        let customers = try database.prepare("SELECT node FROM dependency WHERE purchase = ? ORDER BY node")
        query.bind(1, before ?? .max)
        query.bind(2, Int64(limit))
        query.bind(3, ErasedNodes.first)
        query.bind(4, ErasedNodes.end)
        var found: [ParkedPurchase] = []
        while try query.step() {
            let record = try SQLTransaction.record(query)
            var purchase = ParkedPurchase(
                sequence: record.key,
                purchaseID: record.purchaseID,
                provider: record.provider,
                environment: record.environment,
                outcome: record.outcome,
                ids: [],
                customers: []
            )
            names.bind(1, record.key)
            while try names.step() {
                purchase.ids.append(ExternalID(namespace: names.text(0), value: names.text(1)))
            }
            names.reset()
            customers.bind(1, record.key)
            while try customers.step() {
                if let customer = Ownership.Dependency.customer(ofNode: customers.text(0)) {
                    purchase.customers.append(customer)
                }
            }
            customers.reset()
            found.append(purchase)
        }
        return found
    }
}
