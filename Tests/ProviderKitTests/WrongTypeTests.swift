internal import Entitlements
internal import Testing

@testable internal import ProviderKit

/// Values that are there and are not what they must be: the event is set aside, not passed over.
struct WrongTypeTests {
    private static let manifest = """
        {"name":"shop","secret":"SHOP_SECRET","signature":{"scheme":"basic"},
         "event":{"id":"/id","type":"/type","time":{"at":"/time","format":"unix_s"}},
         "rules":[{"on":["sub","7"],"purchase":{"id":"/sub"},
           "state":{"status":{"at":"/status","map":{"ok":"active","3":"active"}},"period_end":"/end"}},
          {"on":["back"],"purchase":{"id":"/sub"},
           "refund":{"id":"/re","standing":{"at":"/status","map":{"done":"effective"}},"part":"/amount",
             "full":{"at":"/all","equals":true}}}]}
        """

    private func event(_ changes: [String: String]) throws -> NormalizedEvent {
        let adapter = ManifestAdapter(
            manifest: try Manifest(json: Array(Self.manifest.utf8), file: "shop.json"),
            secrets: ["user:password"]
        )
        var members = [
            "id": "\"e\"", "type": "\"sub\"", "time": "1796083200", "sub": "\"s\"", "end": "1798761600",
            "status": "\"ok\"", "re": "\"r\"",
        ]
        members.merge(changes) { $1 }
        let body = "{" + members.map { "\"\($0)\":\($1)" }.joined(separator: ",") + "}"
        return adapter.normalize(VerifiedDelivery(verified: Array(body.utf8)))
    }

    private func isQuarantined(_ event: NormalizedEvent) -> Bool {
        if case .quarantined = event.verdict { true } else { false }
    }

    private static let wrong: [[String: String]] = [
        ["id": #"{"id":"x"}"#], ["id": "[]"], ["id": "true"], ["type": "5"], ["type": #"{"id":"sub"}"#],
        ["type": "\"\""], ["status": "8"], ["status": #"{"id":"ok"}"#], ["status": "true"], ["status": "null"],
        ["type": "\"back\"", "status": "8"], ["type": "\"back\"", "status": "\"done\""],
    ]

    @Test("set aside", arguments: wrong)
    func setAside(_ changes: [String: String]) throws {
        let event = try event(changes)
        #expect(isQuarantined(event), "\(changes): \(String(describing: event.verdict))")
    }

    private static let right: [[String: String]] = [
        [:], ["id": "7"], ["type": "7"], ["status": "3"],
        ["type": "\"back\"", "status": "\"done\"", "amount": "3"],
        ["type": "\"back\"", "status": "\"done\"", "all": "true"],
    ]

    @Test("understood", arguments: right)
    func understood(_ changes: [String: String]) throws {
        let event = try event(changes)
        #expect(event.verdict == nil && !event.effects.isEmpty, "\(changes): \(String(describing: event.verdict))")
    }

    @Test("a word that the manifest does not know is observed", arguments: ["\"odd\"", "\"\""])
    func unknown(_ status: String) throws {
        let event = try event(["status": status])
        #expect(!isQuarantined(event) && event.effects.isEmpty)
    }
}
