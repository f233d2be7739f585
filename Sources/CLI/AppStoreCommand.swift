internal import Foundation
internal import Gateway

/// `app-store test-notification`: has Apple send a notification and tells whether it arrived.
enum AppStoreCommand: Command {
    static let name = "app-store"
    static let summary = "have Apple send a test notification, and tell whether it arrived"
    static let operands = "test-notification"
    static let options =
        [
            Option(name: "sandbox", value: nil, summary: "to the address for the sandbox"),
            Option(name: "wait", value: "SECONDS", summary: "how long to wait for Apple to try (default 30)"),
            .json,
        ] + Option.configuration
    static let examples = ["app-store test-notification --env-file gateway.env --sandbox"]
    static let note = """
        Apple sends it to the address that is set in App Store Connect, so a gateway must be serving there. It needs the
        key of the App Store Server API. The exit status is 1 when the notification was not taken.
        """

    private static let word = "test-notification"
    private static let secondsDefault = 30

    static func run(_ arguments: Arguments) throws(CommandError) -> ExitStatus {
        guard let first = arguments.operands.first else { throw .usage("app-store needs \(word)") }
        guard first == word else {
            throw .usage("app-store does not know \(first)" + Suggestion.text(for: first, among: [word]))
        }
        _ = try arguments.operands(word)
        let seconds = try arguments.integer("wait", in: 0...3600) ?? secondsDefault
        let (configuration, asJSON) = (try arguments.configuration(), arguments.has("json"))
        let report: AppStoreTrial.Report
        do throws(ConfigurationError) {
            report = try AppStoreTrial.run(configuration, isSandbox: arguments.has("sandbox"), seconds: seconds) {
                if !asJSON { Terminal.error($0) }
            }
        } catch {
            throw .failed(error.description)
        }
        asJSON ? Terminal.output(json(report)) : tell(report)
        return report.isDelivered ? .success : .failure
    }

    private static func json(_ report: AppStoreTrial.Report) -> String {
        CommandOutput.json([
            "token": report.token, "environment": report.isSandbox ? "sandbox" : "production",
            "delivered": report.isDelivered,
            "attempts": report.attempts.map { ["at": CommandOutput.optional($0.at), "result": $0.result] },
        ])
    }

    private static func tell(_ report: AppStoreTrial.Report) {
        for attempt in report.attempts { Terminal.output("\(attempt.at ?? "an attempt")  \(attempt.result)") }
        if report.isDelivered {
            Terminal.output("it arrived: entitlement-gateway events --provider app_store shows it as observed")
        } else if report.attempts.isEmpty {
            Terminal.error("Apple has not tried yet — ask again with a longer --wait")
        } else {
            Terminal.error(
                "it did not arrive — compare the server URL in App Store Connect with the gateway's public address"
            )
        }
    }
}
