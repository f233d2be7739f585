internal import Foundation
internal import TestSupport
internal import Testing

/// Purchases made without an account (`claim_by_email`).
@Suite("Claims by address", .ownThread)
struct AddressClaimTests {
    private static let address = "Anna.Buyer@Example.com"
    private static let on = #","claim_by_email":true"#

    /// A paid checkout of a guest.
    private static func checkout(_ number: Int, email: String = address) -> String {
        let now = Clock.millis / 1000
        return """
            {"id":"evt_guest_\(number)","object":"event","type":"checkout.session.completed","created":\(now),
            "livemode":true,"data":{"object":{"id":"cs_\(number)","object":"checkout.session","mode":"payment",
            "payment_status":"paid","status":"complete","payment_intent":"pi_\(number)","customer":null,"created":\(now),
            "livemode":true,"client_reference_id":null,"metadata":{},"amount_total":900,"currency":"eur",
            "customer_details":{"email":"\(email)","name":"Anna Buyer"}}}}
            """
    }

    private func claim(_ gateway: RunningGateway, _ user: String, _ email: String) throws -> HTTPAnswer {
        try gateway.ask("POST", "/v1/users/\(user)/identities", body: "{\"email\":\"\(email)\"}")
    }

    @Test func anAdministratorClaims() throws {
        let gateway = try RunningGateway(config: #"{"claim_by_email":true}"#).start()
        #expect(try gateway.deliver("stripe", Self.checkout(1)) == "parked")
        #expect(try claim(gateway, "u1", " anna.buyer@example.com ").status == 201)
        #expect(try gateway.entitlement(of: "u1")["entitled"] == true)
        #expect(try claim(gateway, "u1", Self.address).status == 200)
        // What is bought later is theirs at once.
        #expect(try gateway.deliver("stripe", Self.checkout(2)) == "applied")
        #expect(try gateway.deliver("stripe", Self.checkout(3, email: "other@example.com")) == "parked")
        for wrong in ["nobody", "a@b@c", "@", ""] { #expect(try claim(gateway, "u1", wrong).status == 400) }
        try gateway.stop()
        for file in try gateway.bytes(ofFilesNamed: "gateway") {
            for word in ["anna.buyer", "Anna.Buyer"] { #expect(file.bytes.range(of: Data(word.utf8)) == nil) }
        }
    }

    @Test func aVerifiedAddressIsEnough() throws {
        let issuer = try TestIssuer()
        let gateway = try RunningGateway(config: issuer.config(more: Self.on)).start()
        #expect(try gateway.deliver("stripe", Self.checkout(1)) == "parked")
        func entitled(_ user: String, _ claims: [String: JSONValue]) throws -> JSONValue? {
            let token = issuer.token(claims.merging(["sub": .string(user)]) { $1 })
            return try gateway.ask("GET", "/v1/me/entitlement", key: token).json()["entitled"]
        }
        let mine = JSONValue.string(Self.address)
        #expect(try entitled("u2", ["email": mine, "email_verified": false]) == false)
        #expect(try entitled("u2", ["email": mine]) == false)
        #expect(try entitled("u2", ["email": "other@example.com", "email_verified": true]) == false)
        #expect(try entitled("u1", ["email": mine, "email_verified": true]) == true)
        // It is somebody's now.
        #expect(try entitled("u2", ["email": mine, "email_verified": true]) == false)
    }

    @Test func offNoTraceIsKept() throws {
        let gateway = try RunningGateway(config: "{}").start()
        #expect(try gateway.deliver("stripe", Self.checkout(1)) == "parked")
        let refused = try claim(gateway, "u1", Self.address)
        #expect(try refused.status == 400 && refused.json()["detail"]?.string?.contains("claim_by_email") == true)
        #expect(!FileManager.default.fileExists(atPath: gateway.database + ".address-key"))
        try gateway.stop()
        try gateway.write(#"{"claim_by_email":true}"#, to: "gateway.json")
        try gateway.start()
        #expect(try gateway.deliver("stripe", Self.checkout(2)) == "parked")
        #expect(try gateway.deliver("stripe", Self.checkout(3, email: "other@example.com")) == "parked")
        #expect(try claim(gateway, "u1", Self.address).status == 201)
        try gateway.stop()
        // Switched off again, what was claimed stays, and the hashes go.
        try gateway.write("{}", to: "gateway.json")
        try gateway.start()
        #expect(try gateway.entitlement(of: "u1")["entitled"] == true)
        try gateway.stop()
        try gateway.write(#"{"claim_by_email":true}"#, to: "gateway.json")
        try gateway.start()
        #expect(try claim(gateway, "u2", "other@example.com").status == 201)
        #expect(try gateway.entitlement(of: "u2")["entitled"] == false)
        #expect(try gateway.entitlement(of: "u1")["entitled"] == true)
    }
}
