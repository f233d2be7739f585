internal import TestSupport
internal import Testing

/// What the README's "Start" promises to somebody who has just built the program.
@Suite("The first hour", .ownThread)
struct FirstHourTests {
    /// As `scripts/run` writes it.
    private static let environmentFile = """
        # Made by a test.
        GATEWAY_ADMIN_KEY=\(RunningGateway.adminKey)
        GATEWAY_READ_KEY=\(RunningGateway.readKey)
        REVENUECAT_WEBHOOK_AUTHORIZATION=Bearer 0123456789abcdef
        REVENUECAT_WEBHOOK_SECRET=0123456789abcdef0123456789abcdef
        CREEM_WEBHOOK_SECRET=whsec_0123456789abcdef
        STRIPE_WEBHOOK_SECRET=whsec_fedcba9876543210

        """

    /// Nothing but the file: no secret comes from the environment.
    private static func gateway() throws -> RunningGateway {
        let gateway = try RunningGateway()
        gateway.environment = [:]
        try gateway.write(environmentFile, to: "gateway.env")
        gateway.arguments = ["--env-file", "gateway.env"]
        return try gateway.start()
    }

    private static func simulate(_ gateway: RunningGateway, _ words: String...) throws -> CommandResult {
        try gateway.run(["simulate"] + words + ["--env-file", "gateway.env"])
    }

    private static func entitled(_ gateway: RunningGateway, _ user: String, _ environment: String) throws -> Bool? {
        try gateway.entitlement(of: user, "environment=\(environment)")["entitled"]?.bool
    }

    @Test func somebodyBuysAndGetsTheirMoneyBack() throws {
        let gateway = try Self.gateway()
        let before = try gateway.entitlement(of: "demo", "environment=sandbox")
        #expect(before["entitled"] == false)
        #expect(before["status"] == "none")

        let bought = try Self.simulate(gateway, "revenuecat", "initial_purchase", "--user", "demo")
        #expect(bought.status == .exited(0), "\(bought.errors)")
        #expect(try JSONValue(parsing: bought.output)["outcome"] == "applied")
        let after = try gateway.entitlement(of: "demo", "environment=sandbox")
        #expect(after["entitled"] == true)
        #expect(after["status"] == "active")
        #expect(after["provider"] == "revenuecat")
        #expect(try Self.entitled(gateway, "demo", "production") == false)
        #expect(try Self.entitled(gateway, "somebody-else", "sandbox") == false)

        let refunded = try Self.simulate(gateway, "revenuecat", "refund", "--user", "demo")
        #expect(refunded.status == .exited(0), "\(refunded.errors)")
        let end = try gateway.entitlement(of: "demo", "environment=sandbox")
        #expect(end["entitled"] == false)
        #expect(end["status"] == "refunded")
    }

    @Test(arguments: [
        ("creem", ["checkout.completed", "subscription.paid"], "refund.created"),
        (
            "stripe", ["customer.subscription.created", "invoice.paid.first", "invoice_payment.paid.first"],
            "charge.refunded"
        ),
        (
            "stripe", ["customer.subscription.created", "invoice.paid.first", "invoice_payment.paid.first"],
            "charge.dispute.created"
        ),
        ("stripe", ["checkout.session.completed.payment"], "charge.refunded.payment"),
        ("stripe", ["checkout.session.completed.payment"], "charge.dispute.created.payment"),
    ])
    func webBillingDoesTheSame(provider: String, purchase: [String], refund: String) throws {
        let gateway = try Self.gateway()
        for event in purchase {
            let result = try Self.simulate(gateway, provider, event, "--user", "demo")
            #expect(result.status == .exited(0), "\(event): \(result.output) \(result.errors)")
        }
        #expect(try Self.entitled(gateway, "demo", "sandbox") == true)
        #expect(try Self.entitled(gateway, "demo", "production") == false)
        let result = try Self.simulate(gateway, provider, refund, "--user", "demo")
        #expect(result.status == .exited(0), "\(result.output) \(result.errors)")
        #expect(try Self.entitled(gateway, "demo", "sandbox") == false, "\(result.output)")
    }

    @Test func productionWhenAskedFor() throws {
        let gateway = try Self.gateway()
        let result = try Self.simulate(
            gateway,
            "stripe",
            "customer.subscription.created",
            "--user",
            "demo",
            "--environment",
            "production"
        )
        #expect(result.status == .exited(0), "\(result.errors)")
        #expect(try Self.entitled(gateway, "demo", "production") == true)
        #expect(try Self.entitled(gateway, "demo", "sandbox") == false)
    }

    @Test(arguments: ["creem", "revenuecat", "stripe"])
    func everySampleIsTaken(provider: String) throws {
        let gateway = try Self.gateway()
        let list = try gateway.run(["simulate", provider, "--env-file", "gateway.env"])
        #expect(list.status == .exited(0))
        let samples = list.output.split(separator: "\n").dropFirst().map { $0.trimmingPrefix { $0 == " " } }
        #expect(samples.map(String.init) == (try Samples.all(of: provider).map(\.name).sorted()))
        for sample in samples {
            let result = try Self.simulate(gateway, provider, String(sample), "--user", "u-\(sample)")
            #expect(result.status == .exited(0), "\(sample): \(result.output) \(result.errors)")
            let outcome = try JSONValue(parsing: result.output)["outcome"]?.string
            #expect(outcome != nil && outcome != "quarantined", "\(sample): \(result.output)")
        }
        #expect(try gateway.ask("GET", "/v1/events?outcome=quarantined").json()["events"]?.array.isEmpty == true)
    }

    /// The samples of providers that are not in the README's file, as they are, signed as the provider signs.
    @Test(arguments: WebhookSigner.providers)
    func everySampleIsUnderstoodAsItIs(provider: String) throws {
        let gateway = try RunningGateway().start()
        for (name, event) in try Samples.all(of: provider) {
            #expect(try gateway.deliver(provider, event.compact, id: "msg_\(name)") != "quarantined", "\(name)")
        }
    }

    @Test func mistakesAreExplained() throws {
        let gateway = try Self.gateway()
        let noUser = try Self.simulate(gateway, "revenuecat", "initial_purchase")
        #expect(noUser.status == .exited(2))
        #expect(noUser.errors.contains("--user"))
        let noSample = try Self.simulate(gateway, "revenuecat", "no_such_event", "--user", "demo")
        #expect(noSample.status == .exited(1))
        #expect(noSample.errors.contains("initial_purchase"), "\(noSample.errors)")
        let noProvider = try Self.simulate(gateway, "paypal", "sale", "--user", "demo")
        #expect(noProvider.status == .exited(1))
        #expect(noProvider.errors.contains("creem"), "\(noProvider.errors)")
        let off = try Self.simulate(gateway, "paddle", "subscription.created", "--user", "demo")
        #expect(off.status == .exited(1))
        #expect(off.errors.contains("PADDLE_WEBHOOK_SECRET"), "\(off.errors)")
        try gateway.stop()
        let nobodyThere = try Self.simulate(gateway, "revenuecat", "initial_purchase", "--user", "demo")
        #expect(nobodyThere.status == .exited(1))
        #expect(nobodyThere.errors.contains("serve"), "\(nobodyThere.errors)")
    }

    /// A secret that the gateway does not have is refused, and the command says so by its status.
    @Test func aWrongSecretIsRefused() throws {
        let gateway = try Self.gateway()
        let result = try gateway.run(
            ["simulate", "stripe", "customer.subscription.created", "--user", "demo", "--env-file", "gateway.env"],
            changes: ["STRIPE_WEBHOOK_SECRET": "whsec_of_somebody_else"]
        )
        #expect(result.status == .exited(1))
        #expect(try JSONValue(parsing: result.output)["code"] == "unauthorized")
        #expect(try Self.entitled(gateway, "demo", "sandbox") == false)
    }
}
