internal import Foundation
internal import Gateway

/// `license sign`: answers the request file of a machine without a network with a licence file.
enum LicenseCommand: Command {
    static let name = "license"
    static let summary = "make a licence file for a machine without a network"
    static let operands = "sign REQUEST"
    static let options =
        [
            Option(
                name: "days",
                value: "N",
                summary: "how long it is good for (default: offline_days of the settings)"
            ),
            Option(name: "output", value: "FILE", summary: "where to write it (default: standard output)"),
        ] + Option.configuration
    static let examples = ["license sign request.json --days 365 --output anna.license"]

    static func run(_ arguments: Arguments) throws(CommandError) -> ExitStatus {
        guard arguments.operands.count == 2, arguments.operands[0] == "sign" else {
            throw .usage("license sign needs a request file: {\"license_key\": \"…\", \"device_id\": \"…\"}")
        }
        var days: Int?
        if let text = arguments["days"] {
            guard let number = Int(text), (1...LicenseAdministration.daysMax).contains(number) else {
                throw .usage("--days is a number from 1 to \(LicenseAdministration.daysMax)")
            }
            days = number
        }
        let path = arguments.operands[1]
        guard let request = FileManager.default.contents(atPath: path) else { throw .failed("\(path): no such file") }
        let configuration = try arguments.configuration()
        let file: String
        do throws(ConfigurationError) {
            file = try LicenseAdministration.sign(request: [UInt8](request), days: days, configuration)
        } catch {
            throw .failed(error.description)
        }
        guard let output = arguments["output"] else {
            Terminal.output(file)
            return .success
        }
        guard FileManager.default.createFile(atPath: output, contents: Data(file.utf8)) else {
            throw .failed("\(output) cannot be written")
        }
        return .success
    }
}
