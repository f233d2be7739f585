internal import Foundation
internal import TestSupport
internal import Testing

/// `doctor --manifest`: what a delivery would do, told by the engine itself.
@Suite("A manifest on trial", .ownThread)
struct ManifestTrialTests {
    private static let manifest = Samples.tree.appendingPathComponent("providers/stripe/stripe.json").path
    private static let body = Samples.tree
        .appendingPathComponent("providers/stripe/samples/customer.subscription.created.json").path

    private static func trial(
        _ gateway: RunningGateway,
        _ words: [String],
        changes: [String: String?] = [:]
    ) throws -> (result: CommandResult, steps: [(step: String, text: String)]) {
        let result = try gateway.run(["doctor", "--manifest", manifest, "--json"] + words, changes: changes)
        let report = try? JSONValue(parsing: result.output)
        let steps = (report?["steps"]?.array ?? []).map { ($0["step"]?.string ?? "", $0["text"]?.string ?? "") }
        return (result, steps)
    }

    /// The headers that the provider would send with a body now.
    private static func headers(_ path: String) throws -> [String] {
        let body = Array(try Data(contentsOf: URL(fileURLWithPath: path)))
        return WebhookSigner.request("stripe", body).headers.flatMap { ["--header", "\($0.name): \($0.value)"] }
    }

    @Test func everyStepOfADelivery() throws {
        let gateway = try RunningGateway()
        let (result, steps) = try Self.trial(gateway, ["--deliver", Self.body] + Self.headers(Self.body))
        #expect(result.status == .exited(0), "\(result.errors)")
        func text(_ step: String) -> String { steps.first { $0.step == step }?.text ?? "no \(step)" }
        #expect(text("signature") == "believed")
        #expect(text("id") == "/id = \"evt_1cL4vbDQx31wOF7yl5SpR7AY\"")
        #expect(text("type") == "/type = \"customer.subscription.created\"")
        #expect(text("environment") == "production")
        #expect(text("time") == "/created = 1793523602: 2026-11-01T09:00:02.000Z")
        #expect(text("rule") == "/rules/0 speaks of this event")
        #expect(text("user") == "user_9f2c71, from /data/object/metadata/user_id")
        #expect(text("customer") == "cus_DD8FGjjePcb3ym")
        #expect(text("purchase") == "sub_16czcaHSZVDejP0EI1wO4PIP (subscription)")
        #expect(text("status") == "/data/object/status = \"active\": active")
        #expect(text("end").hasSuffix("until 2026-12-01T09:00:00.000Z"))
        #expect(text("effect").contains("until 2026-12-01T09:00:00.000Z"))
        let later = try Self.trial(
            gateway,
            ["--deliver", Self.body, "--at", "2026-11-20T00:00:00Z"] + Self.headers(Self.body)
        )
        #expect(later.steps.contains { $0.step == "effect" && $0.text.contains(": entitled, active") })
    }

    /// The trial says what the gateway does with the same delivery: the outcome, and who is entitled until when.
    @Test func theTrialAndTheGatewayAgree() throws {
        let gateway = try RunningGateway().start()
        for (name, event) in try Samples.all(of: "stripe") {
            try gateway.write(event.compact, to: "body.json")
            let path = gateway.folder.file("body.json")
            let (_, steps) = try Self.trial(gateway, ["--deliver", path] + Self.headers(path))
            let outcome = try gateway.deliver("stripe", event.compact, id: name)
            let effects = steps.filter { $0.step == "effect" }.map(\.text)
            #expect(
                effects.contains { $0.hasPrefix("observed") } == (outcome == "observed"),
                "\(name): \(outcome) \(effects)"
            )
            #expect(effects.contains { $0.hasPrefix("quarantined") } == (outcome == "quarantined"), "\(name)")
        }
    }

    @Test func whatIsRefusedSaysWhy() throws {
        let gateway = try RunningGateway()
        func signature(_ words: [String], changes: [String: String?] = [:]) throws -> String {
            let (result, steps) = try Self.trial(gateway, ["--deliver", Self.body] + words, changes: changes)
            #expect(result.status == .exited(1))
            #expect(steps.contains { $0.step == "answer" && $0.text.hasPrefix("401") })
            #expect(steps.contains { $0.step == "effect" }, "the rest is told all the same")
            return steps.first { $0.step == "signature" }?.text ?? ""
        }
        #expect(try signature([]).contains("no header Stripe-Signature"))
        #expect(try signature(["--header", "Stripe-Signature: nothing"]).contains("cannot be read"))
        let headers = try Self.headers(Self.body)
        #expect(try signature(headers, changes: ["STRIPE_WEBHOOK_SECRET": "another"]).contains("no secret that is set"))
        #expect(try signature(headers + ["--at", "2030-01-01T00:00:00Z"]).contains("too far from now"))
        let without = try Self.trial(gateway, [], changes: ["STRIPE_WEBHOOK_SECRET": nil])
        #expect(without.steps.contains { $0.step == "secret" && $0.text.contains("is not set") })
    }

    @Test func whatCannotBeUnderstoodIsToldByItsField() throws {
        let gateway = try RunningGateway()
        let sample = try #require(try Samples.all(of: "stripe").first { $0.name == "customer.subscription.created" })
        let items = ["data", "object", "items", "data"]
        try gateway.write(sample.event.setting(items, to: []).compact, to: "body.json")
        let path = gateway.folder.file("body.json")
        let (result, steps) = try Self.trial(gateway, ["--deliver", path] + Self.headers(path))
        #expect(result.status == .exited(1))
        #expect(steps.contains { $0.text == "quarantined: a subscription without the end of its period" }, "\(steps)")
    }

    @Test func mistakesOfTheCall() throws {
        let gateway = try RunningGateway()
        #expect(try gateway.run(["doctor", "--deliver", "x"]).status == .exited(2))
        for words in [
            ["--deliver", "nowhere"], ["--deliver", Self.body, "--header", "nothing"],
            ["--deliver", Self.body, "--at", "soon"],
        ] {
            #expect(try Self.trial(gateway, words).result.status == .exited(1), "\(words)")
        }
        try gateway.write("{\"name\":\"shop\",}", to: "shop.json")
        let broken = try gateway.run(["doctor", "--manifest", "shop.json"])
        #expect(broken.status == .exited(1) && broken.errors.contains("line 1, column 16"), "\(broken.errors)")
    }
}
