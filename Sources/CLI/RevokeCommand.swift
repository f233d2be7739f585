internal import Gateway

/// `revoke`: ends a grant made by hand.
enum RevokeCommand: Command {
    static let name = "revoke"
    static let summary = "end a grant made by hand, now"
    static let operands = "USER GRANT_ID"
    static let options = GatewayClient.options
    static let note = GatewayClient.keyNote + " The ids of a person's grants: user ID."
    static let examples = ["revoke u1 founder-u1 --env-file gateway.env"]

    static func run(_ arguments: Arguments) throws(CommandError) -> ExitStatus {
        let words = try arguments.operands("USER", "GRANT_ID")
        let path = "/v1/users/\(GatewayClient.encoded(words[0]))/grants/\(GatewayClient.encoded(words[1]))"
        let answer = try GatewayClient.ask("DELETE", path, arguments)
        Terminal.output(arguments.has("json") ? answer.text : "the grant \(words[1]) of \(words[0]) has ended")
        return .success
    }
}
