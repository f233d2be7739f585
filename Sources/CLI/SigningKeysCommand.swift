internal import Gateway

/// `keys rotate-signing`: a new key signs licences from now on.
enum SigningKeysCommand: Command {
    static let name = "keys"
    static let summary = "sign licences with a new key; the old one is published until its last token has run out"
    static let operands = "rotate-signing"
    static let options = Option.configuration

    static func run(_ arguments: Arguments) throws(CommandError) -> ExitStatus {
        guard arguments.operands == ["rotate-signing"] else { throw .usage("keys needs the word rotate-signing") }
        return try rotate(arguments)
    }

    static func rotate(_ arguments: Arguments) throws(CommandError) -> ExitStatus {
        let configuration = try arguments.configuration()
        do throws(ConfigurationError) {
            let (kid, published) = try LicenseAdministration.rotateSigningKeys(configuration)
            Terminal.output("signing with \(kid); \(published) keys are published at /.well-known/jwks.json")
        } catch {
            throw .failed(error.description)
        }
        return .success
    }
}
