internal import Foundation
internal import Gateway

/// `keys`: makes, lists and revokes the keys of callers, in the database itself.
enum KeysCommand: Command {
    static let name = "keys"
    static let summary = "make, list and revoke the keys of callers; change the key that signs licences"
    static let operands = "create | list | revoke KEY_ID | rotate-signing"
    static let options =
        [
            Option(name: "scope", value: "NAME", summary: "create: read (default, the gate) or admin (everything)"),
            Option(name: "label", value: "TEXT", summary: "create: who it is for"),
            .json,
        ] + Option.configuration
    static let note =
        "It works on the database, with or without a running gateway; a running one hears of it within a second.\nA key is shown once: only its digest is kept. Keys of the environment are changed there."
    static let examples = [
        "keys create --scope admin --label \"Anna's laptop\"", "keys list", "keys revoke key_0a1b2c3d4e5f",
        "keys rotate-signing",
    ]

    private static let words = ["create", "list", "revoke", "rotate-signing"]

    static func run(_ arguments: Arguments) throws(CommandError) -> ExitStatus {
        guard let word = arguments.operands.first else {
            throw .usage("keys needs create, list, revoke or rotate-signing")
        }
        if word != "create" {
            for option in ["scope", "label"] where arguments[option] != nil {
                throw .usage("--\(option) is an option of keys create")
            }
        }
        switch word {
        case "create": return try create(arguments)
        case "list": return try list(arguments)
        case "revoke": return try revoke(arguments)
        case "rotate-signing": return try rotateSigning(arguments)
        default: throw .usage("keys does not know \(word)" + Suggestion.text(for: word, among: words, prefix: "keys "))
        }
    }

    /// A new key signs licences from now on; the old one is published until its last token has run out.
    private static func rotateSigning(_ arguments: Arguments) throws(CommandError) -> ExitStatus {
        _ = try arguments.operands("rotate-signing")
        let configuration = try arguments.configuration()
        do throws(ConfigurationError) {
            let (kid, published) = try LicenseAdministration.rotateSigningKeys(configuration)
            guard !arguments.has("json") else {
                Terminal.output(CommandOutput.json(["kid": kid, "published": published]))
                return .success
            }
            Terminal.output("signing with \(kid); \(published) keys are published at /.well-known/jwks.json")
        } catch {
            throw .failed(error.description)
        }
        return .success
    }

    private static func create(_ arguments: Arguments) throws(CommandError) -> ExitStatus {
        _ = try arguments.operands("create")
        let scope = arguments["scope"] ?? "read"
        guard scope == "read" || scope == "admin" else {
            throw .usage("--scope is read or admin" + Suggestion.text(for: scope, among: ["read", "admin"]))
        }
        let made = try configured(arguments) { configuration throws(ConfigurationError) in
            try KeyAdministration.create(
                isAdmin: scope == "admin",
                label: arguments["label"] ?? "",
                configuration
            )
        }
        guard !arguments.has("json") else {
            Terminal.output(CommandOutput.json(members(of: made.shown).merging(["key": made.key]) { $1 }))
            return .success
        }
        // The key alone on standard output, so that it can be caught by a script.
        Terminal.error("\(made.shown.scope) key \(made.shown.id); it is shown this once:")
        Terminal.output(made.key)
        return .success
    }

    private static func list(_ arguments: Arguments) throws(CommandError) -> ExitStatus {
        _ = try arguments.operands("list")
        let keys = try configured(arguments) { configuration throws(ConfigurationError) in
            try KeyAdministration.list(configuration)
        }
        guard !arguments.has("json") else {
            Terminal.output(CommandOutput.json(["keys": keys.map(members)]))
            return .success
        }
        let rows = keys.map { key in
            let times = key.createdAt.map { "made \($0)" } ?? "of the environment"
            return [key.id, key.scope, times, key.revokedAt.map { "revoked \($0)" } ?? "valid", key.label]
        }
        Terminal.output(
            rows.isEmpty ? "no keys; the first start of serve makes one of each scope" : CommandOutput.table(rows)
        )
        return .success
    }

    private static func revoke(_ arguments: Arguments) throws(CommandError) -> ExitStatus {
        let id = try arguments.operands("revoke", "KEY_ID")[1]
        if id.hasPrefix("env:") {
            throw .failed("\(id) is of the environment — take it out of there and restart the gateway")
        }
        let isDone = try configured(arguments) { configuration throws(ConfigurationError) in
            try KeyAdministration.revoke(id, configuration)
        }
        guard isDone else { throw .failed("\(id): no valid key has this id — entitlement-gateway keys list") }
        Terminal.output(
            arguments.has("json") ? CommandOutput.json(["key_id": id, "revoked": true]) : "\(id) is revoked"
        )
        return .success
    }

    private static func configured<Value>(
        _ arguments: Arguments,
        _ work: (GatewayConfiguration) throws(ConfigurationError) -> Value
    ) throws(CommandError) -> Value {
        let configuration = try arguments.configuration()
        do throws(ConfigurationError) {
            return try work(configuration)
        } catch {
            throw .failed(error.description)
        }
    }

    private static func members(of key: KeyAdministration.Key) -> [String: Any] {
        [
            "key_id": key.id, "scope": key.scope, "label": key.label,
            "created_at": CommandOutput.optional(key.createdAt), "revoked_at": CommandOutput.optional(key.revokedAt),
        ]
    }
}
