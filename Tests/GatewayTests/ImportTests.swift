internal import Foundation
internal import TestSupport
internal import Testing

/// `import`: existing subscribers from a file (contract section 10).
@Suite("Import", .ownThread)
struct ImportTests {
    private static let header = "provider,purchase_id,user_id,product_id,status,access_until,period_start,updated_at\n"

    private static func run(_ gateway: RunningGateway, _ words: String...) throws -> CommandResult {
        try gateway.run(["import"] + words)
    }

    private static func report(_ result: CommandResult) throws -> JSONValue {
        try JSONValue(parsing: Array(result.output.utf8))
    }

    @Test func aPlainFileIsBroughtInBesideARunningGateway() throws {
        let gateway = try RunningGateway().start()
        let end = Clock.text(secondsFromNow: 86_400)
        try gateway.write(
            "\u{feff}" + Self.header
                + "stripe,sub_1,u1,price_1,active,\(end),2026-01-01T00:00:00Z,2026-01-02T00:00:00Z\r\n"
                + "creem,sub_2,u2,prod_1,trialing,\(end),,2026-01-02 10:00:00\r\n"
                + "\"paddle\",\"sub_3\",\"u,\"\"3\"\"\",pri_1,cancelled,\(end),,1767225600\n"
                + "stripe,sub_4,u4,price_1,expired,2026-01-01,,2026-01-02\n"
                + "stripe,sub_5,u5,price_1,refunded,\(end),,2026-01-02\n",
            to: "file.csv"
        )
        let result = try Self.run(gateway, "csv", "file.csv", "--json")
        #expect(result.status == .exited(0), "\(result.errors)")
        let report = try Self.report(result)
        #expect(report["lines"] == 5 && report["refused"] == 0 && report["outcomes"]?["applied"] == 5)
        #expect(try gateway.entitlement(of: "u1")["purchase_id"] == "sub_1")
        #expect(try gateway.entitlement(of: "u1")["entitled"] == true)
        #expect(try gateway.entitlement(of: "u2")["status"] == "trialing")
        let third = try gateway.entitlement(of: "u%2C%223%22")
        #expect(third["status"] == "active" && third["will_renew"] == false && third["provider"] == "paddle")
        #expect(try gateway.entitlement(of: "u4")["status"] == "expired")
        #expect(try gateway.entitlement(of: "u5")["status"] == "refunded")
        // Again: nothing twice.
        let again = try Self.report(try Self.run(gateway, "csv", "file.csv", "--json"))
        #expect(again["outcomes"]?["duplicate"] == 5)
        // Versions of both programs never meet.
        let version = try gateway.entitlement(of: "u5")["version"]?.integer ?? 0
        try gateway.grant("u9", until: nil)
        #expect(try gateway.entitlement(of: "u9")["version"]?.integer ?? 0 > version)
        let check = try gateway.run(["rebuild", "--check"])
        #expect(check.status == .exited(0), "\(check.output)")
    }

    @Test func whatCannotBeBroughtInIsToldByLine() throws {
        let gateway = try RunningGateway()
        try gateway.write(
            Self.header
                + "stripe,sub_1,u1,p,active,2030-01-01,,2026-01-01\n"
                + "nobody,sub_2,u2,p,active,2030-01-01,,2026-01-01\n"
                + "stripe,,u3,p,active,2030-01-01,,2026-01-01\n\n"
                + "stripe,sub_4,u4,p,active,,,2026-01-01\n"
                + "stripe,sub_5,u5,p,what,2030-01-01,,2026-01-01\n"
                + "stripe,sub_6,null,p,active,2030-01-01,,2026-01-01\n"
                + "stripe,sub_7,u7,p,active,2030-01-01,,\n"
                + "stripe,sub_8,\"u\n8\",p,active,soon,,2026-01-01\n"
                + "stripe,sub_9,u9,p,active,2030-01-01,,2026-01-01\n",
            to: "file.csv"
        )
        let result = try Self.run(gateway, "csv", "file.csv", "--refused", "refused.csv")
        #expect(result.status == .exited(1))
        #expect(result.output.contains("9 lines, 2 applied, 7 refused"))
        for (line, reason) in [
            (3, "nobody"), (4, "purchase_id"), (6, "one_time"), (7, "what"), (8, "user_id"), (9, "updated_at"),
            (10, "access_until"),
        ] {
            let told = result.errors.split(separator: "\n").first { $0.hasPrefix("line \(line): ") }
            #expect(told?.contains(reason) == true, "\(line): \(result.errors)")
        }
        #expect(gateway.text(of: "refused.csv").split(separator: "\n").count == 8)
    }

    @Test func anOlderImportUndoesNoNewerWebhook() throws {
        let gateway = try RunningGateway().start()
        let now = Clock.millis
        // What the import says of the same period is from yesterday; the provider's word since is that it is over.
        var event = RevenueCatEvent("evt_1", user: "u1", purchase: "tx_1")
        event.type = "EXPIRATION"
        (event.start, event.end, event.at) = (now - 20 * Clock.dayMillis, now - 1000, now)
        try gateway.deliver("revenuecat", event.body)
        #expect(try gateway.entitlement(of: "u1")["entitled"] == false)
        let start = Clock.text(event.start)
        try gateway.write(
            "provider,purchase_id,user_id,product_id,status,access_until,period_start,updated_at\n"
                + "app_store,tx_1,u1,pro_monthly,active,\(Clock.text(now + Clock.dayMillis)),\(start),"
                + "\(Clock.text(now - Clock.dayMillis))\n"
                + "stripe,sub_2,u2,p,active,\(Clock.text(now + Clock.dayMillis)),2026-01-01,2026-01-01\n",
            to: "file.csv"
        )
        #expect(try Self.run(gateway, "csv", "file.csv").status == .exited(0))
        #expect(try gateway.entitlement(of: "u2")["entitled"] == true)
        // A later webhook wins over what was brought in.
        let stripe = """
            {"id":"evt_s","type":"customer.subscription.deleted","created":\(now / 1000),"livemode":true,"data":{"object":{
            "id":"sub_2","customer":"cus_2","status":"canceled","ended_at":\(now / 1000 - 5),"metadata":{"user_id":"u2"},
            "items":{"data":[{"price":{"id":"p"},"current_period_start":\(now / 1000 - 86_400),
            "current_period_end":\(now / 1000 + 86_400)}]}}}}
            """
        #expect(try gateway.deliver("stripe", stripe) == "applied")
        #expect(try gateway.entitlement(of: "u2")["entitled"] == false)
        #expect(try Self.run(gateway, "csv", "file.csv").status == .exited(0))
        #expect(try gateway.entitlement(of: "u2")["entitled"] == false)
    }

    @Test func aDryRunWritesNothing() throws {
        let gateway = try RunningGateway()
        try gateway.write(
            Self.header + "stripe,sub_1,u1,p,active,2030-01-01,,2026-01-01\nx\n",
            to: "file.csv"
        )
        let first = try Self.run(gateway, "csv", "file.csv", "--dry-run")
        #expect(first.status == .exited(1) && first.output.contains("nothing was written: 2 lines, 1 new, 1 refused"))
        #expect(!FileManager.default.fileExists(atPath: gateway.database))
        try gateway.start()
        #expect(try Self.run(gateway, "csv", "file.csv").status == .exited(1))
        let events = try SQLDatabase(gateway.database).integer("SELECT count(*) FROM event")
        let again = try Self.run(gateway, "csv", "file.csv", "--dry-run")
        #expect(again.output.contains("1 known"))
        #expect(try SQLDatabase(gateway.database).integer("SELECT count(*) FROM event") == events)
    }

    @Test func anImportThatWasCutOffGoesOn() throws {
        let gateway = try RunningGateway()
        let lines = (0..<2000).map { "stripe,sub_\($0),u\($0),p,active,2030-01-01,,2026-01-01\n" }
        // The quote that is never closed stops the first run, as a kill would.
        try gateway.write(Self.header + lines[..<1500].joined() + "\"stripe,sub", to: "file.csv")
        let first = try Self.run(gateway, "csv", "file.csv")
        #expect(first.status == .exited(1) && first.errors.contains("line 1502"))
        let database = try SQLDatabase(gateway.database)
        #expect(try database.integer("SELECT count(*) FROM subscription") == 1500)
        #expect(try database.integer("SELECT count(*) FROM meta WHERE name LIKE 'import %'") == 1)
        let again = try Self.run(gateway, "csv", "file.csv", "--json")
        #expect(again.status == .exited(1))
        try gateway.write(Self.header + lines.joined(), to: "file.csv")
        let whole = try Self.report(try Self.run(gateway, "csv", "file.csv", "--json"))
        #expect(whole["outcomes"]?["applied"] == 500 && whole["outcomes"]?["duplicate"] == 1500)
        #expect(try database.integer("SELECT count(*) FROM subscription") == 2000)
        // The file that came to its end is forgotten.
        #expect(try database.integer("SELECT count(*) FROM meta WHERE name LIKE 'import %'") == 1)
    }

    @Test func receiversAreToldOnlyWhenAsked() throws {
        let receiver = try TestReceiver()
        let gateway = try RunningGateway(["NOTIFY_SECRET": TestReceiver.secret], config: receiver.config).start()
        try gateway.write(Self.header + "stripe,sub_1,u1,p,active,2030-01-01,,2026-01-01\n", to: "one.csv")
        try gateway.write(Self.header + "stripe,sub_2,u2,p,active,2030-01-01,,2026-01-01\n", to: "two.csv")
        #expect(try Self.run(gateway, "csv", "one.csv").status == .exited(0))
        #expect(try Self.run(gateway, "csv", "two.csv", "--notify").status == .exited(0))
        #expect(try receiver.deliveries(1)[0].data["user_id"] == "u2")
        try gateway.grant("u3", until: nil)
        #expect(try receiver.deliveries(2)[1].data["user_id"] == "u3")
    }

    @Test func whoListensSeesWhatAnotherProgramChanged() throws {
        let gateway = try RunningGateway().start()
        let stream = try EventStream(gateway.port)
        try gateway.write(Self.header + "stripe,sub_1,u1,p,active,2030-01-01,,2026-01-01\n", to: "one.csv")
        #expect(try Self.run(gateway, "csv", "one.csv").status == .exited(0))
        #expect(stream.next()?.json["data"]?["user_id"] == "u1")
    }

    // MARK: - Exports of providers

    @Test func revenueCatsTransactions() throws {
        let gateway = try RunningGateway().start()
        let (start, end) = ("2026-11-20 10:00:00", "2027-11-20 10:00:00")
        try gateway.write(
            "rc_original_app_user_id,rc_last_seen_app_user_id_alias,country,product_identifier,start_time,end_time,store,"
                + "is_auto_renewable,is_trial_period,is_sandbox,store_transaction_id,original_store_transaction_id,"
                + "refunded_at,unsubscribe_detected_at,billing_issues_detected_at,grace_period_end_time,"
                + "entitlement_identifiers\n"
                + "$RCAnonymousID:a,u1,DE,m,\(start),\(end),app_store,true,false,false,200,100,,,,,\"[\"\"pro\"\"]\"\n"
                + "u2,u2,DE,m,\(start),\(end),play_store,true,true,false,GPA.1,GPA.1,,2026-11-21 10:00:00,,,[pro]\n"
                + "u3,u3,DE,m,\(start),\(end),app_store,true,false,false,300,300,2026-11-22 10:00:00,,,,[pro]\n"
                + "u4,u4,DE,life,\(start),,app_store,false,false,false,400,400,,,,,\"[\"\"pro\"\"]\"\n"
                + "u5,u5,DE,m,\(start),\(end),app_store,true,false,true,500,500,,,,,[pro]\n"
                + "$RCAnonymousID:b,$RCAnonymousID:b,DE,m,\(start),\(end),app_store,true,f,f,600,600,,,,,[pro]\n"
                + "u7,u7,DE,m,,\(end),app_store,true,f,f,700,700,,,,,[pro]\n",
            to: "rc.csv"
        )
        let result = try Self.run(gateway, "revenuecat", "rc.csv", "--json")
        #expect(try Self.report(result)["refused"] == 1)
        let first = try gateway.entitlement(of: "u1")
        #expect(first["entitled"] == true && first["purchase_id"] == "100" && first["provider"] == "revenuecat")
        #expect(first["store"] == "app_store" && first["access_until"] == "2027-11-20T10:00:00.000Z")
        let second = try gateway.entitlement(of: "u2")
        #expect(second["status"] == "trialing" && second["will_renew"] == false)
        #expect(try gateway.entitlement(of: "u3")["status"] == "refunded")
        #expect(try gateway.entitlement(of: "u4")["lifetime"] == true)
        #expect(try gateway.entitlement(of: "u5")["entitled"] == false)
        #expect(try gateway.entitlement(of: "u5", "environment=sandbox")["entitled"] == true)
        // The webhook that follows speaks of the same purchase.
        var event = RevenueCatEvent("evt_1", user: "u1", purchase: "100")
        event.type = "EXPIRATION"
        (event.start, event.end, event.at) = (Clock.millis - 1000, Clock.millis - 500, Clock.millis)
        #expect(try gateway.deliver("revenuecat", event.body) == "applied")
        #expect(try gateway.entitlement(of: "u1")["entitled"] == false)
    }

    @Test func withoutNamesOfEntitlementsTheFileIsRefusedWhole() throws {
        let gateway = try RunningGateway()
        let columns = "rc_original_app_user_id,product_identifier,start_time,end_time,store,store_transaction_id"
        try gateway.write(columns + "\nu1,m,2026-11-20,2030-01-01,app_store,1\n", to: "rc.csv")
        let result = try Self.run(gateway, "revenuecat", "rc.csv")
        #expect(result.status == .exited(1) && result.errors.contains("entitlement_identifiers"))
        try gateway.write("{\"products\": {\"revenuecat\": {\"m\": [\"pro\"]}}}", to: "gateway.json")
        #expect(try Self.run(gateway, "revenuecat", "rc.csv").status == .exited(0))
        try gateway.start()
        #expect(try gateway.entitlement(of: "u1")["entitled"] == true)
    }

    @Test func stripesSubscriptions() throws {
        let gateway = try RunningGateway().start()
        try gateway.write(
            "id,Customer ID,Customer Email,Plan,Status,Created (UTC),Current Period Start (UTC),"
                + "Current Period End (UTC),Canceled At (UTC),Ended At (UTC),Cancel At Period End,userId (metadata)\n"
                + "sub_1,cus_1,a@example.org,price_1,active,2026-01-01 10:00,2026-11-20 10:00,2027-11-20 10:00,,,false,u1\n"
                + "sub_2,cus_2,b@example.org,price_1,canceled,2026-01-01 10:00,2026-11-01 10:00,2027-11-20 10:00,"
                + "2026-11-02 10:00,2026-11-02 10:00,false,u2\n"
                + "sub_3,cus_3,c@example.org,price_1,active,2026-01-01 10:00,2026-11-20 10:00,2027-11-20 10:00,,,true,\n",
            to: "stripe.csv"
        )
        let report = try Self.report(try Self.run(gateway, "stripe", "stripe.csv", "--json"))
        #expect(report["outcomes"]?["applied"] == 2 && report["outcomes"]?["parked"] == 1)
        // The minute in which a period ends is part of it.
        #expect(try gateway.entitlement(of: "u1")["access_until"] == "2027-11-20T10:01:00.000Z")
        #expect(try gateway.entitlement(of: "u2")["entitled"] == false)
        try gateway.ask(
            "POST",
            "/v1/users/u3/identities",
            body: "{\"provider\": \"stripe\", \"external_id\": \"cus_3\"}"
        )
        #expect(try gateway.entitlement(of: "u3")["entitled"] == true)
        try gateway.stop()
        for (name, bytes) in try gateway.bytes(ofFilesNamed: "gateway.db") {
            #expect(PersonalData.finds(of: "example.org", in: bytes).isEmpty, "\(name)")
        }
    }

    @Test func usage() throws {
        let gateway = try RunningGateway()
        #expect(try Self.run(gateway, "csv").status == .exited(2))
        #expect(try Self.run(gateway, "xls", "file").status == .exited(2))
        #expect(try Self.run(gateway, "csv", "missing.csv").status == .exited(1))
        #expect(try Self.run(gateway, "--help").output.contains("--dry-run"))
        try gateway.write("", to: "empty.csv")
        #expect(try Self.run(gateway, "csv", "empty.csv").errors.contains("nothing in it"))
        try gateway.write("a,b\n1,2\n", to: "other.csv")
        let other = try Self.run(gateway, "csv", "other.csv")
        #expect(other.status == .exited(1) && other.errors.contains("no column provider, purchase_id"))
        try gateway.write("purchase_id\nx\n", to: "other.csv")
        #expect(try Self.run(gateway, "csv", "other.csv", "--provider", "x").errors.contains("known are"))
    }
}
