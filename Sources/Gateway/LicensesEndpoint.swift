internal import Crypto
internal import Entitlements
internal import HTTPServer
internal import Licensing
internal import Platform
internal import ProviderKit
internal import SQLiteStorage
internal import Storage

/// How a request that waited for a change to licences goes on.
enum LicenseContinuation: Sendable {
    /// With the key that is shown this once.
    case created(key: String)
    case keyReplaced(key: String)
    case revoked(licenseID: String)
    case activated(deviceID: String)
    case deactivated(deviceID: String)
}

/// `/v1/licenses` for the seller's own systems: makes licences, gives them keys, revokes them.
extension GatewayHandler {
    static let devicesMax: Int64 = 10_000

    /// `rest` is what follows `/v1/licenses`, with its slash.
    func licenses(
        _ rest: UnsafeRawBufferPointer,
        _ request: Request,
        _ response: inout Response,
        _ ticket: ReplyTicket
    ) -> Disposition {
        if rest.count == 0 {
            guard enter(.licenses, request, &response), isMethod(.post, "POST", request, &response) else {
                return .done
            }
            return createLicense(request, &response, ticket)
        }
        let path = unsafe UnsafeRawBufferPointer(rebasing: rest[1...])
        if unsafe RequestTarget.equals(path, "activate") {
            route = .licenseActivation
            guard isMethod(.post, "POST", request, &response) else { return .done }
            return activate(request, &response, ticket)
        }
        if unsafe RequestTarget.equals(path, "validate") {
            route = .licenseValidation
            guard isMethod(.post, "POST", request, &response) else { return .done }
            return validate(request, &response)
        }
        if unsafe RequestTarget.equals(path, "deactivate") {
            route = .licenseDeactivation
            guard isMethod(.post, "POST", request, &response) else { return .done }
            return deactivate(request, &response, ticket)
        }
        let (id, below) = unsafe split(path)
        guard id.count > 0, let licenseID = unsafe RequestTarget.text(id) else {
            write(.notFound, &response)
            return .done
        }
        guard let below = unsafe below else {
            guard enter(.license, request, &response) else { return .done }
            switch request.method {
            case .get, .head: return showLicense(licenseID, request, &response)
            case .delete: return revokeLicense(licenseID, request, &response, ticket)
            default:
                write(.methodNotAllowed("GET, HEAD, DELETE"), &response)
                return .done
            }
        }
        if unsafe RequestTarget.equals(below, "key") {
            guard enter(.licenseKey, request, &response), isMethod(.post, "POST", request, &response) else {
                return .done
            }
            return replaceKey(licenseID, request, &response, ticket)
        }
        write(.notFound, &response)
        return .done
    }

    private func createLicense(
        _ request: Request,
        _ response: inout Response,
        _ ticket: ReplyTicket
    ) -> Disposition {
        guard let caller = authorize(request, .admin, &response) else { return .done }
        let known: Set = ["user_id", "entitlement", "max_devices", "license_key"]
        guard let body = members(of: request, known: known, &response) else { return .done }
        guard let text = body["user_id"]?.string else { return refuse("user_id: expected a user id", &response) }
        guard let user = UserID(text) else {
            write(.invalidUserID, &response)
            return .done
        }
        guard let entitlement = name(body["entitlement"], default: context.policy.defaultEntitlement) else {
            return refuse("entitlement: expected a name of 1 to 255 bytes", &response)
        }
        var maxDevices: Int?
        if let number = body["max_devices"], !number.isNull {
            guard let devices = number.integer, (1...Self.devicesMax).contains(devices) else {
                return refuse("max_devices: expected a number from 1 to \(Self.devicesMax)", &response)
            }
            maxDevices = Int(devices)
        }
        var imported: String?
        if let key = body["license_key"], !key.isNull {
            guard let text = key.string.flatMap(LicenseKey.imported) else {
                return refuse("license_key: expected a key of 10 to 255 printable characters of ASCII", &response)
            }
            imported = text
        }
        let key = imported ?? LicenseKey.make()
        let license = NewLicense(
            licenseID: "lic_" + Hex.encode(RandomBytes.make(12)),
            key: LicenseKeyRecord(key),
            user: user,
            entitlement: entitlement,
            maxDevices: maxDevices,
            isImported: imported != nil,
            by: Actor(keyID: caller.id, at: now)
        )
        return submit(.license(.create(license)), .license(.created(key: key)), ticket, &response)
    }

    private func replaceKey(
        _ licenseID: String,
        _ request: Request,
        _ response: inout Response,
        _ ticket: ReplyTicket
    ) -> Disposition {
        guard let caller = authorize(request, .admin, &response) else { return .done }
        let key = LicenseKey.make()
        let actor = Actor(keyID: caller.id, at: now)
        return submit(
            .license(.replaceKey(licenseID: licenseID, key: LicenseKeyRecord(key), by: actor)),
            .license(.keyReplaced(key: key)),
            ticket,
            &response
        )
    }

    private func revokeLicense(
        _ licenseID: String,
        _ request: Request,
        _ response: inout Response,
        _ ticket: ReplyTicket
    ) -> Disposition {
        guard let caller = authorize(request, .admin, &response) else { return .done }
        return submit(
            .license(.revoke(licenseID: licenseID, by: Actor(keyID: caller.id, at: now))),
            .license(.revoked(licenseID: licenseID)),
            ticket,
            &response
        )
    }

    private func showLicense(_ licenseID: String, _ request: Request, _ response: inout Response) -> Disposition {
        guard authorize(request, .admin, &response) != nil else { return .done }
        do throws(StorageError) {
            guard let license = try licenseReader.license(licenseID) else {
                write(.licenseNotFound, &response)
                return .done
            }
            json.reset()
            json.raw("{")
            writeLicenseMembers(license)
            writeSeats(try licenseReader.seats(of: licenseID, now: now))
            json.raw("}")
            send(200, &response)
        } catch {
            failRead(error, &response)
        }
        return .done
    }

    func failRead(_ error: StorageError, _ response: inout Response) {
        Log.error("a read failed", ("reason", .string(error.description)))
        write(.unavailable("the database cannot be read", retryAfter: 1), &response)
    }

    // MARK: - After the write

    func finishLicense(
        _ continuation: LicenseContinuation,
        _ committed: Committed<StoreResult>,
        _ response: inout Response
    ) {
        guard case .license(let result) = committed.value else { return }
        switch (result, continuation) {
        case (.created(let license, let isNew), .created(let key)): writeKey(key, license, isNew ? 201 : 200, &response)
        case (.keyReplaced(let license), .keyReplaced(let key)): writeKey(key, license, 200, &response)
        case (.revoked, .revoked(let licenseID)):
            json.reset()
            json.raw("{")
            json.key("license_id")
            json.string(licenseID)
            json.key("revoked")
            json.bool(true)
            json.raw("}")
            send(200, &response)
        case (.activated(let license, let seat), .activated): finishActivation(license, seat, &response)
        case (.full(let seats), .activated): writeFull(seats, &response)
        case (.deactivated(let wasSeated), .deactivated(let deviceID)):
            json.reset()
            json.raw("{")
            json.key("device_id")
            json.string(deviceID)
            json.key("deactivated")
            json.bool(wasSeated)
            writeServerTime()
            json.raw("}")
            send(200, &response)
        case (.refused(let until), _):
            var problem = Problem(
                429,
                "deactivation_limit_reached",
                "Too Many Requests",
                "no more seats of this licence can be given back this month"
            )
            problem.retryAfter = Int(clamping: max(1, (until.value - now.value) / 1000 + 1))
            write(problem, &response)
        case (.keyTaken, _):
            write(Problem(409, "license_conflict", "Conflict", "this key is another licence's"), &response)
        case (.notFound, _): write(.licenseNotFound, &response)
        case (.isRevoked, _): write(.licenseRevoked, &response)
        default: write(.unavailable("the write came to something else"), &response)
        }
    }

    private func writeKey(_ key: String, _ license: LicenseRecord, _ status: Int, _ response: inout Response) {
        json.reset()
        json.raw("{")
        writeLicenseMembers(license)
        json.key("license_key")
        json.string(key)
        json.raw("}")
        send(status, &response)
    }

    // MARK: - Parts of answers

    func writeLicenseMembers(_ license: LicenseRecord) {
        json.members(of: license, devices: license.maxDevices ?? context.access.licenses.maxDevices)
    }

    func writeSeats(_ seats: [Seat]) {
        json.seats(seats)
    }

    func writeSeat(_ seat: Seat) {
        json.seat(seat)
    }

    /// By which a client notices that its own clock was turned back.
    func writeServerTime() {
        json.key("server_time")
        json.time(now)
    }
}
