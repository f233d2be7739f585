internal import EntitlementClient
internal import Foundation
internal import TestSupport
internal import Testing

/// A desktop app's licence: with the gateway, and without a network.
@Suite("The licence on a device", .ownThread)
struct DeviceLicenseTests {
    /// A device with its own clock.
    private struct Device {
        let gateway: RunningGateway
        let key: String
        let address: URL
        let ahead = Locked(0.0)
        var name = "device"

        init(_ gateway: RunningGateway) throws {
            self.gateway = gateway
            let made = try gateway.ask("POST", "/v1/licenses", body: #"{"user_id":"u1","max_devices":2}"#).json()
            key = try #require(made["license_key"]?.string)
            address = try #require(URL(string: "http://\(gateway.listen)"))
        }

        func publishedKeys() throws -> LicenseKeys {
            try LicenseKeys(keySet: Data(gateway.ask("GET", "/.well-known/jwks.json", key: nil).body))
        }

        func license(_ keys: LicenseKeys?, id: String = "d1", issuer: String? = nil) -> DeviceLicense {
            let ahead = ahead
            return DeviceLicense(
                gateway: address,
                deviceID: id,
                deviceName: "Studio",
                keys: keys,
                issuer: issuer,
                folder: URL(fileURLWithPath: gateway.folder.file(name)),
                otherFolder: URL(fileURLWithPath: gateway.folder.file(name + "-other")),
                clock: { Date(timeIntervalSinceNow: ahead.with { $0 }) }
            )
        }

        func setClock(days: Double) { ahead.with { $0 = days * 86_400 } }
    }

    private static func started() throws -> RunningGateway {
        let gateway = try RunningGateway().start()
        try gateway.grant("u1", until: nil)
        return gateway
    }

    @Test(arguments: [true, false])
    func aDeviceTakesASeatAndGivesItBack(isPinned: Bool) async throws {
        let device = try Device(Self.started())
        let keys = try isPinned ? device.publishedKeys() : nil
        let license = device.license(keys)
        #expect(await license.status() == .none)
        #expect(await license.check() == .none)
        #expect(try await license.activate(device.key).isLicensed)
        guard case .licensed(let token) = await license.status() else {
            Issue.record("not licensed")
            return
        }
        #expect(token.userID == "u1")
        #expect(token.entitlements == ["pro": nil])
        #expect(try await license.validate().isLicensed)
        // The app started again.
        #expect(await device.license(keys).check().isLicensed)
        try await license.deactivate()
        #expect(await device.license(keys).status() == .none)
        let seats = try device.gateway.ask("GET", "/v1/users/u1").json()["licenses"]?.array.first?["devices"]?.array
        #expect(seats?.count == 0)
    }

    @Test func whatTheGatewayEndsIsEnded() async throws {
        let device = try Device(Self.started())
        let license = device.license(nil)
        try await license.activate(device.key)
        let view = try device.gateway.ask("GET", "/v1/users/u1").json()
        let id = try #require(view["licenses"]?.array.first?["license_id"]?.string)
        #expect(try device.gateway.ask("DELETE", "/v1/licenses/\(id)").status == 200)
        // The device does not know it yet.
        #expect(await license.status().isLicensed)
        #expect(try await license.validate() == .ended(code: "REVOKED"))
        #expect(await device.license(nil).status() == .ended(code: "REVOKED"))
        await #expect(throws: EntitlementClientError.self) { try await license.activate(device.key) }
    }

    @Test func aFullLicenceSaysSo() async throws {
        let device = try Device(Self.started())
        for id in ["d1", "d2"] {
            var other = device
            other.name = id
            try await other.license(nil, id: id).activate(device.key)
        }
        var third = device
        third.name = "d3"
        do {
            try await third.license(nil, id: "d3").activate(device.key)
            Issue.record("a third seat of two")
        } catch EntitlementClientError.refused(let status, let code, _) {
            #expect(status == 409)
            #expect(code == "device_limit_reached")
        }
    }

    @Test func itWorksWithoutANetworkUntilTheTokenEnds() async throws {
        let device = try Device(Self.started())
        let keys = try device.publishedKeys()
        try await device.license(keys).activate(device.key)
        try device.gateway.stop()
        #expect(await device.license(keys).check().isLicensed)
        device.setClock(days: 13)
        #expect(await device.license(keys).check().isLicensed)
        device.setClock(days: 14.1)
        #expect(await device.license(keys).check() == .refused(.expired))
        // And a clock that is set back does not bring it back.
        device.setClock(days: 1)
        #expect(await device.license(keys).status() == .refused(.expired))
        // Not either when one of the two places is cleaned.
        try FileManager.default.removeItem(atPath: device.gateway.folder.file("device-other"))
        #expect(await device.license(keys).status() == .refused(.expired))
    }

    @Test func aClockTurnedBackIsToldAndRepairedByTheGateway() async throws {
        let device = try Device(Self.started())
        let keys = try device.publishedKeys()
        let license = device.license(keys)
        try await license.activate(device.key)
        device.setClock(days: 5)
        #expect(await license.status().isLicensed)
        device.setClock(days: 0)
        guard case .clockTurnedBack = await license.status() else {
            Issue.record("not noticed")
            return
        }
        // A clock that once stood in the future locks nobody out, once the gateway has signed what time it is.
        device.setClock(days: 400)
        #expect(await license.status() == .refused(.expired))
        device.setClock(days: 0)
        #expect(await license.status() == .refused(.expired))
        // Tokens count seconds.
        try await Task.sleep(for: .seconds(1.1))
        guard case .licensed = await license.check() else {
            Issue.record("\(await license.status())")
            return
        }
    }

    @Test func aTokenOfElsewhereIsRefused() async throws {
        let device = try Device(Self.started())
        let keys = try device.publishedKeys()
        let activation = LicenseTests.body([("license_key", .string(device.key)), ("device_id", "d1")])
        let answer = try device.gateway.ask("POST", "/v1/licenses/activate", key: nil, body: activation).json()
        let text = try #require(answer["token"]?.string)
        let now = Date()
        func fault(_ text: String, _ keys: LicenseKeys, _ now: Date, id: String = "d1", issuer: String? = nil)
            -> LicenseTokenFault?
        {
            do throws(LicenseTokenFault) {
                _ = try LicenseToken(text, keys: keys, deviceID: id, issuer: issuer, now: now)
                return nil
            } catch {
                return error
            }
        }
        #expect(fault(text, keys, now) == nil)
        #expect(fault(text, keys, now, issuer: "entitlement-gateway") == nil)
        #expect(fault(text, keys, now, issuer: "https://other.example.com") == .otherIssuer)
        #expect(fault(text, keys, now, id: "d2") == .otherDevice)
        #expect(fault(text, keys, now.addingTimeInterval(86_400 * 15)) == .expired)
        #expect(fault(text, keys, now.addingTimeInterval(-3600)) == .notYetValid)
        let stranger = SigningKey(.ed25519)
        let strange = try LicenseKeys(keySet: Data("{\"keys\":[\(stranger.jwk(kid: "other"))]}".utf8))
        #expect(fault(text, strange, now) == .unknownKey)
        let parts = text.split(separator: ".").map(String.init)
        // Signed by somebody else under a published name, and a payload that was changed.
        let signed = SigningKey.base64URL(stranger.rawSignature(of: Array((parts[0] + "." + parts[1]).utf8)))
        #expect(fault("\(parts[0]).\(parts[1]).\(signed)", keys, now) == .badSignature)
        let payload = SigningKey.base64URL(Array(#"{"dev":"d1","exp":9999999999}"#.utf8))
        #expect(fault("\(parts[0]).\(payload).\(parts[2])", keys, now) == .badSignature)
        // Another kind of token, by the same key.
        for header in [
            #"{"alg":"none","kid":"other","typ":"license+jwt"}"#, #"{"alg":"EdDSA","kid":"other","typ":"JWT"}"#,
        ] {
            #expect(fault(stranger.jws(header: header, payload: Array("{}".utf8)), strange, now) == .malformed)
        }
        #expect(fault("", keys, now) == .malformed)
        #expect(fault("a.b", keys, now) == .malformed)
    }

    @Test func aTokenIsCarriedByFile() async throws {
        let device = try Device(Self.started())
        let keys = try device.publishedKeys()
        try device.gateway.write(
            LicenseTests.body([("license_key", .string(device.key)), ("device_id", "d1")]),
            to: "request.json"
        )
        let signed = try device.gateway.run(["license", "sign", "request.json", "--days", "365"])
        #expect(signed.status == .exited(0), "\(signed.errors)")
        try device.gateway.stop()
        let license = device.license(keys)
        #expect(try await license.take(file: signed.output, licenseKey: device.key).isLicensed)
        device.setClock(days: 300)
        #expect(await license.check().isLicensed)
        await #expect(throws: LicenseTokenFault.self) {
            _ = try await device.license(keys, id: "d2").take(file: signed.output, licenseKey: device.key)
        }
    }
}
