internal import Foundation
internal import TestSupport
internal import Testing

/// `GET /admin`: how the page is served, and every act of it in a real browser. Pictures of the acts are kept under the build
/// folder, in `screenshots`.
@Suite("The operators' page", .ownThread)
struct PageTests {
    private static func gateway(_ environment: [String: String] = [:], config: String? = nil) throws -> RunningGateway {
        try RunningGateway(environment, config: config).start()
    }

    /// A browser with the page, signed in.
    private static func signedIn(_ gateway: RunningGateway, key: String = RunningGateway.adminKey) throws -> Browser {
        let browser = try Browser()
        try browser.visit("http://\(gateway.listen)/admin")
        try browser.fill("#key", key)
        try browser.click("#sign-in-form button")
        try browser.wait(for: "!document.querySelector('#view').hidden && document.querySelector('#user-id')")
        return browser
    }

    private static func open(_ view: String, in browser: Browser) throws {
        try browser.click("#tab-\(view)")
        try browser.wait(for: "document.querySelector('#view').dataset.shown === '\(view)'")
    }

    private static func find(_ user: String, in browser: Browser) throws {
        try open("user", in: browser)
        try browser.fill("#user-id", user)
        try browser.click("#find button")
        try browser.wait(for: "document.querySelector('#row')?.innerText.includes(\(Browser.quoted(user)))")
    }

    /// Nothing was asked of anybody but the gateway, and the browser had nothing to complain of.
    private static func expectQuiet(_ browser: Browser, _ gateway: RunningGateway) throws {
        // Whatever was said meanwhile comes with the answer to one more question.
        try browser.evaluate("1")
        let outside = browser.requests.filter {
            !$0.hasPrefix("http://\(gateway.listen)/") && !$0.hasPrefix("data:") && $0 != "about:blank"
        }
        #expect(outside.isEmpty, "\(outside)")
        #expect(browser.complaints.isEmpty, "\(browser.complaints)")
    }

    // MARK: - How it is served

    @Test func itIsServedWithoutAKeyAndHoldsNothing() throws {
        let gateway = try Self.gateway()
        try gateway.grant("somebody", until: nil)
        let page = try gateway.ask("GET", "/admin", key: nil)
        #expect(page.status == 200 && page.header("Content-Type") == "text/html; charset=utf-8")
        #expect(page.header("X-Frame-Options") == "DENY" && page.header("Referrer-Policy") == "no-referrer")
        #expect(page.header("X-Content-Type-Options") == "nosniff" && page.header("Cache-Control") == "no-store")
        #expect(!page.text.contains("somebody") && !page.text.contains(RunningGateway.adminKey))
        for word in ["http://www.w3.org/2000/svg", "https://", "http://"] where word != "http://www.w3.org/2000/svg" {
            let text = page.text.replacingOccurrences(of: "http://www.w3.org/2000/svg", with: "")
            #expect(!text.contains(word), "it names another place")
        }
        for handler in [" onclick=", " onload=", " onsubmit=", " style=", "innerHTML", "javascript:"] {
            #expect(!page.text.contains(handler), "\(handler)")
        }
        let policy = page.header("Content-Security-Policy") ?? ""
        let directives = policy.components(separatedBy: "; ")
        #expect(directives.contains("default-src 'none'") && directives.contains("frame-ancestors 'none'"))
        #expect(directives.contains("connect-src 'self'") && directives.contains("base-uri 'none'"))
        #expect(!policy.contains("unsafe"))
        for (element, directive) in [("script", "script-src"), ("style", "style-src")] {
            let content = page.text.components(separatedBy: "<\(element)>")[1].components(separatedBy: "</\(element)>")[
                0
            ]
            let digest = Data(SHA256Digest.digest(Array(content.utf8))).base64EncodedString()
            #expect(directives.contains("\(directive) 'sha256-\(digest)'"), "\(policy)")
        }
        #expect(try gateway.ask("HEAD", "/admin", key: nil).status == 200)
        #expect(try gateway.ask("POST", "/admin", key: nil).status == 405)
    }

    // MARK: - Lists for operators

    @Test func providersTellWhyTheyAreOff() throws {
        let gateway = try RunningGateway(config: #"{"products": {"creem": {"prod_1": ["pro"]}}}"#)
        gateway.environment["STRIPE_WEBHOOK_SECRET"] = nil
        try gateway.start()
        try gateway.deliver("creem", BrokenManifest.paid("evt_1"))
        #expect(try gateway.ask("POST", "/v1/webhooks/creem", key: nil, body: "{}").status == 401)
        let answer = try gateway.ask("GET", "/v1/providers").json()
        func provider(_ name: String) -> JSONValue? {
            answer["providers"]?.array.first { $0["provider"] == .string(name) }
        }
        let creem = try #require(provider("creem"))
        #expect(creem["on"] == true && creem["set_to_turn_on"] == .null && creem["products"] == "mapped")
        #expect(creem["outcomes"]?["applied"] == 1 && creem["outcomes"]?["unauthorized"] == 1)
        #expect(creem["last_delivery_at"]?.string?.hasSuffix("Z") == true)
        let stripe = try #require(provider("stripe"))
        #expect(stripe["on"] == false && stripe["set_to_turn_on"] == "STRIPE_WEBHOOK_SECRET")
        #expect(stripe["last_delivery_at"] == .null)
        for path in ["/v1/providers", "/v1/purchases/parked", "/v1/purchases/overlapping"] {
            try ReadTests.expectProblem(
                try gateway.ask("GET", path, key: RunningGateway.readKey),
                403,
                "forbidden",
                "\(path)"
            )
            try ReadTests.expectProblem(try gateway.ask("GET", path, key: nil), 401, "unauthorized", "\(path)")
            #expect(try gateway.ask("POST", path).status == 405)
        }
    }

    @Test func parkedPurchasesAreReadInPagesAndClaimed() throws {
        let gateway = try Self.gateway()
        for number in 1...5 {
            let event = BrokenManifest.paid("evt_\(number)", of: "sub_\(number)", user: nil)
            #expect(try gateway.deliver("creem", event) == "parked")
        }
        var found: [String] = []
        var next: String? = ""
        while let after = next {
            let page = try gateway.ask("GET", "/v1/purchases/parked?limit=2" + (after.isEmpty ? "" : "&after=\(after)"))
                .json()
            found += (page["purchases"]?.array ?? []).compactMap { $0["purchase_id"]?.string }
            next = page["next"]?.string
        }
        #expect(found == ["sub_5", "sub_4", "sub_3", "sub_2", "sub_1"])
        // What is offered as a claim is one.
        let first = try gateway.ask("GET", "/v1/purchases/parked?limit=1").json()["purchases"]?.array.first
        for (index, claim) in (first?["claims"]?.array ?? []).enumerated() {
            let body =
                "{\"provider\":\(claim["provider"]?.compact ?? ""),\"external_id\":\(claim["external_id"]?.compact ?? "")}"
            #expect(try gateway.ask("POST", "/v1/users/u\(index)/identities", body: body).status == 201, "\(body)")
            #expect(try gateway.entitlement(of: "u\(index)")["entitled"] == true, "\(body)")
        }
        #expect((first?["claims"]?.array ?? []).count >= 2)
        #expect(try gateway.ask("GET", "/v1/purchases/parked").json()["purchases"]?.array.count == 4)
        #expect(try gateway.ask("GET", "/v1/purchases/parked?limit=0").status == 400)
        // The person is gone, and so is the purchase from this list: it waits for nobody.
        #expect(try gateway.ask("DELETE", "/v1/users/u0").status == 204)
        #expect(try gateway.ask("DELETE", "/v1/users/u1").status == 204)
        #expect(try gateway.ask("GET", "/v1/purchases/parked").json()["purchases"]?.array.count == 4)
    }

    @Test func whoPaysTwiceIsListed() throws {
        let gateway = try Self.gateway()
        try gateway.deliver("creem", BrokenManifest.paid("evt_1", of: "sub_1"))
        try gateway.deliver("creem", BrokenManifest.paid("evt_2", of: "sub_2"))
        try gateway.deliver("creem", BrokenManifest.paid("evt_3", of: "sub_3", user: "u2"))
        let answer = try gateway.ask("GET", "/v1/purchases/overlapping").json()
        #expect(answer["count"] == 1 && answer["people"]?.array.count == 1)
        let person = answer["people"]?.array.first
        #expect(person?["user_id"] == "u1")
        #expect(
            Set((person?["purchases"]?.array ?? []).compactMap { $0["purchase_id"]?.string }) == ["sub_1", "sub_2"]
        )
        #expect(person?["purchases"]?.array.first?["provider"] == "creem")
    }

    @Test func aGrantIsRevokedWithAReason() throws {
        let gateway = try Self.gateway()
        try gateway.grant("u1", until: nil, id: "g1")
        #expect(try gateway.ask("DELETE", "/v1/users/u1/grants/g1?reason=a%20mistake").status == 200)
        let entry = try gateway.ask("GET", "/v1/audit?limit=1").json()["audit"]?.array.first
        #expect(entry?["action"] == "end_grant" && entry?["detail"] == "g1: a mistake")
        let long = String(repeating: "x", count: 2001)
        #expect(try gateway.ask("DELETE", "/v1/users/u1/grants/g1?reason=\(long)").status == 400)
    }

    // MARK: - In a browser

    private static let isInstalled = Browser.program != nil

    @Test(.enabled(if: isInstalled, "chromium is not installed: scripts/test installs it"))
    func somebodySignsInAndOut() throws {
        let gateway = try Self.gateway()
        let browser = try Browser()
        try browser.visit("http://\(gateway.listen)/admin")
        #expect(try browser.evaluate("document.activeElement.id") == "key")
        for (key, told) in [("wrong", "401"), (RunningGateway.readKey, "may only read")] {
            try browser.fill("#key", key)
            try browser.press("Enter")
            try browser.wait(forText: told, in: "#said")
            #expect(try browser.evaluate("document.querySelector('#view').hidden") == true)
        }
        try browser.keepPicture("sign-in")
        try browser.fill("#key", RunningGateway.adminKey)
        try browser.press("Enter")
        try browser.wait(for: "document.querySelector('#user-id')")
        // The key is nowhere but in the script's memory.
        let kept =
            "JSON.stringify([localStorage, sessionStorage, document.cookie, location.href, document.documentElement.outerHTML])"
        #expect(try browser.evaluate("\(kept).includes('\(RunningGateway.adminKey)')") == false)
        #expect(try browser.evaluate("document.querySelector('#key').value") == "")
        try browser.click("#sign-out")
        try browser.wait(forText: "Signed out", in: "#said")
        #expect(try browser.evaluate("document.querySelector('#view').children.length") == 0)
        try Self.expectQuiet(browser, gateway)
    }

    @Test(.enabled(if: isInstalled, "chromium is not installed: scripts/test installs it"))
    func aUserIsFoundAndExplained() throws {
        let gateway = try Self.gateway()
        try gateway.deliver("creem", BrokenManifest.paid("evt_1"))
        let revenuecat = RevenueCatEvent("evt_2", user: "u1", purchase: "tx_1")
        try gateway.deliver("revenuecat", revenuecat.body)
        let licence = try gateway.ask("POST", "/v1/licenses", body: #"{"user_id":"u1","max_devices":3}"#)
        #expect(licence.status == 201)
        let browser = try Self.signedIn(gateway)
        try Self.find("u1", in: browser)
        for text in ["sub_1", "tx_1", "evt_1", "evt_2", "cus_sub_1", "0 of 3 seats"] {
            try browser.wait(forText: text, in: "#person")
        }
        #expect(try browser.evaluate("document.querySelector('.verdict').className") == "verdict good")
        #expect(try browser.evaluate("document.querySelectorAll('#timeline rect').length") == 2)
        #expect(
            try browser.evaluate("document.querySelector('#timeline').textContent.includes('creem sub_1 → 20')") == true
        )
        let explained = try gateway.ask("GET", "/v1/users/u1").json()["explanation"]?.array.first
        try browser.wait(forText: explained?["answer"]?.string ?? "?", in: "#person")
        try browser.keepPicture("user")
        try browser.click("#sync")
        try browser.wait(forText: "The providers were asked", in: "#said")
        try browser.click("#person .harm")
        try browser.wait(forText: "The licence is revoked", in: "#said")
        try browser.wait(forText: "(revoked ", in: "#person")
        try Self.expectQuiet(browser, gateway)
    }

    /// Whatever an id says, it is a text.
    @Test(.enabled(if: isInstalled, "chromium is not installed: scripts/test installs it"))
    func markupInDataIsShownAsText() throws {
        let gateway = try Self.gateway()
        let user = "<img/src=x/onerror=document.title='owned'><script>document.title='owned'</script>"
        try gateway.deliver(
            "creem",
            BrokenManifest.paid("evt_<b>1</b>", of: "<svg/onload=1>", user: user, product: "<i>p")
        )
        try gateway.deliver("creem", BrokenManifest.paid("evt_2", of: "sub_2", user: user))
        try gateway.deliver("creem", BrokenManifest.paid("evt_3", of: "<b>parked</b>", user: nil))
        let browser = try Self.signedIn(gateway)
        try Self.find(user, in: browser)
        try browser.fill("#grant-reason", "<b>bold</b>")
        try browser.click("#grant .main")
        try browser.wait(forText: "<b>bold</b>", in: "#person")
        for view in ["user", "parked", "events", "overlapping", "providers", "notifications", "audit"] {
            try Self.open(view, in: browser)
            if view == "user" { try browser.wait(forText: user, in: "#person") }
            if view == "overlapping" || view == "audit" { try browser.wait(forText: user, in: "#view") }
            let made =
                "document.querySelectorAll('#view img, #view b, #view i, #view script, #view [onerror], #view [onload]').length"
            #expect(try browser.evaluate(made) == 0, "\(view)")
        }
        #expect(try browser.evaluate("document.title") == "Entitlement gateway")
        try browser.keepPicture("markup")
        try Self.expectQuiet(browser, gateway)
    }

    @Test(.enabled(if: isInstalled, "chromium is not installed: scripts/test installs it"))
    func accessIsGrantedRevokedAndAudited() throws {
        let gateway = try Self.gateway()
        let browser = try Self.signedIn(gateway)
        try Self.find("u1", in: browser)
        try browser.wait(forText: "Nothing was ever bought", in: "#person .verdict")
        try browser.evaluate("document.querySelector('#grant-until').value = '2031-05-06'")
        try browser.fill("#grant-reason", "support case 7")
        try browser.click("#grant .main")
        try browser.wait(forText: "Granted.", in: "#said")
        try browser.wait(forText: "support case 7", in: "#person")
        let answer = try gateway.entitlement(of: "u1")
        #expect(answer["entitled"] == true && answer["access_until"]?.string?.hasPrefix("2031-05-06T23:59:59") == true)
        try browser.keepPicture("granted")
        // Without a reason nothing is revoked.
        try browser.click(".revoke button")
        #expect(try gateway.entitlement(of: "u1")["entitled"] == true)
        try browser.fill(".revoke input", "it was a mistake")
        try browser.click(".revoke button")
        try browser.wait(forText: "Revoked.", in: "#said")
        try browser.wait(forText: "ended 20", in: "#person")
        #expect(try gateway.entitlement(of: "u1")["entitled"] == false)
        try Self.open("audit", in: browser)
        for text in ["it was a mistake", "env:admin", "end_grant"] { try browser.wait(forText: text, in: "#view") }
        try browser.keepPicture("audit")
        try Self.expectQuiet(browser, gateway)
    }

    @Test(.enabled(if: isInstalled, "chromium is not installed: scripts/test installs it"))
    func parkedPurchasesAreClaimed() throws {
        let gateway = try Self.gateway()
        #expect(try gateway.deliver("creem", BrokenManifest.paid("evt_1", of: "sub_1", user: nil)) == "parked")
        #expect(try gateway.deliver("creem", BrokenManifest.paid("evt_2", of: "sub_2", user: nil)) == "parked")
        let browser = try Self.signedIn(gateway)
        try Self.open("parked", in: browser)
        try browser.wait(forText: "sub_1", in: "#view")
        try browser.keepPicture("parked")
        try browser.fill("tr:nth-child(2) .claim-parked input", "u1")
        try browser.click("tr:nth-child(2) .claim-parked button")
        try browser.wait(forText: "Claimed for u1.", in: "#said")
        try browser.wait(for: "!document.querySelector('#view').innerText.includes('creem sub_1')")
        #expect(try gateway.entitlement(of: "u1")["entitled"] == true)
        // By the user's own page, too.
        try Self.find("u2", in: browser)
        try browser.fill("#claim-provider", "creem")
        try browser.fill("#claim-id", "cus_sub_2")
        try browser.click("#claim button")
        try browser.wait(forText: "Claimed.", in: "#said")
        try browser.wait(forText: "sub_2", in: "#person")
        #expect(try gateway.entitlement(of: "u2")["entitled"] == true)
        try Self.expectQuiet(browser, gateway)
    }

    @Test(.enabled(if: isInstalled, "chromium is not installed: scripts/test installs it"))
    func deliveriesAreReplayed() throws {
        let gateway = try Self.gateway(config: #"{"products": {"creem": {"prod_1": ["pro"]}}}"#)
        #expect(try gateway.deliver("creem", BrokenManifest.paid("evt_1", product: "prod_2")) == "unmapped")
        #expect(try gateway.deliver("creem", "no JSON") == "quarantined")
        let browser = try Self.signedIn(gateway)
        try Self.open("events", in: browser)
        try browser.wait(forText: "quarantined", in: "#view table")
        try browser.keepPicture("quarantined")
        try browser.click("#view table button")
        try browser.wait(forText: "not_replayable", in: "#said")
        try browser.evaluate("document.querySelector('#outcome').value = 'unmapped'")
        try browser.click("#filter button")
        try browser.wait(forText: "evt_1", in: "#view")
        try gateway.write(#"{"products": {"creem": {"prod_1": ["pro"], "prod_2": ["pro"]}}}"#, to: "gateway.json")
        try gateway.reload()
        try browser.evaluate(
            "[...document.querySelectorAll('#view table button')].find((one) => one.innerText === 'Replay').click()"
        )
        try browser.wait(forText: "Replayed: applied.", in: "#said")
        try browser.wait(forText: "No events.", in: "#view")
        #expect(try gateway.entitlement(of: "u1")["entitled"] == true)
        try Self.expectQuiet(browser, gateway)
    }

    @Test(.enabled(if: isInstalled, "chromium is not installed: scripts/test installs it"))
    func whoPaysTwiceAndTheProvidersAreShown() throws {
        let gateway = try RunningGateway()
        gateway.environment["STRIPE_WEBHOOK_SECRET"] = nil
        try gateway.start()
        try gateway.deliver("creem", BrokenManifest.paid("evt_1", of: "sub_1"))
        try gateway.deliver("creem", BrokenManifest.paid("evt_2", of: "sub_2"))
        let browser = try Self.signedIn(gateway)
        try Self.open("overlapping", in: browser)
        try browser.wait(forText: "sub_2", in: "#view")
        try browser.keepPicture("overlapping")
        try Self.open("providers", in: browser)
        for text in ["applied 2", "set STRIPE_WEBHOOK_SECRET", "every product"] {
            try browser.wait(forText: text, in: "#view")
        }
        try browser.keepPicture("providers")
        // From a list to the person.
        try Self.open("overlapping", in: browser)
        try browser.click("#view td button")
        try browser.wait(for: "document.querySelector('#row')?.innerText.includes('u1')")
        try Self.expectQuiet(browser, gateway)
    }

    @Test(.enabled(if: isInstalled, "chromium is not installed: scripts/test installs it"))
    func chartsMove() throws {
        let gateway = try Self.gateway()
        let browser = try Self.signedIn(gateway)
        try Self.open("charts", in: browser)
        let end = ContinuousClock.now + .seconds(20)
        var number = 0
        // Each tick tells of what came since the one before; a line has two points at least.
        let moved = """
            /Deliveries a second: 0*[1-9.]/.test(document.querySelector('#charts').innerText)
                && document.querySelector('#charts path').getAttribute('d').includes('L')
            """
        while try browser.evaluate(moved) != true {
            guard ContinuousClock.now < end else { throw GatewayTestError("no delivery is seen") }
            number += 1
            try gateway.deliver("creem", BrokenManifest.paid("evt_\(number)"))
            _ = try gateway.entitlement(of: "u1")
            Thread.sleep(forTimeInterval: 0.05)
        }
        try browser.wait(forText: "Time of a commit", in: "#charts")
        try browser.wait(forText: "Active users: creem 1", in: "#charts")
        #expect(try browser.evaluate("document.querySelectorAll('#charts svg path').length") == 7)
        try browser.keepPicture("charts")
        // Another view ends the asking.
        try Self.open("audit", in: browser)
        let asked = browser.requests.filter { $0.hasSuffix("/metrics") }.count
        Thread.sleep(forTimeInterval: 2.5)
        try Self.expectQuiet(browser, gateway)
        #expect(browser.requests.filter { $0.hasSuffix("/metrics") }.count == asked)
    }

    @Test(.enabled(if: isInstalled, "chromium is not installed: scripts/test installs it"))
    func notificationsThatWaitAndThatWereGivenUp() throws {
        let isMended = SharedResults<Bool>()
        let receiver = try TestReceiver { _, _ in isMended.count == 0 ? 500 : 204 }
        let gateway = try RunningGateway(["NOTIFY_SECRET": TestReceiver.secret], config: receiver.config).start()
        try gateway.grant("u1", until: nil)
        let browser = try Self.signedIn(gateway)
        try Self.open("notifications", in: browser)
        try browser.wait(forText: "msg_", in: "#notifications-waiting")
        let database = try SQLDatabase(gateway.database)
        while try database.integer("SELECT count(*) FROM outbox WHERE failed_at IS NOT NULL") == 0 {
            Thread.sleep(forTimeInterval: 0.05)
        }
        // Three days later.
        try database.execute("UPDATE outbox SET failed_at = failed_at - 259200000")
        while try database.integer("SELECT count(*) FROM outbox WHERE dead_at IS NOT NULL") == 0 {
            Thread.sleep(forTimeInterval: 0.05)
        }
        try Self.open("notifications", in: browser)
        try browser.wait(forText: "status 500", in: "#notifications-dead")
        try browser.keepPicture("notifications")
        isMended.add(.success(true))
        try browser.click("#notifications-dead td:last-child button")
        try browser.wait(forText: "It will be sent again.", in: "#said")
        try browser.wait(forText: "Nothing was given up.", in: "#notifications-dead")
        let end = ContinuousClock.now + .seconds(20)
        while try database.integer("SELECT count(*) FROM outbox") > 0, ContinuousClock.now < end {
            Thread.sleep(forTimeInterval: 0.05)
        }
        #expect(try database.integer("SELECT count(*) FROM outbox") == 0)
        try Self.expectQuiet(browser, gateway)
    }

    @Test(.enabled(if: isInstalled, "chromium is not installed: scripts/test installs it"))
    func itIsUsedWithTheKeyboardOnAPhoneAndInTheDark() throws {
        let gateway = try Self.gateway()
        try gateway.deliver(
            "creem",
            BrokenManifest.paid("evt_1", of: "a_subscription_with_a_name_that_is_rather_long_0123456789")
        )
        let browser = try Browser(width: 360, height: 740)
        try browser.visit("http://\(gateway.listen)/admin")
        try browser.type(RunningGateway.adminKey)
        try browser.press("Tab")
        #expect(try browser.evaluate("document.activeElement.innerText") == "Sign in")
        try browser.press("Enter")
        try browser.wait(for: "document.activeElement.id === 'user-id'")
        try browser.type("u1")
        try browser.press("Enter")
        try browser.wait(for: "document.querySelector('#row')")
        // Every view by arrow keys, and none of them wider than the screen.
        try browser.evaluate("document.querySelector('#tab-user').focus()")
        for view in ["parked", "events", "overlapping", "providers", "charts", "notifications", "audit", "user"] {
            try browser.press("ArrowRight")
            try browser.wait(for: "document.querySelector('#view').dataset.shown === '\(view)'")
            #expect(try browser.evaluate("document.activeElement.id") == .string("tab-\(view)"))
            #expect(try browser.evaluate("document.documentElement.scrollWidth <= 360") == true, "\(view) is too wide")
        }
        try browser.wait(for: "document.querySelector('#row')")
        // Every control has a name.
        let unnamed = """
            [...document.querySelectorAll('input, select')].filter((one) => !one.closest('[hidden]')
                && !one.labels?.length && !one.getAttribute('aria-label')).length
            """
        #expect(try browser.evaluate(unnamed) == 0)
        for scheme in ["light", "dark"] {
            try browser.prefer(scheme)
            let contrasts = try browser.evaluate(Self.contrasts)
            for contrast in contrasts.array {
                #expect((contrast["ratio"]?.integer ?? 0) >= 45, "\(scheme): \(contrast)")
            }
            #expect(contrasts.array.count == 6)
            try browser.keepPicture("phone-\(scheme)")
        }
        try Self.expectQuiet(browser, gateway)
    }

    /// Ten times the contrast of each colour of text with what it stands on (WCAG 2.1, 1.4.3: 4.5 at least).
    private static let contrasts = """
        (() => {
          const style = getComputedStyle(document.documentElement);
          const light = (name) => {
            const hex = style.getPropertyValue(name).trim().slice(1);
            const full = hex.length === 3 ? [...hex].map((one) => one + one).join("") : hex;
            const [red, green, blue] = [0, 2, 4].map((place) => parseInt(full.slice(place, place + 2), 16) / 255)
              .map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
            return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
          };
          return ["--ink", "--faint", "--accent", "--good", "--bad", "--doubt"].map((name) => {
            const ratios = ["--paper", "--ground"].map((ground) => {
              const [one, other] = [light(name), light(ground)].sort((left, right) => right - left);
              return (one + 0.05) / (other + 0.05);
            });
            return { name, ratio: Math.floor(Math.min(...ratios) * 10) };
          });
        })()
        """
}
