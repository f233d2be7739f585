internal import Foundation
internal import Gateway

/// `grant`: gives a person an entitlement by hand.
enum GrantCommand: Command {
    static let name = "grant"
    static let summary = "give a person an entitlement by hand"
    static let operands = "USER"
    static let options =
        [
            Option(name: "until", value: "TIME", summary: "the end, such as 2027-01-01T00:00:00Z"),
            Option(name: "days", value: "NUMBER", summary: "or: so many days from now"),
            Option(name: "for-life", value: nil, summary: "or: no end"),
            Option(name: "reason", value: "TEXT", summary: "for whoever asks later why"),
            Option(name: "entitlement", value: "NAME", summary: "which (default: that of gateway.json)"),
            Option(name: "id", value: "ID", summary: "the grant's id; the same grant again changes nothing"),
        ] + GatewayClient.options
    static let note = GatewayClient.keyNote
    static let examples = [
        "grant u1 --days 30 --reason \"support case 7\" --env-file gateway.env",
        "grant u1 --for-life --reason founder --id founder-u1",
    ]

    static func run(_ arguments: Arguments) throws(CommandError) -> ExitStatus {
        let user = try arguments.operands("USER")[0]
        guard let reason = arguments["reason"], !reason.isEmpty else { throw .usage("--reason TEXT is missing") }
        var body: [String: Any] = ["reason": reason, "until": CommandOutput.optional(try term(arguments).until)]
        if let name = arguments["entitlement"] { body["entitlement"] = name }
        if let id = arguments["id"] { body["grant_id"] = id }
        let path = "/v1/users/\(GatewayClient.encoded(user))/grants"
        let answer = try GatewayClient.ask("POST", path, body: body, arguments)
        guard !arguments.has("json") else {
            Terminal.output(answer.text)
            return .success
        }
        let grant = try answer.decode(Grant.self)
        let end = grant.until.map { "until \($0)" } ?? "for life"
        let known = answer.status == 200 ? " (this grant was there already)" : ""
        Terminal.output(
            "\(grant.userId) has \(grant.entitlement) \(end)\(known)\nto end it: entitlement-gateway revoke \(grant.userId) \(grant.grantId)"
        )
        return .success
    }

    private static func term(_ arguments: Arguments) throws(CommandError) -> GrantTerm {
        let days = try arguments.integer("days", in: 1...1_000_000)
        let given = [arguments["until"] != nil, days != nil, arguments.has("for-life")].filter(\.self).count
        guard given == 1 else { throw .usage("one of --until TIME, --days NUMBER and --for-life is needed") }
        if let days { return GrantTerm(days: days) }
        guard let text = arguments["until"] else { return .forLife }
        guard let term = GrantTerm(until: text) else {
            throw .usage("--until: expected a time such as 2027-01-01T00:00:00Z")
        }
        return term
    }

    private struct Grant: Decodable {
        var grantId: String
        var userId: String
        var entitlement: String
        var until: String?
    }
}
