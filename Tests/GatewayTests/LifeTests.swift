internal import Foundation
internal import TestSupport
internal import Testing

/// `simulate PROVIDER --life`: every provider's samples are a whole life, and the gate's answer follows it.
@Suite("A simulated life", .ownThread)
struct LifeTests {
    static let stages = ["checkout", "active", "renewed", "past_due", "recovered", "cancelled", "expired"]

    /// What the gate must say after each stage.
    static func expectLife(_ result: CommandResult, of provider: String) throws {
        #expect(result.status == .exited(0), "\(provider): \(result.errors)")
        let lines = try result.output.split(separator: "\n").map { try JSONValue(parsing: String($0)) }
        #expect(lines.compactMap { $0["stage"]?.string } == stages, "\(provider)")
        var answers: [String: JSONValue] = [:]
        for line in lines {
            let stage = line["stage"]?.string ?? ""
            answers[stage] = line["answer"]
            for event in line["events"]?.array ?? [] {
                let outcome = event["outcome"]?.string ?? ""
                let expected = ["applied", "unchanged", "observed"]
                #expect(expected.contains(outcome), "\(provider) \(stage) \(event.compact)")
            }
        }
        func answer(_ stage: String, _ field: String) -> JSONValue { answers[stage]?[field] ?? .null }
        for stage in stages.dropFirst().dropLast() {
            #expect(answer(stage, "entitled") == true, "\(provider) \(stage)")
        }
        for stage in ["active", "renewed", "recovered"] {
            #expect(answer(stage, "status") == "active", "\(provider) \(stage)")
            #expect(answer(stage, "will_renew") == true, "\(provider) \(stage)")
        }
        #expect(
            (answer("renewed", "access_until").string ?? "") > (answer("active", "access_until").string ?? "~"),
            "\(provider)"
        )
        #expect(answer("past_due", "status") == "grace", "\(provider)")
        #expect(answer("cancelled", "status") == "active" && answer("cancelled", "will_renew") == false, "\(provider)")
        #expect(answer("expired", "entitled") == false && answer("expired", "status") == "expired", "\(provider)")
    }

    /// Every folder of the tree that has a life.
    private static let providers: [String] = {
        let root = Samples.tree.appendingPathComponent("providers")
        let folders = (try? FileManager.default.contentsOfDirectory(atPath: root.path)) ?? []
        return folders.filter {
            FileManager.default.fileExists(atPath: root.appendingPathComponent("\($0)/life.json").path)
        }
        .sorted()
    }()

    /// The variable of a manifest that these tests know nothing of, with a secret of the kind it wants.
    private static func secret(of provider: String) throws -> [String: String] {
        guard !WebhookSigner.providers.contains(provider) else { return [:] }
        let file = Samples.tree.appendingPathComponent("providers/\(provider)/\(provider).json")
        let manifest = try JSONValue(parsing: try Data(contentsOf: file))
        let isBasic = manifest["signature"]?["scheme"] == "basic"
        return [manifest["secret"]?.string ?? "": isBasic ? "user:password,new:password" : "whsec_c2VjcmV0"]
    }

    @Test func everyProviderHasALife() {
        #expect(Set(WebhookSigner.providers).isSubset(of: Self.providers))
    }

    @Test(arguments: providers)
    func everyProviderLives(provider: String) throws {
        let gateway = try RunningGateway(try Self.secret(of: provider)).start()
        let result = try gateway.run(["simulate", provider, "--life", "--user", "u1", "--pause", "0", "--json"])
        try Self.expectLife(result, of: provider)
        let text = try gateway.run(["simulate", provider, "--life", "--user", "u 2ä", "--pause", "0"])
        #expect(text.output.split(separator: "\n").count == Self.stages.count, "\(text.errors)")
        #expect(text.output.contains("expired    not entitled, expired"), "\(text.output)")
        #expect(try gateway.ask("GET", "/v1/events?outcome=quarantined").json()["events"]?.array.isEmpty == true)
    }

    @Test func pausesAndMistakes() throws {
        let gateway = try RunningGateway().start()
        let start = ContinuousClock.now
        let slow = try gateway.run(["simulate", "creem", "--life", "--user", "u1", "--pause", "0.1"])
        #expect(slow.status == .exited(0) && start.duration(to: .now) > .milliseconds(600))
        for words in [
            ["creem", "--life"], ["creem", "subscription.paid", "--life", "--user", "u1"],
            ["creem", "--life", "--user", "u1", "--pause", "-1"],
            ["creem", "--life", "--user", "u1", "--pause", "soon"],
            ["creem", "subscription.paid", "--user", "u1", "--pause", "1"],
        ] {
            #expect(try gateway.run(["simulate"] + words).status == .exited(2), "\(words)")
        }
        let noKey = try gateway.run(
            ["simulate", "creem", "--life", "--user", "u1"],
            changes: ["GATEWAY_READ_KEY": nil, "GATEWAY_ADMIN_KEY": nil]
        )
        #expect(noKey.status == .exited(1) && noKey.errors.contains("GATEWAY_READ_KEY"))
        #expect(try gateway.run(["simulate", "creem", "--life", "--user", ""]).status == .exited(1))
    }
}
