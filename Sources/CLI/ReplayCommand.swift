internal import Gateway

/// `replay`: takes recorded events in again, one or all of an outcome.
enum ReplayCommand: Command {
    static let name = "replay"
    static let summary = "take recorded events in again, after what was wrong with them is mended"
    static let operands = "PROVIDER EVENT_ID | --outcome NAME"
    static let options =
        [
            Option(name: "outcome", value: "NAME", summary: "all that are unmapped, quarantined or parked"),
            Option(name: "provider", value: "NAME", summary: "with --outcome: only of this provider"),
        ] + GatewayClient.options
    static let note = GatewayClient.keyNote
    static let examples = [
        "replay stripe evt_1 --env-file gateway.env", "replay --outcome unmapped", "events --outcome quarantined",
    ]

    private static let outcomes = ["unmapped", "quarantined", "parked"]
    private static let pageMax = 500

    static func run(_ arguments: Arguments) throws(CommandError) -> ExitStatus {
        if let outcome = arguments["outcome"] { return try replayAll(outcome, arguments) }
        guard arguments["provider"] == nil else { throw .usage("--provider goes with --outcome") }
        let words = try arguments.operands("PROVIDER", "EVENT_ID")
        let answer = try GatewayClient.ask("POST", path(words[0], words[1]), arguments)
        guard !arguments.has("json") else {
            Terminal.output(answer.text)
            return .success
        }
        let outcome = answer.members?["outcome"] as? String ?? "taken in again"
        Terminal.output("\(words[0]) \(words[1]): \(outcome)")
        return .success
    }

    private static func path(_ provider: String, _ eventID: String) -> String {
        "/v1/events/\(GatewayClient.encoded(provider))/\(GatewayClient.encoded(eventID))/replay"
    }

    // MARK: - All of an outcome

    private static func replayAll(_ outcome: String, _ arguments: Arguments) throws(CommandError) -> ExitStatus {
        guard outcomes.contains(outcome) else {
            throw .usage("--outcome: expected one of \(outcomes.joined(separator: ", "))")
        }
        _ = try arguments.operands()
        // The list first: what is replayed leaves it.
        let events = try list(outcome, arguments)
        let line = ProgressLine()
        var report = ReplayReport()
        for (number, event) in events.enumerated() {
            do throws(CommandError) {
                let answer = try GatewayClient.ask("POST", path(event.provider, event.eventId), arguments)
                report.outcomes[answer.members?["outcome"] as? String ?? "unknown", default: 0] += 1
            } catch {
                guard case .answered(let refusal) = error else {
                    line.end()
                    throw error
                }
                // Nothing of it was kept that could be read: that is no failure, it will never be otherwise.
                if refusal.code != "not_replayable" { report.failures += 1 }
                report.refusals.append((event, refusal))
            }
            line.show(Double(number + 1) / Double(events.count), "\(number + 1) of \(events.count)")
        }
        line.end()
        Terminal.output(arguments.has("json") ? report.json : report.text)
        return report.failures == 0 ? .success : .failure
    }

    /// Every event of an outcome, the oldest first.
    private static func list(_ outcome: String, _ arguments: Arguments) throws(CommandError) -> [EventRow] {
        var events: [EventRow] = []
        var query = "/v1/events?outcome=\(outcome)&limit=\(pageMax)"
        if let provider = arguments["provider"] { query += "&provider=\(GatewayClient.encoded(provider))" }
        var after: String? = ""
        while let place = after {
            let page = try GatewayClient.ask("GET", query + (place.isEmpty ? "" : "&after=\(place)"), arguments)
                .decode(EventPage.self)
            events += page.events
            after = page.next
        }
        return events.reversed()
    }
}

/// What taking many events in again came to.
private struct ReplayReport {
    /// Outcome → events.
    var outcomes: [String: Int] = [:]
    var refusals: [(event: EventRow, refusal: GatewayRefusal)] = []
    /// Refusals that another attempt may be without.
    var failures = 0

    private var replayed: Int { outcomes.values.reduce(0, +) }

    var text: String {
        var lines = refusals.map { "\($0.event.provider) \($0.event.eventId): \($0.refusal.text)" }
        var text = "\(replayed) replayed"
        for (name, count) in outcomes.sorted(by: { $0.key < $1.key }) { text += ", \(count) \(name)" }
        lines.append(text + ", \(refusals.count) refused")
        return lines.joined(separator: "\n")
    }

    var json: String {
        CommandOutput.json([
            "replayed": replayed, "outcomes": outcomes,
            "refused": refusals.map { entry in
                [
                    "provider": entry.event.provider, "event_id": entry.event.eventId, "code": entry.refusal.code,
                    "detail": entry.refusal.detail,
                ]
            },
        ])
    }
}
