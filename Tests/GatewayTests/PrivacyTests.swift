internal import Foundation
internal import TestSupport
internal import Testing

/// Personal data is removed before anything is stored or logged (contract section 4).
@Suite("Personal data", .ownThread)
struct PrivacyTests {
    /// Where a provider's event has its id and its time.
    private static let places: [String: (id: [String]?, time: [String])] = [
        "revenuecat": (["event", "id"], ["event", "event_timestamp_ms"]),
        "creem": (["id"], ["created_at"]),
        "stripe": (["id"], ["created"]),
        "paddle": (["event_id"], ["occurred_at"]),
        "polar": (nil, ["timestamp"]),
        "dodo": (nil, ["timestamp"]),
        "lemonsqueezy": (nil, ["data", "attributes", "updated_at"]),
    ]

    /// The event without anybody's id in it.
    private static func anonymous(_ event: JSONValue, _ provider: String) -> JSONValue {
        guard provider != "revenuecat" else {
            let id: JSONValue = "$RCAnonymousID:0"
            return event.replacing(["app_user_id": id, "original_app_user_id": id, "aliases": [id]])
        }
        let nobody: JSONValue = .null
        return event.replacing([
            "metadata": [:], "custom_data": [:], "client_reference_id": nobody, "request_id": nobody,
            "external_id": nobody,
        ])
    }

    /// Delivers a body made of a sample and gives the outcome.
    private static func deliver(
        _ gateway: RunningGateway,
        _ provider: String,
        _ event: JSONValue,
        id: String
    ) throws -> String {
        let named = (places[provider]?.id).map { event.setting($0, to: .string(id)) } ?? event
        return try gateway.deliver(provider, named.compact, id: id)
    }

    /// Fails for every planted value in a file of the stopped gateway.
    private static func expectNothingFound(_ gateway: RunningGateway, _ place: String) throws {
        for (name, bytes) in try gateway.bytes(ofFilesNamed: "gateway.") where name != "gateway.json" {
            let found = Set(PersonalData.finds(in: bytes)).sorted().prefix(5)
            #expect(found.isEmpty, "\(place): \(name) holds \(found)")
        }
    }

    /// Outcomes of which payloads were kept with the harmless value in it.
    private static func keptPayloads(_ gateway: RunningGateway) throws -> Set<String> {
        let control = SHA256Digest.hex(Array("zkept-control".utf8))
        return Set(
            try SQLDatabase(gateway.database)
                .rows("SELECT DISTINCT outcome FROM event WHERE instr(payload, x'\(control)') > 0")
        )
    }

    @Test(arguments: WebhookSigner.providers)
    func nothingPersonalIsKept(provider: String) throws {
        let gateway = try RunningGateway().start()
        let place = try #require(Self.places[provider])
        var outcomes: [String: Int] = [:]
        let samples = try Samples.all(of: provider)
        // First those of nobody: once somebody is known to own a purchase, none of its events is parked.
        for kind in ["nobodys", "broken", "named"] {
            for (name, sample) in samples {
                var event = PersonalData.planted(in: kind == "named" ? sample : Self.anonymous(sample, provider))
                if kind == "broken" { event = event.setting(place.time, to: ["no": "time"]) }
                outcomes[try Self.deliver(gateway, provider, event, id: "\(name)-\(kind)"), default: 0] += 1
            }
        }
        // Without them nothing would have been kept that could leak.
        #expect(outcomes["parked"] ?? 0 > 0, "\(outcomes)")
        #expect(outcomes["quarantined"] ?? 0 > 0, "\(outcomes)")
        try gateway.stop()
        try Self.expectNothingFound(gateway, provider)
        #expect(
            try Self.keptPayloads(gateway).count == 2,
            "the harmless value should be in parked and quarantined payloads"
        )
    }

    @Test func nothingPersonalIsKeptOfWhatIsUnmapped() throws {
        let maps = WebhookSigner.providers.map { "\"\($0)\": {}" }.joined(separator: ",")
        let gateway = try RunningGateway(config: "{\"products\": {\(maps)}}").start()
        for provider in WebhookSigner.providers {
            var outcomes: Set<String> = []
            for (name, sample) in try Samples.all(of: provider) {
                let event = PersonalData.planted(in: sample)
                outcomes.insert(try Self.deliver(gateway, provider, event, id: name))
            }
            #expect(outcomes.contains("unmapped"), "\(provider): \(outcomes)")
        }
        try gateway.stop()
        try Self.expectNothingFound(gateway, "unmapped")
        #expect(try Self.keptPayloads(gateway).count >= 1)
    }

    /// What goes out is the answer and nothing else; what is exported is what is kept.
    @Test func nothingPersonalGoesOut() throws {
        let receiver = try TestReceiver()
        let gateway = try RunningGateway(["NOTIFY_SECRET": TestReceiver.secret], config: receiver.config).start()
        let stream = try EventStream(gateway.port, "?environment=sandbox", after: 0)
        for provider in WebhookSigner.providers {
            for (name, sample) in try Samples.all(of: provider) {
                let event = PersonalData.planted(in: sample)
                _ = try Self.deliver(gateway, provider, event, id: name)
                let broken = PersonalData.planted(in: Self.anonymous(sample, provider))
                _ = try Self.deliver(gateway, provider, broken, id: name + "-nobodys")
            }
        }
        var told = Data()
        let end = ContinuousClock.now + .seconds(20)
        while try gateway.ask("GET", "/v1/notifications").json()["notifications"]?.array.isEmpty == false {
            guard ContinuousClock.now < end else { throw GatewayTestError("not everything was told") }
            Thread.sleep(forTimeInterval: 0.05)
        }
        let deliveries = try receiver.deliveries(1)
        #expect(deliveries.count > 4)
        for delivery in deliveries { told += Data(delivery.body) }
        while let event = stream.next(seconds: 1) { told += Data(event.json.compact.utf8) }
        let users = Set(deliveries.compactMap { $0.data["user_id"]?.string })
        for user in users where !user.contains("%") {
            guard let name = user.addingPercentEncoding(withAllowedCharacters: .alphanumerics) else { continue }
            told += Data(try gateway.ask("GET", "/v1/users/\(name)/export").body)
        }
        #expect(PersonalData.finds(in: told).isEmpty, "\(PersonalData.finds(in: told).prefix(5))")
        try gateway.stop()
        try Self.expectNothingFound(gateway, "what goes out")
    }

    @Test func ofWhatIsNoEventOnlyTheLengthIsKept() throws {
        let gateway = try RunningGateway().start()
        for provider in WebhookSigner.providers {
            for (number, body) in [
                "", "zqx.person@example.org", "{\"email\":\"zqx.person@example.org\"", "\"zqx.person@example.org\"",
                "[\"zqx.person@example.org\"]", "[[{\"name\":\"zqx-name\"}]]", "{\"zqx.person@example.org\":1}",
                "{\"name\":\"zqx-name\"}", "{\"event\":\"zqx.person@example.org\"}", "null",
                "\u{feff}{\"name\":\"zqx-n\"}",
            ].enumerated() {
                let outcome = try gateway.deliver(provider, body, id: "msg_\(number)")
                #expect(outcome == "quarantined", "\(provider): \(body)")
            }
        }
        let events = try gateway.ask("GET", "/v1/events?limit=500").text
        #expect(!events.contains(PersonalData.mark))
        try gateway.stop()
        try Self.expectNothingFound(gateway, "no event")
    }

    /// What is refused is not stored at all, and the log says nothing of it or of anybody's id.
    @Test func theLogKnowsNobody() throws {
        let gateway = try RunningGateway().start()
        let user = "zqx.user@example.org"
        for provider in WebhookSigner.providers {
            var request = WebhookSigner.request(provider, Array("{\"email\":\"\(user)\"}".utf8))
            request.headers[0].value += "x"
            #expect(try gateway.send(request).status == 401)
        }
        _ = try gateway.ask("GET", "/v1/users/\(user)/entitlement", key: "zqx-key")
        _ = try gateway.ask("GET", "/\(user)?name=zqx-name", headers: [HTTPHeader("X-Forwarded-For", "zqx")])
        try gateway.grant(user, until: nil)
        let event = RevenueCatEvent("evt_1", user: user, purchase: "tx_1")
        try gateway.deliver("revenuecat", event.body)
        try gateway.ask("DELETE", "/v1/users/\(user)")
        try gateway.stop()
        let log = Data((gateway.text(of: "gateway.log") + gateway.text(of: "gateway.out")).utf8)
        #expect(PersonalData.finds(in: log).isEmpty)
        for line in gateway.text(of: "gateway.log").split(separator: "\n") {
            #expect((try? JSONValue(parsing: String(line))) != nil, "no JSON object: \(line)")
        }
    }

    /// A user id itself is kept as given, even when a seller chose an e-mail address.
    @Test func aUserIDIsKept() throws {
        let gateway = try RunningGateway().start()
        let event = RevenueCatEvent("evt_1", user: "zqx.user@example.org", purchase: "tx_1")
        try gateway.deliver("revenuecat", event.body)
        #expect(try gateway.entitlement(of: "zqx.user%40example.org")["entitled"] == true)
    }

    /// Fields that real events have, one parked event each, so that what leaks is told by its place.
    @Test(arguments: [
        ("stripe", ["data", "object", "evidence"], #"{"customer_purchase_ip":"zqx-ip"}"#),
        ("stripe", ["data", "object", "evidence"], #"{"customer_signature":"zqx-signature"}"#),
        ("stripe", ["data", "object", "custom_fields"], #"[{"key":"nick","text":{"value":"zqx-free-text"}}]"#),
        ("stripe", ["data", "object", "collected_information"], #"{"business_name":"zqx-business"}"#),
        ("stripe", ["data", "object", "description"], #""Subscription of zqx-person""#),
        ("paddle", ["data", "business"], #"{"tax_identifier":"zqx-tax"}"#),
        ("polar", ["data", "user"], #"{"public_name":"zqx-public"}"#),
        ("polar", ["data", "customer"], #"{"avatar_url":"https://www.gravatar.com/avatar/zqx"}"#),
        ("creem", ["object", "customer"], #"{"id":"cust_1","object":"customer","tax_number":"zqx-tax"}"#),
    ])
    func fieldsOfRealEvents(provider: String, path: [String], field: String) throws {
        try Self.expectNothingKept(provider, path, try JSONValue(parsing: field))
    }

    /// What a person's data looks like when nothing gives it away but its meaning, and values that are nearly an address.
    @Test(arguments: [
        #"{"vorname":"zqx-first"}"#, #"{"tel":"0151 zqx"}"#, #"{"street_address":"zqx-street"}"#,
        #"{"postcode":"zqx-code"}"#, #"{"contact":{"person":"zqx-person"}}"#, #"{"cardholder":"zqx-holder"}"#,
        #"{"login":"zqx@localhost"}"#, #"{"return_url":"https://example.org/?mail=zqx%40example.org"}"#,
        #"{"mail_as_sign":"zqx＠example.org"}"#,
        #"{"user_id":{"email":"zqx.person@example.org"}}"#,
    ])
    func whatOnlyItsMeaningGivesAway(metadata: String) throws {
        try Self.expectNothingKept("stripe", ["data", "object", "metadata"], try JSONValue(parsing: metadata))
    }

    @Test func aNameThatIsAKeyIsNotKept() throws {
        let gateway = try RunningGateway().start()
        let sample = try #require(try Samples.all(of: "stripe").first { $0.name.contains("subscription") })
        let event = Self.anonymous(sample.event, "stripe")
            .setting(["data", "object", "metadata"], to: try JSONValue(parsing: #"{"zqx-name":"vip"}"#))
        _ = try Self.deliver(gateway, "stripe", event, id: "evt_1")
        try gateway.stop()
        try Self.expectNothingFound(gateway, "a key")
    }

    private static func expectNothingKept(
        _ provider: String,
        _ path: [String],
        _ value: JSONValue
    ) throws {
        let gateway = try RunningGateway().start()
        let sample = try #require(
            try Samples.all(of: provider).first { $0.name.contains("subscription") && !$0.name.contains("checkout") }
        )
        let event = anonymous(sample.event, provider).setting(path, to: value)
        let outcome = try deliver(gateway, provider, event, id: "evt_1")
        #expect(outcome == "parked" || outcome == "quarantined", "nothing is kept of \(outcome)")
        try gateway.stop()
        try expectNothingFound(gateway, "\(provider) \(path)")
    }
}
