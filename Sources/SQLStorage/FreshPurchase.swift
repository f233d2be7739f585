internal import Entitlements
internal import Storage

/// A purchase that the open event has made: all that is known of it was written a moment ago, so what is asked of it is
/// answered from here and costs no statement. Most events are the first of their purchase.
///
/// Forgotten at the end of the event, and as soon as anything happens to it that is not written here.
struct FreshPurchase {
    var record: PurchaseRecord
    var ids: [PurchaseReference.Identifier] = []
    var mention: (key: MentionKey, body: [UInt8])?
    var facts: [RecordedFact] = []
    /// Whether what its owner follows from was written.
    var hasDependencies = false
    /// Whether it stands in its table: it is written when what it comes to is known, in one piece.
    var isWritten = false

    init(_ key: PurchaseKey, _ environment: StoreEnvironment, _ provider: ProviderID) {
        record = PurchaseRecord(
            key: key,
            environment: environment,
            provider: provider,
            purchaseID: "",
            owner: nil,
            outcome: nil
        )
    }

    mutating func bind(_ id: PurchaseReference.Identifier) {
        if let place = ids.firstIndex(where: { $0.id == id.id }) { ids[place] = id } else { ids.append(id) }
    }
}

/// Tables that are empty in most databases and need not be asked then. One that holds something may be empty again.
struct UsedTables {
    var claim = true
    var transfer = true
    var person = true
    var contested = true
}
