internal import Entitlements
internal import Storage

extension SQLTransaction {
    func mention(of key: PurchaseKey, by ids: [PurchaseReference.Identifier]) throws(StorageError) -> MentionKey {
        let body = MentionCoding.encode(ids)
        let isFirst = fresh?.record.key == key && fresh?.mention == nil
        if let fresh, fresh.record.key == key, let known = fresh.mention, known.body == body { return known.key }
        if !isFirst {
            sql.mentionByBody.bind(1, key)
            sql.mentionByBody.bind(2, body)
            defer { sql.mentionByBody.reset() }
            if try sql.mentionByBody.step() { return sql.mentionByBody.integer(0) }
        }
        sql.insertMention.bind(1, key)
        sql.insertMention.bind(2, body)
        guard let mention = try sql.insertMention.insert() else { throw .unavailable("a new mention got no number") }
        if isFirst { setFreshMention(mention, body) }
        return mention
    }

    func mentions(of key: PurchaseKey) throws(StorageError) -> [MentionRecord] {
        sql.mentions.bind(1, key)
        defer { sql.mentions.reset() }
        var found: [MentionRecord] = []
        while try sql.mentions.step() {
            let ids = try MentionCoding.decode(sql.mentions.blob(1))
            found.append(MentionRecord(key: sql.mentions.integer(0), purchase: key, ids: ids))
        }
        return found
    }

    func purchase(of mention: MentionKey) throws(StorageError) -> PurchaseKey? {
        if let fresh, fresh.mention?.key == mention { return fresh.record.key }
        sql.purchaseOfMention.bind(1, mention)
        defer { sql.purchaseOfMention.reset() }
        return try sql.purchaseOfMention.step() ? sql.purchaseOfMention.integer(0) : nil
    }

    func move(_ mention: MentionRecord, to key: PurchaseKey) throws(StorageError) {
        try leaveFresh()
        sql.moveMention.bind(1, key)
        sql.moveMention.bind(2, mention.key)
        try sql.moveMention.run()
        sql.moveFactsOfMention.bind(1, key)
        sql.moveFactsOfMention.bind(2, mention.purchase)
        sql.moveFactsOfMention.bind(3, mention.key)
        try sql.moveFactsOfMention.run()
    }

    func contested(with key: PurchaseKey) throws(StorageError) -> [PurchaseKey] {
        guard used.contested else { return [] }
        sql.contested.bind(1, key)
        defer { sql.contested.reset() }
        var found: [PurchaseKey] = []
        while try sql.contested.step() { found.append(sql.contested.integer(0)) }
        return found
    }

    func setContested(_ keys: [PurchaseKey]) throws(StorageError) {
        try leaveFresh()
        guard used.contested || keys.count > 1 else { return }
        used.contested = true
        guard keys.count > 1, let cluster = keys.min() else {
            for key in keys {
                sql.forgetContested.bind(1, key)
                try sql.forgetContested.run()
            }
            return
        }
        for key in keys {
            sql.setContested.bind(1, key)
            sql.setContested.bind(2, cluster)
            try sql.setContested.run()
        }
    }
}
