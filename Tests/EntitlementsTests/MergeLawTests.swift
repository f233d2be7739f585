internal import TestSupport
internal import Testing

@testable internal import Entitlements

/// Laws that hold for every set of facts, tried on random ones. A failure prints the seed that repeats it.
struct MergeLawTests {
    /// Fixed seeds keep a failure that was once found; the last one is new in each run.
    static let seeds: [UInt64] = Array(1...24) + [UInt64.random(in: .min ... .max)]

    // EVIDENCE MERGE-1
    @Test("the order of the facts and telling them again change nothing", arguments: seeds)
    func setOfFacts(_ seed: UInt64) {
        var generator = SplitMix64(seed: seed)
        for round in 0..<60 {
            let facts = RandomFacts.purchase(&generator)
            let outcome = MergeRule.outcome(of: facts, pastDueDays: 14)
            for _ in 0..<4 {
                let shuffled = facts.shuffled(using: &generator)
                #expect(
                    MergeRule.outcome(of: shuffled, pastDueDays: 14) == outcome,
                    "seed \(seed), round \(round): \(facts)"
                )
            }
            let again = (facts + facts.shuffled(using: &generator).prefix(facts.count / 2)).shuffled(using: &generator)
            #expect(
                MergeRule.outcome(of: again, pastDueDays: 14) == outcome,
                "told again; seed \(seed), round \(round): \(facts)"
            )
        }
    }

    // EVIDENCE MERGE-5
    @Test("a purchase has a finite end unless it is paid once", arguments: seeds)
    func finiteEnd(_ seed: UInt64) {
        var generator = SplitMix64(seed: seed)
        for round in 0..<60 {
            let facts = RandomFacts.purchase(&generator)
            let isSubscription = OrderedState.all(in: facts).contains { !$0.state.isOneTime }
            guard isSubscription, let outcome = MergeRule.outcome(of: facts, pastDueDays: 14) else { continue }
            #expect(outcome.lines.allSatisfy { $0.end != nil && !$0.isOneTime }, "seed \(seed), round \(round)")
        }
    }

    // EVIDENCE MERGE-3
    @Test("electing in any order gives the same row; a winner of all is a winner of its part", arguments: seeds)
    func election(_ seed: UInt64) {
        var generator = SplitMix64(seed: seed)
        let policy = EntitlementPolicy(
            products: [
                ProviderID("paddle"): [
                    "price": .init(entitlements: ["pro", "extra"], days: 30), "*": .init(entitlements: ["th"]),
                ]
            ],
            firstProviders: [ProviderID("app_store")],
            lastProviders: [ProviderID("manual")]
        )
        for round in 0..<40 {
            let candidates = RandomFacts.candidates(&generator)
            let row = policy.elect(candidates)
            for _ in 0..<4 {
                #expect(policy.elect(candidates.shuffled(using: &generator)) == row, "seed \(seed), round \(round)")
            }
            let again = candidates + candidates.shuffled(using: &generator).prefix(2)
            #expect(policy.elect(again) == row, "told again; seed \(seed), round \(round)")
            // Any split: the winners of the parts contain the winner of all, and electing among them gives the row.
            let parts = candidates.map { ($0, Int.random(in: 0..<3, using: &generator)) }
            var finalists: Set<String> = []
            for part in 0..<3 {
                let elected = policy.elect(parts.filter { $0.1 == part }.map(\.0))
                finalists.formUnion(elected.entitlements.map(\.purchaseID))
            }
            #expect(
                policy.elect(candidates.filter { finalists.contains($0.purchaseID) }) == row,
                "split; seed \(seed), round \(round)"
            )
        }
    }

    // EVIDENCE MERGE-2
    @Test("no purchase shortens another: one more never lowers an end", arguments: seeds)
    func neverShortens(_ seed: UInt64) {
        var generator = SplitMix64(seed: seed)
        let policy = EntitlementPolicy()
        for round in 0..<40 {
            let candidates = RandomFacts.candidates(&generator)
            let fewer = policy.elect(Array(candidates.dropLast()))
            let more = policy.elect(candidates)
            for entry in fewer.entitlements {
                let found = more.entitlements.first { $0.name == entry.name }
                #expect(
                    found.map { ($0.end ?? .never) >= (entry.end ?? .never) } ?? false,
                    "seed \(seed), round \(round)"
                )
            }
        }
    }

    // EVIDENCE MERGE-5
    @Test("once access is over it stays over by the clock", arguments: seeds)
    func monotone(_ seed: UInt64) {
        var generator = SplitMix64(seed: seed)
        for _ in 0..<60 {
            for entry in EntitlementPolicy().elect(RandomFacts.candidates(&generator)).entitlements {
                var wasEntitled = true
                for moment in stride(from: -100.0, through: 1500.0, by: 5) {
                    let isEntitled = entry.isEntitled(at: day(moment))
                    #expect(wasEntitled || !isEntitled)
                    #expect(
                        isEntitled == ![.billingRetry, .paused, .expired, .refunded, .revoked, .none].contains(
                            entry.status(at: day(moment))
                        )
                    )
                    wasEntitled = isEntitled
                }
            }
        }
    }

    // EVIDENCE MERGE-5
    @Test("the gate's boundaries: the end itself is over, grace begins at its start")
    func boundaries() {
        func status(_ moment: Int64) -> Status {
            Gate.status(
                end: UnixMillis(100),
                graceFrom: UnixMillis(50),
                live: .active,
                ended: .billingRetry,
                at: UnixMillis(moment)
            )
        }
        #expect(status(49) == .active)
        #expect(status(50) == .grace)
        #expect(status(99) == .grace)
        #expect(status(100) == .billingRetry)
        #expect(Gate.isEntitled(end: UnixMillis(100), at: UnixMillis(99)))
        #expect(!Gate.isEntitled(end: UnixMillis(100), at: UnixMillis(100)))
        #expect(Gate.isEntitled(end: nil, at: UnixMillis(.max)))
        #expect(Gate.status(end: nil, graceFrom: nil, live: .active, ended: .expired, at: UnixMillis(.max)) == .active)
        // A grace that would begin at the end never shows.
        #expect(
            Gate.status(
                end: UnixMillis(9),
                graceFrom: UnixMillis(9),
                live: .active,
                ended: .billingRetry,
                at: UnixMillis(9)
            ) == .billingRetry
        )
    }
}
