internal import Gateway

/// `simulate`: sends a correctly signed sample event to a running gateway.
enum SimulateCommand: Command {
    static let name = "simulate"
    static let summary = "send a signed sample event to a running gateway"
    static let operands = "PROVIDER EVENT"
    static let options =
        [
            Option(name: "user", value: "ID", summary: "the user it is about"),
            Option(name: "environment", value: "NAME", summary: "sandbox (default) or production"),
            Option(name: "listen", value: "ADDRESS", summary: "where the gateway listens (GATEWAY_LISTEN)"),
            Option(name: "print", value: nil, summary: "print the event instead of sending it"),
            Option(name: "json", value: nil, summary: "for machines"),
        ] + Option.configuration

    static func run(_ arguments: Arguments) throws(CommandError) -> ExitStatus {
        throw .failed("")
    }
}
