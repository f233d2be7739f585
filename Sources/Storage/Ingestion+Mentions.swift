package import Entitlements

extension Ingestion {
    /// Keeps what an event calls a purchase, and finds the purchase it speaks of: one that is known by one of the ids, a
    /// new one, or, where the ids lead to several, what the set of all that was said comes to.
    func mention(
        _ reference: PurchaseReference,
        provider: ProviderID,
        _ reach: inout Reach
    ) throws(StorageError) -> MentionRecord {
        var known: [PurchaseKey] = []
        var isContested = false
        for identifier in reference.ids {
            guard let key = try transaction.purchase(known: identifier.id, in: reference.environment) else { continue }
            guard !known.contains(key) else { continue }
            let others = try transaction.contested(with: key)
            isContested = isContested || !others.isEmpty
            known.append(key)
            known += others.filter { !known.contains($0) }
        }
        known.sort()
        var ids = reference.ids
        for key in known { ids += try transaction.identifiers(of: key) }
        let key = try orNew(known.first, reference.environment, provider)
        if !isContested, PurchasePartition.isPlain(ids) {
            for other in known.dropFirst() { try absorb(other, into: key, &reach) }
            for identifier in try best(reference.ids, in: key) {
                try transaction.bind(identifier, in: reference.environment, to: key)
            }
            let mention = try transaction.mention(of: key, by: reference.ids)
            return MentionRecord(key: mention, purchase: key, ids: reference.ids)
        }
        let mention = try transaction.mention(of: key, by: reference.ids)
        try divide(known, in: reference.environment, provider: provider, &reach)
        let purchase = try transaction.purchase(of: mention) ?? key
        return MentionRecord(key: mention, purchase: purchase, ids: reference.ids)
    }

    /// Whether what is stored of these purchases, which share ids, is what all that was said of them comes to.
    package func isDividedRightly(_ keys: [PurchaseKey]) throws(StorageError) -> Bool {
        var mentions: [MentionRecord] = []
        var stored: [ExternalID: (key: PurchaseKey, rank: ExternalIDRank)] = [:]
        for key in keys {
            mentions += try transaction.mentions(of: key)
            for identifier in try transaction.identifiers(of: key) { stored[identifier.id] = (key, identifier.rank) }
        }
        var taken: Set<PurchaseKey> = []
        for part in PurchasePartition.parts(of: mentions.map(\.ids)) {
            var homes = Set(part.mentions.map { mentions[$0].purchase })
            for identifier in part.ids {
                guard let known = stored.removeValue(forKey: identifier.id), known.rank == identifier.rank else {
                    return false
                }
                homes.insert(known.key)
            }
            guard homes.count == 1, let home = homes.first, taken.insert(home).inserted else { return false }
        }
        return stored.isEmpty && taken.count == keys.count
    }

    /// Divides purchases that share ids as all that was said of them asks, and works them and their rows out.
    package mutating func divideAnew(
        _ keys: [PurchaseKey],
        in environment: StoreEnvironment,
        _ now: UnixMillis
    ) throws(StorageError) {
        var reach = Reach()
        var provider: ProviderID?
        for key in keys {
            guard let record = try transaction.record(of: key) else { continue }
            provider = provider ?? record.provider
            if let owner = record.owner { reach.joined.insert(owner) }
        }
        guard let provider else { return }
        try divide(keys, in: environment, provider: provider, &reach)
        _ = try recomputeAll(reach.dependents.sorted(), now)
        _ = try elect(reach.joined, in: Set(StoreEnvironment.allCases), now)
    }

    private func orNew(
        _ key: PurchaseKey?,
        _ environment: StoreEnvironment,
        _ provider: ProviderID
    ) throws(StorageError) -> PurchaseKey {
        if let key { return key }
        return try transaction.createPurchase(in: environment, provider: provider)
    }

    private func absorb(_ other: PurchaseKey, into key: PurchaseKey, _ reach: inout Reach) throws(StorageError) {
        if let record = try transaction.record(of: other) {
            if let owner = record.owner { reach.joined.insert(owner) }
            reach.merged = reach.merged || record.outcome != nil
        }
        try transaction.merge(other, into: key)
        reach.dependents.remove(other)
    }

    /// The ids that the purchase does not have yet, or not with so good a rank.
    private func best(
        _ ids: [PurchaseReference.Identifier],
        in key: PurchaseKey
    ) throws(StorageError) -> [PurchaseReference.Identifier] {
        var ranks: [ExternalID: ExternalIDRank] = [:]
        for known in try transaction.identifiers(of: key) { ranks[known.id] = known.rank }
        // One id may stand there twice, as a name and as a reference.
        return ids.filter { identifier in
            guard ranks[identifier.id].map({ identifier.rank < $0 }) ?? true else { return false }
            ranks[identifier.id] = identifier.rank
            return true
        }
    }

    /// Works out anew which of these mentions are one purchase, and moves what is not where it belongs.
    private func divide(
        _ keys: [PurchaseKey],
        in environment: StoreEnvironment,
        provider: ProviderID,
        _ reach: inout Reach
    ) throws(StorageError) {
        var mentions: [MentionRecord] = []
        var homes: [ExternalID: PurchaseKey] = [:]
        for key in keys {
            mentions += try transaction.mentions(of: key)
            for identifier in try transaction.identifiers(of: key) { homes[identifier.id] = key }
        }
        let parts = PurchasePartition.parts(of: mentions.map(\.ids))
        var free = keys
        var chosen: [PurchaseKey] = []
        for part in parts {
            // The purchase that had the part's best id goes on under its key.
            // With every id lost, the one that held its mentions.
            let held = part.mentions.lazy.map { mentions[$0].purchase }
            let before =
                part.ids.lazy.compactMap { homes[$0.id] }.first { free.contains($0) }
                ?? held.first { free.contains($0) } ?? free.first
            free.removeAll { $0 == before }
            let key = try orNew(before, environment, provider)
            chosen.append(key)
        }
        var heirs: [PurchaseKey: PurchaseKey] = [:]
        for (part, key) in zip(parts, chosen) {
            for place in part.mentions where mentions[place].purchase != key {
                let former = mentions[place].purchase
                heirs[former] = heirs[former] ?? key
                try transaction.move(mentions[place], to: key)
            }
            for identifier in part.ids { try transaction.bind(identifier, in: environment, to: key) }
        }
        for key in free {
            if let owner = try transaction.record(of: key)?.owner { reach.joined.insert(owner) }
            reach.merged = true
            try transaction.delete(key, heir: heirs[key])
            reach.dependents.remove(key)
        }
        try transaction.setContested(chosen)
        reach.dependents.formUnion(chosen)
    }
}
