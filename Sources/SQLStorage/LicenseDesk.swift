internal import Crypto
internal import Entitlements
internal import Licensing
internal import Storage

/// Licences and seats on the writing side. Lives on the writer's thread, inside its open transaction; the rules are those
/// of `SeatRule`.
final class LicenseDesk {
    private let database: any SQLDatabase
    private let transaction: SQLTransaction
    private var settings = LicenseSettings()
    private let licenseOfPurchase: any SQLStatement

    init(_ database: any SQLDatabase, _ transaction: SQLTransaction) throws(StorageError) {
        self.database = database
        self.transaction = transaction
        licenseOfPurchase = try database.prepare("SELECT id, user_id FROM license WHERE purchase = ?")
    }

    func perform(_ command: LicenseCommand) throws(StorageError) -> LicenseResult {
        switch command {
        case .adopt(let settings):
            self.settings = settings
            return .noted
        case .create(let license): return try create(license)
        case .replaceKey(let id, let key, let actor): return try replaceKey(id, key, actor)
        case .revoke(let id, let actor): return try revoke(id, actor)
        case .activate(let request): return try activate(request)
        case .deactivate(let release): return try deactivate(release)
        case .seen(let sightings):
            let update = try database.prepare(
                "UPDATE seat SET last_seen_at = ?1 WHERE license = ?2 AND device_id = ?3 AND last_seen_at < ?1"
            )
            for sighting in sightings {
                update.bind(1, sighting.at.value)
                update.bind(2, sighting.licenseID)
                update.bind(3, sighting.deviceID)
                try update.run()
            }
            return .noted
        }
    }

    // MARK: - Licences

    private func create(_ new: NewLicense) throws(StorageError) -> LicenseResult {
        if let known = try LicenseSQL.license(keyed: new.key.digest, in: database) {
            let isSame = new.isImported && known.user == new.user && known.entitlement == new.entitlement
            return isSame ? .created(known, isNew: false) : .keyTaken
        }
        let license = LicenseRecord(
            id: new.licenseID,
            user: new.user,
            entitlement: new.entitlement,
            maxDevices: new.maxDevices,
            source: new.isImported ? .imported : .admin,
            hint: new.key.hint,
            createdAt: new.by.at,
            revokedAt: nil
        )
        try insert(license, digest: new.key.digest, purchase: nil)
        try audit("license", license.user, new.by, license.id)
        return .created(license, isNew: true)
    }

    private func insert(
        _ license: LicenseRecord,
        digest: [UInt8]?,
        purchase: PurchaseKey?
    ) throws(StorageError) {
        let insert = try database.prepare(
            """
            INSERT INTO license (id, digest, hint, user_id, entitlement, max_devices, source, purchase, created_at)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
            """
        )
        insert.bind(1, license.id)
        insert.bind(2, digest)
        insert.bind(3, license.hint)
        insert.bind(4, license.user.value)
        insert.bind(5, license.entitlement)
        insert.bind(6, license.maxDevices.map { Int64($0) })
        insert.bind(7, Int64(license.source.rawValue))
        insert.bind(8, purchase)
        insert.bind(9, license.createdAt.value)
        try insert.run()
    }

    private func replaceKey(
        _ id: String,
        _ key: LicenseKeyRecord,
        _ actor: Actor
    ) throws(StorageError) -> LicenseResult {
        guard var license = try LicenseSQL.license(id, in: database) else { return .notFound }
        guard license.revokedAt == nil else { return .isRevoked }
        let update = try database.prepare("UPDATE license SET digest = ?, hint = ? WHERE id = ?")
        update.bind(1, key.digest)
        update.bind(2, key.hint)
        update.bind(3, id)
        try update.run()
        try audit("license_key", license.user, actor, id)
        license.hint = key.hint
        return .keyReplaced(license)
    }

    private func revoke(_ id: String, _ actor: Actor) throws(StorageError) -> LicenseResult {
        guard let license = try LicenseSQL.license(id, in: database) else { return .notFound }
        guard license.revokedAt == nil else { return .revoked }
        let update = try database.prepare("UPDATE license SET revoked_at = ? WHERE id = ?")
        update.bind(1, actor.at.value)
        update.bind(2, id)
        try update.run()
        try run("DELETE FROM seat WHERE license = ?", id)
        try audit("revoke_license", license.user, actor, id)
        return .revoked
    }

    // MARK: - Seats

    private func activate(_ request: SeatRequest) throws(StorageError) -> LicenseResult {
        guard let license = try license(for: request) else { return .notFound }
        guard license.revokedAt == nil else { return .isRevoked }
        let seats = try LicenseSQL.seats(of: license.id, in: database)
        let decision = SeatRule.decide(
            request.deviceID,
            among: seats,
            limit: license.maxDevices ?? settings.maxDevices,
            releaseAfterMillis: settings.releaseAfterMillis,
            now: request.at
        )
        var seat = Seat(
            deviceID: request.deviceID,
            deviceName: request.deviceName,
            activatedAt: request.at,
            lastSeenAt: request.at
        )
        switch decision {
        case .full: return .full(seats)
        case .newSeat(let released):
            for device in released { try free(device, of: license.id) }
        case .sameSeat:
            if let known = seats.first(where: { $0.deviceID == request.deviceID }) {
                seat.activatedAt = known.activatedAt
                seat.deviceName = request.deviceName ?? known.deviceName
            }
        }
        let upsert = try database.prepare(
            """
            INSERT INTO seat (license, device_id, device_name, activated_at, last_seen_at) VALUES (?, ?, ?, ?, ?)
            ON CONFLICT (license, device_id) DO UPDATE SET device_name = excluded.device_name,
                last_seen_at = CASE WHEN seat.last_seen_at < excluded.last_seen_at
                    THEN excluded.last_seen_at ELSE seat.last_seen_at END
            """
        )
        upsert.bind(1, license.id)
        upsert.bind(2, seat.deviceID)
        upsert.bind(3, seat.deviceName)
        upsert.bind(4, seat.activatedAt.value)
        upsert.bind(5, seat.lastSeenAt.value)
        try upsert.run()
        return .activated(license, seat)
    }

    /// The licence that a device is to sit on. A signed-in person's device goes where it sits already, else to a licence
    /// with room, the oldest first; a person without a licence gets one with the first device.
    private func license(for request: SeatRequest) throws(StorageError) -> LicenseRecord? {
        switch request.holder {
        case .license(let id): return try LicenseSQL.license(id, in: database)
        case .account(let user, let entitlement):
            let licenses = try licenses(of: user, entitlement)
            let live = licenses.filter { $0.revokedAt == nil }
            var withRoom: LicenseRecord?
            for license in live {
                let decision = SeatRule.decide(
                    request.deviceID,
                    among: try LicenseSQL.seats(of: license.id, in: database),
                    limit: license.maxDevices ?? settings.maxDevices,
                    releaseAfterMillis: settings.releaseAfterMillis,
                    now: request.at
                )
                if decision == .sameSeat { return license }
                if decision != .full, withRoom == nil { withRoom = license }
            }
            if let chosen = withRoom ?? live.first { return chosen }
            // One that an administrator has revoked stays so: signing in again makes no new one.
            if let revoked = licenses.first(where: { $0.source == .account }) { return revoked }
            let made = LicenseRecord(
                id: Self.newID(),
                user: user,
                entitlement: entitlement,
                maxDevices: nil,
                source: .account,
                hint: nil,
                createdAt: request.at,
                revokedAt: nil
            )
            try insert(made, digest: nil, purchase: nil)
            return made
        }
    }

    private func licenses(of user: UserID, _ entitlement: String) throws(StorageError) -> [LicenseRecord] {
        var found: [LicenseRecord] = []
        for member in try transaction.person(of: user) {
            found += try LicenseSQL.licenses(of: member, in: database).filter { $0.entitlement == entitlement }
        }
        return found.sorted { ($0.createdAt, $0.id) < ($1.createdAt, $1.id) }
    }

    private func deactivate(_ release: SeatRelease) throws(StorageError) -> LicenseResult {
        var ids: [String] = []
        switch release.holder {
        case .license(let id):
            guard let license = try LicenseSQL.license(id, in: database) else { return .notFound }
            guard license.revokedAt == nil else { return .isRevoked }
            ids = [id]
        case .account(let user, _):
            for member in try transaction.person(of: user) {
                ids += try LicenseSQL.licenses(of: member, in: database).map(\.id)
            }
        }
        var wasSeated = false
        for id in ids {
            let seats = try LicenseSQL.seats(of: id, in: database)
            guard seats.contains(where: { $0.deviceID == release.deviceID }) else { continue }
            if let until = SeatRule.refusedUntil(
                freedAt: try freed(of: id, since: SeatRule.month(of: release.at).start),
                perMonth: settings.deactivationsPerMonth,
                now: release.at
            ) {
                return .refused(until: until)
            }
            try free(release.deviceID, of: id)
            let insert = try database.prepare("INSERT INTO seat_freed (license, at) VALUES (?, ?)")
            insert.bind(1, id)
            insert.bind(2, release.at.value)
            try insert.run()
            wasSeated = true
        }
        return .deactivated(wasSeated: wasSeated)
    }

    private func freed(of license: String, since start: UnixMillis) throws(StorageError) -> [UnixMillis] {
        let query = try database.prepare("SELECT at FROM seat_freed WHERE license = ? AND at >= ?")
        query.bind(1, license)
        query.bind(2, start.value)
        var found: [UnixMillis] = []
        while try query.step() { found.append(UnixMillis(query.integer(0))) }
        return found
    }

    private func free(_ device: String, of license: String) throws(StorageError) {
        let delete = try database.prepare("DELETE FROM seat WHERE license = ? AND device_id = ?")
        delete.bind(1, license)
        delete.bind(2, device)
        try delete.run()
    }

    // MARK: - With a purchase

    /// Gives each of these purchases its licence, once, in the transaction that takes the purchase in; a purchase that has
    /// another owner now takes its licence along.
    ///
    /// Nobody has seen its key, because a provider's delivery has nobody to show it to: the first one is asked for by the
    /// seller's own system.
    func issue(for purchases: [PurchaseRecord], _ policy: EntitlementPolicy, now: UnixMillis) throws(StorageError) {
        guard !settings.issueOn.isEmpty else { return }
        for purchase in purchases where settings.issueOn.contains(purchase.provider) {
            guard let owner = purchase.owner, let outcome = purchase.outcome else { continue }
            guard purchase.environment == .production || policy.countsInProduction(sandboxPurchasesOf: [owner]) else {
                continue
            }
            licenseOfPurchase.bind(1, purchase.key)
            let known = try licenseOfPurchase.step() ? (licenseOfPurchase.text(0), licenseOfPurchase.text(1)) : nil
            licenseOfPurchase.reset()
            if let (id, user) = known {
                if user != owner.value { try move(id, from: UserID(unchecked: user), to: owner) }
                continue
            }
            let names = policy.elect([Candidate(purchaseID: purchase.purchaseID, outcome: outcome)]).entitlements
                .map(\.name)
            guard let first = names.first else { continue }
            let license = LicenseRecord(
                id: Self.newID(),
                user: owner,
                entitlement: names.contains(policy.defaultEntitlement) ? policy.defaultEntitlement : first,
                maxDevices: nil,
                source: .purchase,
                hint: nil,
                createdAt: now,
                revokedAt: nil
            )
            try insert(license, digest: nil, purchase: purchase.key)
        }
    }

    private func move(_ id: String, from former: UserID, to owner: UserID) throws(StorageError) {
        let update = try database.prepare("UPDATE license SET user_id = ? WHERE id = ?")
        update.bind(1, owner.value)
        update.bind(2, id)
        try update.run()
        // The devices are the former owner's, unless it is the same person under another id.
        if try transaction.person(of: owner).contains(former) { return }
        try run("DELETE FROM seat WHERE license = ?", id)
    }

    static func newID() -> String { "lic_" + Hex.encode(RandomBytes.make(12)) }

    private func run(_ sql: String, _ value: String) throws(StorageError) {
        let statement = try database.prepare(sql)
        statement.bind(1, value)
        try statement.run()
    }

    private func audit(_ action: String, _ user: UserID, _ actor: Actor, _ detail: String) throws(StorageError) {
        let insert = try database.prepare(
            "INSERT INTO audit (at, key_id, action, user_id, detail) VALUES (?, ?, ?, ?, ?)"
        )
        insert.bind(1, actor.at.value)
        insert.bind(2, actor.keyID)
        insert.bind(3, action)
        insert.bind(4, user.value)
        insert.bind(5, detail)
        try insert.run()
    }
}
