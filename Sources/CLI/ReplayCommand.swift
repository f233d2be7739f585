internal import Gateway

/// `replay`: takes a recorded event in again.
enum ReplayCommand: Command {
    static let name = "replay"
    static let summary = "take a recorded event in again, after what was wrong with it is mended"
    static let operands = "PROVIDER EVENT_ID"
    static let options = GatewayClient.options
    static let note = GatewayClient.keyNote
    static let examples = ["replay stripe evt_1 --env-file gateway.env", "events --outcome quarantined"]

    static func run(_ arguments: Arguments) throws(CommandError) -> ExitStatus {
        let words = try arguments.operands("PROVIDER", "EVENT_ID")
        let path = "/v1/events/\(GatewayClient.encoded(words[0]))/\(GatewayClient.encoded(words[1]))/replay"
        let answer = try GatewayClient.ask("POST", path, arguments)
        guard !arguments.has("json") else {
            Terminal.output(answer.text)
            return .success
        }
        let outcome = answer.members?["outcome"] as? String ?? "taken in again"
        Terminal.output("\(words[0]) \(words[1]): \(outcome)")
        return .success
    }
}
