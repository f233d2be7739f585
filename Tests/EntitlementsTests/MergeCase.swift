internal import Entitlements
internal import TestSupport
internal import Testing

/// One sentence of the contract with its facts and what they must come to.
struct MergeCase: Sendable, CustomTestStringConvertible {
    enum End: Equatable, Sendable {
        case day(Double)
        case never
        /// The facts give nothing at all.
        case nothing
    }

    var sentence: String
    var facts: [RecordedFact]
    /// The latest end of all lines.
    var end: End
    /// The status from the end on.
    var ended: Status?
    var renews: Bool?
    /// What the purchase is at some days.
    var statuses: [Double: Status] = [:]
    /// Set for a sentence the code does not keep yet.
    var defect: Comment?

    var testDescription: String { sentence }

    static func orders(of facts: [RecordedFact]) -> [[RecordedFact]] {
        if facts.count <= 5 { return permutations(of: facts) }
        var generator = SplitMix64(seed: 20_261_201)
        return (0..<150).map { _ in facts.shuffled(using: &generator) }
    }

    /// Checks the outcome, and that neither the order of the facts nor telling them again changes it.
    func check() {
        guard let defect else { return verify() }
        withKnownIssue(defect) { verify() }
    }

    private func verify() {
        let outcome = MergeRule.outcome(of: facts, pastDueDays: 14)
        let last = outcome?.lines.max { ($0.end ?? .latest) < ($1.end ?? .latest) }
        switch end {
        case .day(let expected):
            #expect(last?.end == day(expected), "\(sentence): \(String(describing: last?.end?.rfc3339))")
        case .never: #expect(last != nil && last?.end == nil, "\(sentence): \(String(describing: last))")
        case .nothing: #expect(last == nil, "\(sentence): \(String(describing: last))")
        }
        if let ended { #expect(last?.ended == ended, "\(sentence)") }
        if let renews { #expect(outcome?.willRenew == renews, "\(sentence)") }
        for (moment, status) in statuses {
            let found = last.map {
                Gate.status(end: $0.end, graceFrom: $0.graceFrom, live: $0.live, ended: $0.ended, at: day(moment))
            }
            #expect(found == status, "\(sentence), on day \(moment)")
        }
        for order in Self.orders(of: facts) {
            #expect(MergeRule.outcome(of: order, pastDueDays: 14) == outcome, "\(sentence), in another order")
        }
        #expect(MergeRule.outcome(of: facts + facts, pastDueDays: 14) == outcome, "\(sentence), told twice")
    }
}

func permutations<Element>(of elements: [Element]) -> [[Element]] {
    guard elements.count > 1 else { return [elements] }
    return elements.indices.flatMap { index -> [[Element]] in
        var rest = elements
        let first = rest.remove(at: index)
        return permutations(of: rest).map { [first] + $0 }
    }
}
