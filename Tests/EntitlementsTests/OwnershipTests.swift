internal import Entitlements
internal import Testing

/// What is known of identities, for one test.
struct KnownIdentities: IdentitySource, Sendable {
    var claims: [String: [CustomerLink]] = [:]
    var links: [CustomerID: [CustomerLink]] = [:]
    var moves: [Transfer] = []

    func newestClaim(of ids: [ExternalID]) throws -> CustomerLink? {
        ids.flatMap { claims[$0.value] ?? [] }.max { $1.isNewer(than: $0) }
    }

    func newestLink(of customer: CustomerID) throws -> CustomerLink? {
        links[customer]?.max { $1.isNewer(than: $0) }
    }

    func transfers(from holder: Holder) throws -> [Transfer] {
        moves.filter { move in
            move.from.users.contains { holder.users.contains($0) }
                || move.from.anonymous.contains { holder.anonymous.contains($0) }
        }
    }
}

struct OwnershipCase: Sendable, CustomTestStringConvertible {
    var sentence: String
    var facts: [RecordedFact]
    var identities = KnownIdentities()
    var owner: String?
    var environment = StoreEnvironment.production
    var defect: Comment?

    var testDescription: String { sentence }

    func check() throws {
        if let defect {
            withKnownIssue(defect) { try verify() }
        } else {
            try verify()
        }
    }

    private func verify() throws {
        for order in permutations(of: facts) {
            for moves in permutations(of: identities.moves) {
                var known = identities
                known.moves = moves
                let ids = [
                    ExternalID(namespace: "app_store", value: "t1"), ExternalID(namespace: "app_store", value: "t2"),
                ]
                let found = try Ownership.resolve(facts: order, ids: ids, environment: environment, identities: known)
                #expect(found.owner?.value == owner, "\(sentence)")
                if let owner = found.owner { #expect(found.dependsOn.contains(.user(owner)), "\(sentence)") }
            }
        }
    }
}

/// Rule 6: who a purchase belongs to.
struct OwnershipTests {
    private static let cat = Teller(provider: ProviderID("revenuecat"), isSecondHand: true)
    private static let web = Teller()
    private static let customer = CustomerID(provider: ProviderID("stripe"), value: "cus_1")

    private static func anonymous(_ name: String) -> CustomerID {
        CustomerID(provider: ProviderID("revenuecat"), value: "$RCAnonymousID:\(name)")
    }

    private static func names(
        _ event: String,
        at: Double,
        _ users: [String],
        anonymous: [String] = [],
        source: OwnerStatement.Source = .own,
        teller: Teller = cat
    ) -> RecordedFact {
        teller.fact(
            event,
            .owner(
                OwnerStatement(
                    source: source,
                    at: day(at),
                    users: users.map { user($0) },
                    anonymous: anonymous.map { Self.anonymous($0) }
                )
            )
        )
    }

    private static func link(_ to: String, at: Double, since: Double? = nil, _ event: String = "l") -> CustomerLink {
        CustomerLink(user: user(to), at: day(at), eventID: event, since: since.map(day))
    }

    private static func move(
        _ from: [String],
        _ to: [String],
        at: Double,
        _ event: String = "m",
        fromAnonymous: [String] = [],
        toAnonymous: [String] = [],
        in environment: StoreEnvironment? = nil
    ) -> Transfer {
        Transfer(
            at: day(at),
            eventID: event,
            from: Holder(users: from.map { user($0) }, anonymous: fromAnonymous.map { anonymous($0) }),
            to: Holder(users: to.map { user($0) }, anonymous: toAnonymous.map { anonymous($0) }),
            environment: environment
        )
    }

    // EVIDENCE MERGE-6
    @Test(arguments: [
        OwnershipCase(
            sentence: "a claim of exactly this purchase comes before its own facts",
            facts: [names("e1", at: 5, ["u1"], teller: web)],
            identities: KnownIdentities(claims: ["t1": [link("u2", at: 1)]]),
            owner: "u2"
        ),
        OwnershipCase(
            sentence: "the newest claim counts",
            facts: [names("e1", at: 5, ["u1"], teller: web)],
            identities: KnownIdentities(claims: ["t1": [link("u2", at: 3)], "t2": [link("u3", at: 2)]]),
            owner: "u2"
        ),
        OwnershipCase(
            sentence: "its own facts come before a checkout",
            facts: [
                names("e1", at: 1, ["u1"], teller: web), names("e2", at: 9, ["u2"], source: .checkout, teller: web),
            ],
            owner: "u1"
        ),
        OwnershipCase(
            sentence: "the newest of its own facts counts",
            facts: [
                names("e1", at: 1, ["u1"], teller: web), names("e2", at: 2, ["u2"], teller: web),
            ],
            owner: "u2"
        ),
        OwnershipCase(
            sentence: "at equal times the later event id",
            facts: [
                names("e1", at: 1, ["u1"], teller: web), names("e2", at: 1, ["u2"], teller: web),
            ],
            owner: "u2"
        ),
        OwnershipCase(
            sentence: "a checkout comes before a link",
            facts: [
                names("e2", at: 1, ["u2"], source: .checkout, teller: web), web.fact("e3", .customer(customer)),
            ],
            identities: KnownIdentities(links: [customer: [link("u3", at: 9)]]),
            owner: "u2"
        ),
        OwnershipCase(
            sentence: "else the newest link of its customer",
            facts: [web.fact("e3", .customer(customer))],
            identities: KnownIdentities(links: [customer: [link("u3", at: 9), link("u4", at: 7)]]),
            owner: "u3"
        ),
        OwnershipCase(sentence: "nobody is known", facts: [web.fact("e3", .customer(customer))], owner: nil),
        OwnershipCase(
            sentence: "a transfer later in time moves it",
            facts: [names("e1", at: 1, ["u1"])],
            identities: KnownIdentities(moves: [move(["u1"], ["u2"], at: 2)]),
            owner: "u2"
        ),
        OwnershipCase(
            sentence: "a transfer before the purchase does not",
            facts: [names("e1", at: 3, ["u1"])],
            identities: KnownIdentities(moves: [move(["u1"], ["u2"], at: 2)]),
            owner: "u1"
        ),
        OwnershipCase(
            sentence: "transfers in their order: a chain",
            facts: [names("e1", at: 1, ["u1"])],
            identities: KnownIdentities(moves: [
                move(["u2"], ["u3"], at: 3, "b"), move(["u1"], ["u2"], at: 2, "a"), move(["u3"], ["u4"], at: 4, "c"),
            ]),
            owner: "u4"
        ),
        OwnershipCase(
            sentence: "transfers in their order: a link of the chain too early",
            facts: [names("e1", at: 1, ["u1"])],
            identities: KnownIdentities(moves: [move(["u2"], ["u3"], at: 2, "b"), move(["u1"], ["u2"], at: 3, "a")]),
            owner: "u2"
        ),
        OwnershipCase(
            sentence: "there and back again",
            facts: [names("e1", at: 1, ["u1"])],
            identities: KnownIdentities(moves: [move(["u1"], ["u2"], at: 2, "a"), move(["u2"], ["u1"], at: 3, "b")]),
            owner: "u1"
        ),
        OwnershipCase(
            sentence: "a circle at one moment ends",
            facts: [names("e1", at: 1, ["u1"])],
            identities: KnownIdentities(moves: [move(["u1"], ["u2"], at: 2, "a"), move(["u2"], ["u1"], at: 2, "b")]),
            owner: "u1"
        ),
        OwnershipCase(
            sentence: "a later statement of the purchase comes after the transfer",
            facts: [
                names("e1", at: 1, ["u1"]), names("e2", at: 5, ["u9"]),
            ],
            identities: KnownIdentities(moves: [move(["u1"], ["u2"], at: 2)]),
            owner: "u9"
        ),
        OwnershipCase(
            sentence: "a transfer of the other environment moves nothing",
            facts: [names("e1", at: 1, ["u1"])],
            identities: KnownIdentities(moves: [move(["u1"], ["u2"], at: 2, in: .sandbox)]),
            owner: "u1"
        ),
        OwnershipCase(
            sentence: "a transfer without an environment moves in both",
            facts: [names("e1", at: 1, ["u1"])],
            identities: KnownIdentities(moves: [move(["u1"], ["u2"], at: 2)]),
            owner: "u2",
            environment: .sandbox
        ),
        OwnershipCase(
            sentence: "a transfer does not move what RevenueCat does not know",
            facts: [names("e1", at: 1, ["u1"], teller: web)],
            identities: KnownIdentities(moves: [move(["u1"], ["u2"], at: 2)]),
            owner: "u1"
        ),
        OwnershipCase(
            sentence: "a transfer moves a claimed purchase when it came later",
            facts: [names("e1", at: 1, ["u1"])],
            identities: KnownIdentities(
                claims: ["t1": [link("u5", at: 2)]],
                moves: [move(["u5"], ["u6"], at: 3, "a"), move(["u5"], ["u7"], at: 1, "b")]
            ),
            owner: "u6"
        ),
        OwnershipCase(
            sentence: "an anonymous purchase is nobody's",
            facts: [names("e1", at: 1, [], anonymous: ["a"])],
            owner: nil
        ),
        OwnershipCase(
            sentence: "an anonymous purchase is the linked person's",
            facts: [names("e1", at: 1, [], anonymous: ["a"])],
            identities: KnownIdentities(links: [anonymous("a"): [link("u1", at: 2)]]),
            owner: "u1"
        ),
        OwnershipCase(
            sentence: "an anonymous purchase goes with the transfer of the anonymous id",
            facts: [names("e1", at: 1, [], anonymous: ["a"])],
            identities: KnownIdentities(moves: [move([], ["u2"], at: 2, fromAnonymous: ["a"])]),
            owner: "u2"
        ),
        OwnershipCase(
            sentence: "a transfer to an anonymous id parks it",
            facts: [names("e1", at: 1, ["u1"])],
            identities: KnownIdentities(moves: [move(["u1"], [], at: 2, toAnonymous: ["b"])]),
            owner: nil
        ),
        OwnershipCase(
            sentence: "a transfer to an anonymous id that is linked",
            facts: [names("e1", at: 1, ["u1"])],
            identities: KnownIdentities(
                links: [anonymous("b"): [link("u8", at: 1)]],
                moves: [move(["u1"], [], at: 2, toAnonymous: ["b"])]
            ),
            owner: "u8"
        ),
        OwnershipCase(
            sentence:
                "an anonymous id never joins two people: a transfer from u2 with a shared anonymous id leaves u1's alone",
            facts: [names("e1", at: 1, ["u1"], anonymous: ["a"])],
            identities: KnownIdentities(moves: [move(["u2"], ["u3"], at: 2, fromAnonymous: ["a"])]),
            owner: "u1"
        ),
        OwnershipCase(
            sentence: "a link told again after a transfer does not bring the purchase back",
            facts: [names("e1", at: 1, [], anonymous: ["a"])],
            identities: KnownIdentities(
                links: [anonymous("a"): [link("u1", at: 8, since: 2)]],
                moves: [move(["u1"], ["u2"], at: 5)]
            ),
            owner: "u2"
        ),
        OwnershipCase(
            sentence: "an anonymous id that is linked after its purchases were transferred away",
            facts: [names("e1", at: 1, [], anonymous: ["a"])],
            identities: KnownIdentities(
                links: [anonymous("a"): [link("u9", at: 10)]],
                moves: [move([], ["u2"], at: 5, fromAnonymous: ["a"])]
            ),
            owner: "u2"
        ),
        OwnershipCase(
            sentence: "a transfer of the anonymous id alone moves a purchase that is known by link",
            facts: [names("e1", at: 1, [], anonymous: ["a"])],
            identities: KnownIdentities(
                links: [anonymous("a"): [link("u1", at: 2)]],
                moves: [move([], ["u2"], at: 5, fromAnonymous: ["a"])]
            ),
            owner: "u2"
        ),
        OwnershipCase(
            sentence: "a second transfer through an anonymous id that is linked later",
            facts: [names("e1", at: 1, ["u1"])],
            identities: KnownIdentities(
                links: [anonymous("b"): [link("u9", at: 10)]],
                moves: [
                    move(["u1"], [], at: 2, "a", toAnonymous: ["b"]),
                    move([], ["u2"], at: 5, "b", fromAnonymous: ["b"]),
                ]
            ),
            owner: "u2"
        ),
    ])
    func rule6(_ ownership: OwnershipCase) throws { try ownership.check() }

    // EVIDENCE MERGE-6
    @Test("an owner depends on everyone a statement names, chosen or not")
    func dependencies() throws {
        let facts = [
            Self.names("e1", at: 1, ["u1"], teller: Self.web), Self.names("e2", at: 2, ["u2"], teller: Self.web),
        ]
        let found = try Ownership.resolve(
            facts: facts,
            ids: [],
            environment: .production,
            identities: KnownIdentities()
        )
        #expect(found.dependsOn.contains(.user(user("u2"))))
        #expect(found.dependsOn.contains(.user(user("u1"))))
    }
}
