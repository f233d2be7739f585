internal import Storage

/// Every statement of the writer, prepared once.
struct WriterSQL {
    let insertEvent: any SQLStatement
    let concludeEvent: any SQLStatement
    let describeEvent: any SQLStatement
    let purchaseByID: any SQLStatement
    let nextPurchase: any SQLStatement
    let insertPurchase: any SQLStatement
    let bindID: any SQLStatement
    let identifiers: any SQLStatement
    let moveIDs: any SQLStatement
    let moveFacts: any SQLStatement
    let moveMentions: any SQLStatement
    let moveLicenses: any SQLStatement
    let insertMention: any SQLStatement
    let mentionByBody: any SQLStatement
    let mentions: any SQLStatement
    let purchaseOfMention: any SQLStatement
    let moveMention: any SQLStatement
    let moveFactsOfMention: any SQLStatement
    let contested: any SQLStatement
    let setContested: any SQLStatement
    let forgetContested: any SQLStatement
    let deletePurchase: any SQLStatement
    let deleteDependencies: any SQLStatement
    let purchase: any SQLStatement
    let updatePurchase: any SQLStatement
    let purchasesByOwner: any SQLStatement
    let purchasesCarrying: any SQLStatement
    let insertFact: any SQLStatement
    let facts: any SQLStatement
    let purchasesOfEvent: any SQLStatement
    let deleteFacts: any SQLStatement
    let insertLink: any SQLStatement
    let links: any SQLStatement
    let upsertClaim: any SQLStatement
    let newestClaim: any SQLStatement
    let insertTransfer: any SQLStatement
    let transfers: any SQLStatement
    let dependents: any SQLStatement
    let dependencies: any SQLStatement
    let insertDependency: any SQLStatement
    let deleteDependency: any SQLStatement
    let personMembers: any SQLStatement
    let setPerson: any SQLStatement
    let row: any SQLStatement
    let setRow: any SQLStatement
    let forgetErased: any SQLStatement
    let setLastArrival: any SQLStatement
    let countRows: any SQLStatement
    let getMeta: any SQLStatement
    let setMeta: any SQLStatement

    init(_ database: any SQLDatabase) throws(StorageError) {
        insertEvent = try database.prepare(
            inserting: """
                INSERT INTO event (provider, event_id, type, environment, occurred_at, received_at, outcome, user_id, reason)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (provider, event_id) DO NOTHING
                """,
            key: "seq"
        )
        concludeEvent = try database.prepare(
            "UPDATE event SET outcome = ?, user_id = ?, reason = ?, payload = ? WHERE seq = ?"
        )
        describeEvent = try database.prepare(
            "UPDATE event SET type = ?, environment = ?, occurred_at = ? WHERE seq = ?"
        )
        purchaseByID = try database.prepare(
            "SELECT purchase FROM external_id WHERE environment = ? AND namespace = ? AND value = ?"
        )
        nextPurchase = try database.prepare(database.dialect.nextNumber(of: "purchase", "id"))
        insertPurchase = try database.prepare(
            "INSERT INTO purchase (id, environment, provider, purchase_id, owner, outcome) VALUES (?, ?, ?, ?, ?, ?)"
        )
        bindID = try database.prepare(
            """
            INSERT INTO external_id (environment, namespace, value, purchase, rank) VALUES (?, ?, ?, ?, ?)
            ON CONFLICT (value, namespace, environment) DO UPDATE SET purchase = excluded.purchase, rank = excluded.rank
            """
        )
        identifiers = try database.prepare("SELECT namespace, value, rank FROM external_id WHERE purchase = ?")
        moveIDs = try database.prepare("UPDATE external_id SET purchase = ? WHERE purchase = ?")
        moveFacts = try database.prepare("UPDATE fact SET purchase = ? WHERE purchase = ?")
        moveMentions = try database.prepare("UPDATE mention SET purchase = ? WHERE purchase = ?")
        moveLicenses = try database.prepare("UPDATE license SET purchase = ? WHERE purchase = ?")
        insertMention = try database.prepare(
            inserting: "INSERT INTO mention (purchase, body) VALUES (?, ?)",
            key: "id"
        )
        mentionByBody = try database.prepare("SELECT id FROM mention WHERE purchase = ? AND body = ?")
        mentions = try database.prepare("SELECT id, body FROM mention WHERE purchase = ? ORDER BY id")
        purchaseOfMention = try database.prepare("SELECT purchase FROM mention WHERE id = ?")
        moveMention = try database.prepare("UPDATE mention SET purchase = ? WHERE id = ?")
        moveFactsOfMention = try database.prepare("UPDATE fact SET purchase = ? WHERE purchase = ? AND mention = ?")
        contested = try database.prepare(
            """
            SELECT purchase FROM contested
            WHERE cluster = (SELECT cluster FROM contested WHERE purchase = ?) ORDER BY purchase
            """
        )
        setContested = try database.prepare(
            """
            INSERT INTO contested (purchase, cluster) VALUES (?, ?)
            ON CONFLICT (purchase) DO UPDATE SET cluster = excluded.cluster
            """
        )
        forgetContested = try database.prepare("DELETE FROM contested WHERE purchase = ?")
        deletePurchase = try database.prepare("DELETE FROM purchase WHERE id = ?")
        deleteDependencies = try database.prepare("DELETE FROM dependency WHERE purchase = ?")
        purchase = try database.prepare(
            "SELECT id, environment, provider, purchase_id, owner, outcome FROM purchase WHERE id = ?"
        )
        updatePurchase = try database.prepare(
            "UPDATE purchase SET provider = ?, purchase_id = ?, owner = ?, outcome = ? WHERE id = ?"
        )
        purchasesByOwner = try database.prepare(
            """
            SELECT id, environment, provider, purchase_id, owner, outcome FROM purchase
            WHERE owner = ? AND environment = ?
            """
        )
        purchasesCarrying = try database.prepare("SELECT DISTINCT purchase FROM external_id WHERE value = ?")
        insertFact = try database.prepare(
            """
            INSERT INTO fact (purchase, event, place, body, mention) VALUES (?, ?, ?, ?, ?)
            ON CONFLICT (purchase, event, place) DO UPDATE SET body = excluded.body, mention = excluded.mention
            """
        )
        facts = try database.prepare(
            """
            SELECT event.provider, event.event_id, fact.body FROM fact JOIN event ON event.seq = fact.event
            WHERE fact.purchase = ? ORDER BY fact.event, fact.place
            """
        )
        purchasesOfEvent = try database.prepare("SELECT DISTINCT purchase FROM fact WHERE event = ?")
        deleteFacts = try database.prepare("DELETE FROM fact WHERE event = ?")
        insertLink = try database.prepare(
            """
            INSERT INTO link (provider, customer, user_id, at, event_id, first_at) VALUES (?1, ?2, ?3, ?4, ?5, ?4)
            ON CONFLICT (provider, customer, user_id) DO UPDATE SET
                at = CASE WHEN link.at < excluded.at THEN excluded.at ELSE link.at END,
                event_id = CASE WHEN (link.at, link.event_id) < (excluded.at, excluded.event_id)
                    THEN excluded.event_id ELSE link.event_id END,
                first_at = CASE WHEN excluded.first_at < link.first_at THEN excluded.first_at ELSE link.first_at END
            """
        )
        links = try database.prepare(
            """
            SELECT user_id, at, event_id, first_at FROM link WHERE provider = ? AND customer = ?
            """
        )
        upsertClaim = try database.prepare(
            """
            INSERT INTO claim (provider, external_id, user_id, at, event_id) VALUES (?, ?, ?, ?, ?)
            ON CONFLICT (provider, external_id, user_id) DO UPDATE SET at = excluded.at, event_id = excluded.event_id
            WHERE (claim.at, claim.event_id) < (excluded.at, excluded.event_id)
            """
        )
        newestClaim = try database.prepare(
            "SELECT user_id, at, event_id FROM claim WHERE provider = ? AND external_id = ?"
        )
        insertTransfer = try database.prepare(
            """
            INSERT INTO transfer (from_id, at, event_id, environment, body) VALUES (?, ?, ?, ?, ?)
            ON CONFLICT DO NOTHING
            """
        )
        transfers = try database.prepare("SELECT at, event_id, environment, body FROM transfer WHERE from_id = ?")
        dependents = try database.prepare("SELECT purchase FROM dependency WHERE node = ?")
        dependencies = try database.prepare("SELECT node FROM dependency WHERE purchase = ?")
        insertDependency = try database.prepare("INSERT INTO dependency (node, purchase) VALUES (?, ?)")
        deleteDependency = try database.prepare("DELETE FROM dependency WHERE node = ? AND purchase = ?")
        personMembers = try database.prepare(
            "SELECT user_id FROM person WHERE person = (SELECT person FROM person WHERE user_id = ?)"
        )
        setPerson = try database.prepare(
            """
            INSERT INTO person (user_id, person) VALUES (?, ?)
            ON CONFLICT (user_id) DO UPDATE SET person = excluded.person
            """
        )
        row = try database.prepare(
            """
            SELECT version, updated_at, body, judged_at, turns_at, sequence FROM subscription
            WHERE user_id = ? AND environment = ?
            """
        )
        setRow = try database.prepare(
            """
            INSERT INTO subscription (user_id, environment, version, updated_at, body, judged_at, turns_at, sequence)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (user_id, environment) DO UPDATE SET version = excluded.version,
                updated_at = excluded.updated_at, body = excluded.body, judged_at = excluded.judged_at,
                turns_at = excluded.turns_at, sequence = excluded.sequence
            """
        )
        forgetErased = try database.prepare("DELETE FROM erased WHERE digest = ? AND environment = ?")
        setLastArrival = try database.prepare(
            """
            INSERT INTO last_arrival (provider, received_at) VALUES (?, ?)
            ON CONFLICT (provider) DO UPDATE SET received_at = excluded.received_at
            WHERE last_arrival.received_at < excluded.received_at
            """
        )
        countRows = try database.prepare("UPDATE row_count SET count = count + ? WHERE environment = ?")
        getMeta = try database.prepare("SELECT value FROM meta WHERE name = ?")
        setMeta = try database.prepare(
            "INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
        )
    }
}
