internal import Foundation
internal import Gateway

/// `user`: explains why a person is or is not entitled.
enum UserCommand: Command {
    static let name = "user"
    static let summary = "explain why a person is entitled or is not, with every purchase and event"
    static let operands = "ID"
    static let options =
        [
            Option(name: "entitlement", value: "NAME", summary: "the one asked for (default: that of gateway.json)"),
            Option(name: "environment", value: "NAME", summary: "production (default) or sandbox"),
        ] + GatewayClient.options
    static let note = GatewayClient.keyNote
    static let examples = ["user u1 --env-file gateway.env", "user u1 --environment sandbox", "user u1 --json"]

    static func run(_ arguments: Arguments) throws(CommandError) -> ExitStatus {
        let user = try arguments.operands("ID")[0]
        var query: [String] = []
        for name in ["entitlement", "environment"] {
            if let value = arguments[name] { query.append("\(name)=\(GatewayClient.encoded(value))") }
        }
        if let environment = arguments["environment"], !["production", "sandbox"].contains(environment) {
            throw .usage("--environment is production or sandbox")
        }
        let path =
            "/v1/users/\(GatewayClient.encoded(user))" + (query.isEmpty ? "" : "?" + query.joined(separator: "&"))
        let answer = try GatewayClient.ask("GET", path, arguments)
        Terminal.output(arguments.has("json") ? answer.text : text(of: try answer.decode(UserView.self)))
        return .success
    }

    private static func text(of view: UserView) -> String {
        var parts = ["\(view.userId) (\(view.environment))"]
        if view.ids.count > 1 {
            parts[0] += ", also known as " + view.ids.filter { $0 != view.userId }.joined(separator: ", ")
        }
        for explanation in view.explanation {
            parts.append(explanation.lines.enumerated().map { $0 == 0 ? $1 : "  " + $1 }.joined(separator: "\n"))
        }
        if !view.overlapping.isEmpty {
            parts.append("Pays twice: " + view.overlapping.joined(separator: ", "))
        }
        if !view.identities.isEmpty {
            let rows = view.identities.map { ["  " + $0.provider, $0.externalId, "since \($0.at)"] }
            parts.append("Known as:\n" + CommandOutput.table(rows))
        }
        if !view.grants.isEmpty {
            let rows = view.grants.map { grant in
                let end = grant.endedAt.map { "ended at \($0)" } ?? grant.until.map { "until \($0)" } ?? "for life"
                return ["  " + grant.grantId, grant.entitlement, end, grant.reason]
            }
            parts.append("Grants:\n" + CommandOutput.table(rows))
        }
        if !view.events.isEmpty {
            parts.append("Latest events:\n" + EventRow.table(view.events, indent: "  "))
        }
        return parts.joined(separator: "\n\n")
    }
}

/// What is read of `GET /v1/users/{user_id}`.
private struct UserView: Decodable {
    struct Explained: Decodable {
        var lines: [String]
    }

    struct Identity: Decodable {
        var provider: String
        var externalId: String
        var at: String
    }

    struct Grant: Decodable {
        var grantId: String
        var entitlement: String
        var until: String?
        var endedAt: String?
        var reason: String
    }

    var userId: String
    var environment: String
    var ids: [String]
    var explanation: [Explained]
    var identities: [Identity]
    var grants: [Grant]
    var overlapping: [String]
    var events: [EventRow]
}
