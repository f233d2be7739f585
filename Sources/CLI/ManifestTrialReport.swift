internal import Foundation
internal import Gateway

/// `doctor --manifest FILE`: whether a manifest works, and what it makes of one delivery.
enum ManifestTrialReport {
    static let options = [
        Option(name: "manifest", value: "FILE", summary: "check this manifest only"),
        Option(
            name: "deliver",
            value: "FILE",
            summary: "with --manifest: tell what a delivery with this body would do"
        ),
        Option(
            name: "header",
            value: "NAME:VALUE",
            summary: "with --deliver: a header of the delivery; may be given several times"
        ),
        Option(name: "at", value: "TIME", summary: "with --deliver: when it is delivered (default now)"),
    ]

    /// Nil when the call is about something else.
    static func run(_ arguments: Arguments) throws(CommandError) -> ExitStatus? {
        guard let file = arguments["manifest"] else {
            for name in ["deliver", "header", "at"] where arguments[name] != nil {
                throw .usage("--\(name) needs --manifest FILE")
            }
            return nil
        }
        let configuration = try arguments.configuration()
        do throws(ConfigurationError) {
            let trial = try ManifestTrial(
                manifest: file,
                body: arguments["deliver"],
                headers: arguments.all("header"),
                at: arguments["at"],
                configuration
            )
            Terminal.output(arguments.has("json") ? json(trial) : text(trial))
            return trial.isFine ? .success : .failure
        } catch {
            throw .failed(error.description)
        }
    }

    private static func text(_ trial: ManifestTrial) -> String {
        trial.lines.map { $0.step + String(repeating: " ", count: max(1, 13 - $0.step.count)) + $0.text }
            .joined(separator: "\n")
    }

    private static func json(_ trial: ManifestTrial) -> String {
        let steps = trial.lines.map { ["step": $0.step, "text": $0.text] }
        let report: [String: Any] = ["fine": trial.isFine, "steps": steps]
        let data = try? JSONSerialization.data(withJSONObject: report, options: [.sortedKeys, .withoutEscapingSlashes])
        return data.map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    }
}
