internal import Foundation
internal import Gateway

/// `events`: what came in and what became of it, newest first.
enum EventsCommand: Command {
    static let name = "events"
    static let summary = "list what came in and what became of it, newest first"
    static let options =
        [
            Option(
                name: "outcome",
                value: "NAME",
                summary: "such as parked, unmapped or quarantined: what somebody has to look at"
            ),
            Option(name: "provider", value: "NAME", summary: "only of this provider"),
            Option(name: "user", value: "ID", summary: "only of this person"),
            Option(name: "limit", value: "NUMBER", summary: "how many (default 50, at most 500)"),
            Option(name: "after", value: "PLACE", summary: "go on where an earlier list ended"),
        ] + GatewayClient.options
    static let note = GatewayClient.keyNote
    static let examples = [
        "events --env-file gateway.env", "events --outcome quarantined --provider stripe", "events --user u1 --json",
    ]

    static func run(_ arguments: Arguments) throws(CommandError) -> ExitStatus {
        _ = try arguments.operands()
        _ = try arguments.integer("limit", in: 1...500)
        var query: [String] = []
        for (option, parameter) in [
            ("outcome", "outcome"), ("provider", "provider"), ("user", "user_id"), ("limit", "limit"),
            ("after", "after"),
        ] {
            if let value = arguments[option] { query.append("\(parameter)=\(GatewayClient.encoded(value))") }
        }
        let answer = try GatewayClient.ask(
            "GET",
            "/v1/events" + (query.isEmpty ? "" : "?" + query.joined(separator: "&")),
            arguments
        )
        guard !arguments.has("json") else {
            Terminal.output(answer.text)
            return .success
        }
        let page = try answer.decode(EventPage.self)
        var text = page.events.isEmpty ? "no events" : EventRow.table(page.events, indent: "")
        if let next = page.next { text += "\n\nmore: --after \(next)" }
        Terminal.output(text)
        return .success
    }
}

/// One page of a list of events.
struct EventPage: Decodable {
    var events: [EventRow]
    /// Where the next page begins; nil after the last.
    var next: String?
}

/// What is read of one event.
struct EventRow: Decodable {
    var provider: String
    var eventId: String
    var type: String
    var outcome: String
    var userId: String?
    var receivedAt: String
    var reason: String?

    static func table(_ events: [EventRow], indent: String) -> String {
        CommandOutput.table(
            events.map { event in
                [
                    indent + event.receivedAt, event.outcome, event.provider, event.type, event.eventId,
                    [event.userId, event.reason.map { "(\($0))" }].compactMap(\.self).joined(separator: " "),
                ]
            }
        )
    }
}
