public import Foundation

/// A licence on this device: a seat, a token that is good without a network, and a clock that cannot be turned back.
///
/// ```swift
/// let license = DeviceLicense(gateway: url, deviceID: hashOfTheMachineID, keys: pinned)
/// let status = await license.check()        // at every start, and every few hours
/// if status.isLicensed { … }
/// ```
public actor DeviceLicense {
    private struct Kept: Codable {
        var licenseKey: String
        var deviceID: String
        var token: String?
        /// Of the newest token, for it says what time it was there.
        var newestIssue: Date?
        /// The gateway's word on a licence that is good for nothing.
        var ended: String?
        /// Fetched beside the token when the app has none of its own.
        var keys: LicenseKeys?
    }

    private struct Activated: Decodable {
        var token: String
        var serverTime: Date?

        private enum CodingKeys: String, CodingKey {
            case token
            case serverTime = "server_time"
        }
    }

    private struct Validated: Decodable {
        var valid: Bool
        var code: String
        var token: String?
        var serverTime: Date?

        private enum CodingKeys: String, CodingKey {
            case valid, code, token
            case serverTime = "server_time"
        }
    }

    private struct Deactivated: Decodable {
        var deactivated: Bool
    }

    private let connection: GatewayConnection
    private let deviceID: String
    private let deviceName: String?
    private let pinned: LicenseKeys?
    private let issuer: String?
    private let file: PrivateFile
    private let latest: LatestTime
    private let clock: @Sendable () -> Date

    /// - Parameters:
    ///   - gateway: Address of the gateway; https, or http on this machine.
    ///   - deviceID: Stays the same for this machine, also after the app was installed anew: a hash of the system's id.
    ///   - deviceName: What the person calls it, to tell their devices apart.
    ///   - keys: Built into the app; only these are believed then. Nil: the gateway's are fetched at the activation, and
    ///     kept beside the token.
    ///   - issuer: `public_url` of the gateway; nil accepts any that has the keys.
    ///   - folder: Where licence and token are kept; nil is the app's support folder.
    ///   - otherFolder: A second place for the latest time that was seen; nil is the app's cache folder.
    ///   - clock: The time of now.
    public init(
        gateway: URL,
        deviceID: String,
        deviceName: String? = nil,
        keys: LicenseKeys? = nil,
        issuer: String? = nil,
        folder: URL? = nil,
        otherFolder: URL? = nil,
        clock: @escaping @Sendable () -> Date = { Date() }
    ) {
        connection = GatewayConnection(gateway)
        self.deviceID = deviceID
        self.deviceName = deviceName
        pinned = keys
        self.issuer = issuer
        self.clock = clock
        func place(_ folder: URL?, _ system: FileManager.SearchPathDirectory, _ name: String) -> PrivateFile {
            PrivateFile(folder?.appendingPathComponent(name) ?? PrivateFile.standard(system, name))
        }
        file = place(folder, .applicationSupportDirectory, "license.json")
        latest = LatestTime([
            place(folder, .applicationSupportDirectory, "license-time.json"),
            place(otherFolder, .cachesDirectory, "time.json"),
        ])
    }

    // MARK: - Without a network

    /// What is known here and now. Asks nobody.
    public func status() -> LicenseStatus {
        guard let kept = file.read(Kept.self), kept.deviceID == deviceID else { return .none }
        if let code = kept.ended { return .ended(code: code) }
        guard let text = kept.token else { return .none }
        guard let keys = pinned ?? kept.keys else { return .refused(.unknownKey) }
        let clock = clock()
        let now = max(latest.now(clock: clock), kept.newestIssue ?? clock)
        // What cannot be noted is seen again the next time; the times noted before still count.
        try? latest.note(now)
        do throws(LicenseTokenFault) {
            let token = try LicenseToken(text, keys: keys, deviceID: deviceID, issuer: issuer, now: now)
            return now.timeIntervalSince(clock) > LatestTime.toleranceSeconds
                ? .clockTurnedBack(token) : .licensed(token)
        } catch {
            return .refused(error)
        }
    }

    /// Takes a token that was carried here in a file (`-----BEGIN LICENSE-----`), for a machine without a network.
    ///
    /// - Throws: When the token is not for this device, or cannot be kept.
    public func take(file text: String, licenseKey: String) throws -> LicenseStatus {
        let token = text.split(whereSeparator: \.isNewline).filter { !$0.hasPrefix("-----") }.joined()
            .filter { !$0.isWhitespace }
        try keep(token, licenseKey: licenseKey, keys: nil, isOnline: false)
        return status()
    }

    // MARK: - With the gateway

    /// What an app calls at its start and every few hours: asks the gateway when half of the token's time is over, when the
    /// clock is behind, or when there is no good token; else, or without a network, goes by what is here.
    public func check() async -> LicenseStatus {
        let known = status()
        switch known {
        case .none: return known
        case .licensed(let token) where latest.now(clock: clock()) < token.asksAgainAt: return known
        case .licensed, .clockTurnedBack, .ended, .refused: break
        }
        do {
            return try await validate()
        } catch {
            return status()
        }
    }

    /// Takes a seat of the licence for this device, or comes back to the one it has.
    ///
    /// - Throws: ``EntitlementClientError``; `refused` with `device_limit_reached` when every seat is taken, and
    ///   ``LicenseTokenFault`` when the answer's token is not one that this app believes.
    @discardableResult
    public func activate(_ licenseKey: String) async throws -> LicenseStatus {
        var body = ["license_key": licenseKey, "device_id": deviceID]
        body["device_name"] = deviceName
        let answer = try await connection.ask(Activated.self, "POST", "/v1/licenses/activate", body: body)
        try await take(answer.token, licenseKey: licenseKey, serverTime: answer.serverTime)
        return status()
    }

    /// Asks the gateway what the licence is good for now, and takes the new token.
    ///
    /// - Throws: ``EntitlementClientError`` when there is no answer: ``status()`` still says what holds.
    @discardableResult
    public func validate() async throws -> LicenseStatus {
        guard var kept = file.read(Kept.self), kept.deviceID == deviceID else { return .none }
        let answer = try await connection.ask(
            Validated.self,
            "POST",
            "/v1/licenses/validate",
            body: ["license_key": kept.licenseKey, "device_id": deviceID]
        )
        guard answer.valid, let token = answer.token else {
            kept.ended = answer.code
            kept.token = nil
            try file.write(kept)
            if let time = answer.serverTime { try latest.note(time) }
            return .ended(code: answer.code)
        }
        try await take(token, licenseKey: kept.licenseKey, serverTime: answer.serverTime)
        return status()
    }

    /// Gives the seat back, and forgets the licence here.
    ///
    /// - Throws: ``EntitlementClientError`` when the gateway did not take it back; then it stays here, too.
    public func deactivate() async throws {
        guard let kept = file.read(Kept.self) else { return }
        _ = try await connection.ask(
            Deactivated.self,
            "POST",
            "/v1/licenses/deactivate",
            body: ["license_key": kept.licenseKey, "device_id": deviceID]
        )
        file.remove()
    }

    // MARK: - Keeping

    private func take(_ token: String, licenseKey: String, serverTime: Date?) async throws {
        var fetched: LicenseKeys?
        if pinned == nil {
            fetched = try await LicenseKeys(keySet: connection.bytes("/.well-known/jwks.json"))
        }
        try keep(token, licenseKey: licenseKey, keys: fetched, isOnline: true)
        if let serverTime { try latest.note(serverTime) }
    }

    private func keep(_ text: String, licenseKey: String, keys fetched: LicenseKeys?, isOnline: Bool) throws {
        let before = file.read(Kept.self)
        guard let keys = pinned ?? fetched ?? before?.keys else { throw LicenseTokenFault.unknownKey }
        let issue = try LicenseToken.issue(text, keys: keys)
        // Signed later than everything before it, so it knows what time it is: better than a clock that once was wrong.
        // From a file it may be an old one that is shown again.
        let isNewest = isOnline && before?.newestIssue.map { issue > $0 } ?? true
        let now = isNewest ? issue : latest.now(clock: clock())
        let token = try LicenseToken(text, keys: keys, deviceID: deviceID, issuer: issuer, now: now)
        var kept = Kept(licenseKey: licenseKey, deviceID: deviceID, token: text)
        kept.newestIssue = max(token.issuedAt, before?.newestIssue ?? token.issuedAt)
        kept.keys = fetched ?? before?.keys
        try file.write(kept)
        if isNewest { try latest.reset(to: issue) }
    }
}
