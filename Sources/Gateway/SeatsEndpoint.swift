internal import Entitlements
internal import HTTPServer
internal import Licensing
internal import Platform
internal import ProviderKit
internal import SQLStorage
internal import SQLiteStorage
internal import Storage

/// `POST /v1/licenses/activate`, `…/validate` and `…/deactivate`, and the devices of a signed-in person.
///
/// What a licence is good for is its user's row at this moment. Validation reads and nothing else.
extension GatewayHandler {
    private static let keyBytesMax = 512
    private static let nameBytesMax = 255

    private struct DeviceRequest: Sendable {
        var key = ""
        var deviceID = ""
        var deviceName: String?
        var entitlement: String?
    }

    // MARK: - With a key

    /// A licence that was found, and its user's row where the loop does not read that itself.
    private struct Finding: Sendable {
        var license: LicenseRecord
        var seats: [Seat]
        var row: RowCopy?
    }

    func activate(_ request: Request, _ response: inout Response, _ ticket: ReplyTicket) -> Disposition {
        guard let asked = unsafe deviceRequest(request.body, needsKey: true, &response) else { return .done }
        return license(of: asked, request, &response, ticket, ifUnknown: .licenseNotFound) {
            handler,
            license,
            seats,
            response throws(StorageError) in
            guard license.revokedAt == nil else {
                handler.write(.licenseRevoked, &response)
                return .done
            }
            return try handler.seat(asked, on: license, among: seats, holder: .license(license.id), &response, ticket)
        }
    }

    func validate(_ request: Request, _ response: inout Response, _ ticket: ReplyTicket) -> Disposition {
        guard let asked = unsafe deviceRequest(request.body, needsKey: true, &response) else { return .done }
        return license(of: asked, request, &response, ticket, ifUnknown: nil) {
            handler,
            license,
            seats,
            response throws(StorageError) in
            try handler.validate(asked, license, seats, &response)
            return .done
        }
    }

    private func validate(
        _ asked: DeviceRequest,
        _ license: LicenseRecord,
        _ seats: [Seat],
        _ response: inout Response
    ) throws(StorageError) {
        guard license.revokedAt == nil else { return writeVerdict("REVOKED", nil, &response) }
        json.reset()
        guard try isEntitled(license) else { return writeVerdict("EXPIRED", license, &response) }
        guard let seat = seats.first(where: { $0.deviceID == asked.deviceID }) else {
            access.strangers.count(Array(license.id.utf8), now: .now())
            return writeVerdict("DEVICE_NOT_ACTIVATED", license, &response)
        }
        access.sightings.add(seat, of: license.id, at: now, now: .now())
        json.reset()
        json.raw("{\"valid\":true,\"code\":\"VALID\"")
        try writeSeated(license, seat)
        json.raw("}")
        send(200, &response)
    }

    func deactivate(_ request: Request, _ response: inout Response, _ ticket: ReplyTicket) -> Disposition {
        guard let asked = unsafe deviceRequest(request.body, needsKey: true, &response) else { return .done }
        return license(of: asked, request, &response, ticket, ifUnknown: .licenseNotFound) {
            handler,
            license,
            _,
            response in
            let release = SeatRelease(holder: .license(license.id), deviceID: asked.deviceID, at: handler.now)
            return handler.submit(
                .license(.deactivate(release)),
                .license(.deactivated(deviceID: asked.deviceID)),
                ticket,
                &response
            )
        }
    }

    /// Goes on with the licence of a key and its seats; else the answer is written.
    ///
    /// Wrong keys count against the client's address. From an address that has guessed too much only devices that hold a
    /// seat are served: those behind the same address go on working, and a guess that hits learns nothing.
    private func license(
        of asked: DeviceRequest,
        _ request: Request,
        _ response: inout Response,
        _ ticket: ReplyTicket,
        ifUnknown problem: Problem?,
        _ then: @escaping (GatewayHandler, LicenseRecord, [Seat], inout Response) throws(StorageError) -> Disposition
    ) -> Disposition {
        let address = ClientAddress.of(request, trusting: context.access.trustedProxies)
        let who = ClientAddress.countedAs(address)
        let (key, readsElsewhere, clock) = (asked.key, readsElsewhere, now)
        return view(ticket, &response) { views throws(StorageError) -> Finding? in
            guard let license = try views.licenses.license(typedKey: key, now: clock) else { return nil }
            return Finding(
                license: license,
                seats: try views.licenses.seats(of: license.id, now: clock),
                row: readsElsewhere ? try views.reader.rowCopy(of: license.user, in: .production) : nil
            )
        } _: { handler, found, response throws(StorageError) in
            guard let found else {
                handler.answerWrongKey(who, problem, &response)
                return .done
            }
            let clock = MonotonicNanos.now()
            let isSeated = found.seats.contains { $0.deviceID == asked.deviceID }
            let strangers = handler.access.strangers.wait(Array(found.license.id.utf8), now: clock)
            if !isSeated, let wait = handler.access.wrongKeys.wait(who, now: clock) ?? strangers {
                handler.write(.tooManyAttempts(wait), &response)
                return .done
            }
            handler.note(found.row, of: found.license.user)
            return try then(handler, found.license, found.seats, &response)
        }
    }

    private func answerWrongKey(_ who: [UInt8], _ problem: Problem?, _ response: inout Response) {
        let clock = MonotonicNanos.now()
        let wait = access.wrongKeys.wait(who, now: clock)
        access.wrongKeys.count(who, now: clock)
        context.tellLoops(.guessed(who, on: loop))
        if let wait {
            write(.tooManyAttempts(wait), &response)
        } else if let problem {
            write(problem, &response)
        } else {
            writeVerdict("NOT_FOUND", nil, &response)
        }
    }

    /// A row that was read together with something else.
    private func note(_ row: RowCopy?, of user: UserID) {
        if let row { reads.fetched[RowKey(user: user, environment: .production)] = FoundRow(row, isNewest: true) }
    }

    // MARK: - Signed in

    func showDevices(of user: UserID, _ response: inout Response, _ ticket: ReplyTicket) -> Disposition {
        view(ticket, &response) { views throws(StorageError) in
            try views.licenses.licenses(of: user).filter { $0.license.revokedAt == nil }
        } _: { handler, licenses, response in
            handler.json.reset()
            handler.json.raw("{")
            handler.writeSeats(licenses.flatMap(\.seats))
            handler.writeServerTime()
            handler.json.raw("}")
            handler.send(200, &response)
            return .done
        }
    }

    func addDevice(
        _ body: UnsafeRawBufferPointer,
        for user: UserID,
        _ response: inout Response,
        _ ticket: ReplyTicket
    ) -> Disposition {
        guard let asked = unsafe deviceRequest(body, needsKey: false, &response) else { return .done }
        let entitlement = asked.entitlement ?? context.policy.defaultEntitlement
        let (readsElsewhere, clock) = (readsElsewhere, now)
        return view(ticket, &response) { views throws(StorageError) -> Finding in
            let licenses = try views.licenses.licenses(of: user)
                .filter { $0.license.revokedAt == nil && $0.license.entitlement == entitlement }
            let own = licenses.first { view in view.seats.contains { $0.deviceID == asked.deviceID } }
            let license =
                own?.license
                ?? LicenseRecord(
                    id: "",
                    user: user,
                    entitlement: entitlement,
                    maxDevices: nil,
                    source: .account,
                    hint: nil,
                    createdAt: clock,
                    revokedAt: nil
                )
            return Finding(
                license: license,
                seats: own?.seats ?? [],
                row: readsElsewhere ? try views.reader.rowCopy(of: license.user, in: .production) : nil
            )
        } _: { handler, found, response throws(StorageError) in
            handler.note(found.row, of: found.license.user)
            return try handler.seat(
                asked,
                on: found.license,
                among: found.seats,
                holder: .account(user, entitlement: entitlement),
                &response,
                ticket
            )
        }
    }

    func removeDevice(
        _ encoded: UnsafeRawBufferPointer,
        of user: UserID,
        _ response: inout Response,
        _ ticket: ReplyTicket
    ) -> Disposition {
        guard let deviceID = unsafe RequestTarget.text(encoded) else {
            return refuse("device_id: expected UTF-8", &response)
        }
        let holder = SeatHolder.account(user, entitlement: context.policy.defaultEntitlement)
        return submit(
            .license(.deactivate(SeatRelease(holder: holder, deviceID: deviceID, at: now))),
            .license(.deactivated(deviceID: deviceID)),
            ticket,
            &response
        )
    }

    // MARK: - Seats

    /// Answers a device that has its seat; asks the writer for one for any other.
    private func seat(
        _ asked: DeviceRequest,
        on license: LicenseRecord,
        among seats: [Seat],
        holder: SeatHolder,
        _ response: inout Response,
        _ ticket: ReplyTicket
    ) throws(StorageError) -> Disposition {
        json.reset()
        guard try isEntitled(license) else {
            write(.notEntitled, &response)
            return .done
        }
        if let seat = seats.first(where: { $0.deviceID == asked.deviceID }),
            asked.deviceName == nil || asked.deviceName == seat.deviceName
        {
            access.sightings.add(seat, of: license.id, at: now, now: .now())
            finishActivation(license, seat, &response)
            return .done
        }
        let request = SeatRequest(holder: holder, deviceID: asked.deviceID, deviceName: asked.deviceName, at: now)
        return submit(
            .license(.activate(request)),
            .license(.activated(deviceID: asked.deviceID)),
            ticket,
            &response
        )
    }

    func finishActivation(_ license: LicenseRecord, _ seat: Seat, _ response: inout Response) {
        do throws(StorageError) {
            json.reset()
            // The entitlement may have ended while the seat was written.
            guard try isEntitled(license) else {
                write(.notEntitled, &response)
                return
            }
            json.reset()
            json.raw("{\"activation\":")
            writeSeat(seat)
            try writeSeated(license, seat)
            json.raw("}")
            send(200, &response)
        } catch {
            failRead(error, &response)
        }
    }

    func writeFull(_ seats: [Seat], _ response: inout Response) {
        let problem = Problem(
            409,
            "device_limit_reached",
            "Conflict",
            "every seat of this licence is held by one of these devices; one of them can be deactivated"
        )
        write(problem, &response) { handler in
            handler.writeSeats(seats)
            handler.writeServerTime()
        }
    }

    /// Judges the licence's user now, and leaves the answer in the JSON buffer.
    private func isEntitled(_ license: LicenseRecord) throws(StorageError) -> Bool {
        ask(license)
        let summary = try encodeOpenAnswer(question.moment)
        json.raw("}")
        return summary.isEntitled
    }

    private func ask(_ license: LicenseRecord) {
        question.user = Array(license.user.value.utf8)
        lookup = question.user
        question.environment = .production
        question.entitlement = Array(license.entitlement.utf8)
        question.moment = now
    }

    /// `license`, `entitlement`, `token` and the time, after what stands in the buffer.
    private func writeSeated(_ license: LicenseRecord, _ seat: Seat) throws(StorageError) {
        json.key("license")
        json.raw("{")
        writeLicenseMembers(license)
        json.raw("}")
        json.key("entitlement")
        _ = try isEntitled(license)
        let token = try token(license, seat)
        json.key("token")
        json.string(token)
        writeServerTime()
    }

    private func token(_ license: LicenseRecord, _ seat: Seat) throws(StorageError) -> String {
        let moment = question.moment
        var entitlements: [String: UnixMillis?] = [:]
        let subscription: Subscription
        if let reader = reads.local {
            subscription = try reader.subscription(of: license.user, now: moment)
        } else {
            subscription = try fetchedRow().subscription()
        }
        for entitlement in subscription.entitlements where entitlement.isEntitled(at: moment) {
            entitlements.updateValue(entitlement.end, forKey: entitlement.name)
        }
        // Only an entitlement that is there now comes so far; without it a token would have no end.
        guard let own = entitlements[license.entitlement] else { throw .damaged("a licence without its entitlement") }
        let token = OfflineToken(
            issuer: context.access.tokenIssuer,
            user: license.user,
            licenseID: license.id,
            deviceID: seat.deviceID,
            entitlements: entitlements,
            accessUntil: own,
            issuedAt: moment,
            offlineDays: context.access.licenses.offlineDays
        )
        do throws(SigningKeyError) {
            return try token.signed(by: access.signing.current())
        } catch {
            throw .unavailable(error.reason)
        }
    }

    /// A licence that is good for nothing now, and why.
    private func writeVerdict(_ code: StaticString, _ license: LicenseRecord?, _ response: inout Response) {
        do throws(StorageError) {
            json.reset()
            json.raw("{\"valid\":false,\"code\":")
            json.string(code)
            if let license {
                json.key("license")
                json.raw("{")
                writeLicenseMembers(license)
                json.raw("}")
                json.key("entitlement")
                _ = try isEntitled(license)
            }
            writeServerTime()
            json.raw("}")
            send(200, &response)
        } catch {
            failRead(error, &response)
        }
    }

    // MARK: - What was asked

    /// Fields that are not known are passed over: an app in the field may be newer than the gateway.
    private func deviceRequest(
        _ body: UnsafeRawBufferPointer,
        needsKey: Bool,
        _ response: inout Response
    ) -> DeviceRequest? {
        guard let body = JSON(unsafe [UInt8](body))?.object else {
            write(.badRequest("the body: expected a JSON object"), &response)
            return nil
        }
        var asked = DeviceRequest()
        if needsKey {
            guard let key = body["license_key"]?.string, !key.isEmpty, key.utf8.count <= Self.keyBytesMax else {
                write(.badRequest("license_key: expected a licence key"), &response)
                return nil
            }
            asked.key = key
        } else {
            guard let entitlement = name(body["entitlement"], default: context.policy.defaultEntitlement) else {
                write(.badRequest("entitlement: expected a name of 1 to 255 bytes"), &response)
                return nil
            }
            asked.entitlement = entitlement
        }
        guard let deviceID = name(body["device_id"], default: ""), !deviceID.isEmpty else {
            write(.badRequest("device_id: expected 1 to 255 bytes that stay the same for a device"), &response)
            return nil
        }
        asked.deviceID = deviceID
        if let deviceName = body["device_name"], !deviceName.isNull {
            guard let text = deviceName.string, text.utf8.count <= Self.nameBytesMax else {
                write(.badRequest("device_name: expected a text of at most \(Self.nameBytesMax) bytes"), &response)
                return nil
            }
            asked.deviceName = text.isEmpty ? nil : text
        }
        return asked
    }
}

/// `GET /.well-known/jwks.json`: the keys by which anybody can check offline tokens.
extension GatewayHandler {
    func showSigningKeys(_ response: inout Response) -> Disposition {
        let keys = access.signing.current().publicSet(at: now)
        response.start(200)
        response.header("Content-Type", "application/json")
        response.header("Cache-Control", "public, max-age=300")
        response.header("Access-Control-Allow-Origin", "*")
        unsafe keys.withUnsafeBytes { unsafe response.finish(body: $0) }
        return .done
    }
}
