internal import Entitlements
internal import Testing

@testable internal import ProviderKit

/// Who an event says a purchase belongs to: the first of the agreed names that is present decides.
struct UserPlaceTests {
    private static let manifest = """
        {"name":"shop","secret":"SHOP_SECRET","signature":{"scheme":"basic"},
         "event":{"id":"/id","type":"/type","time":{"at":"/time","format":"unix_s"}},
         "user":{"metadata":["/meta","/more"],"reference":["/ref","/ref2"]},
         "rules":[{"on":["sub"],"purchase":{"id":"/sub"},"state":{"status":"active","period_end":"/end"}}]}
        """

    private func users(_ members: String) throws -> [String] {
        let adapter = ManifestAdapter(
            manifest: try Manifest(json: Array(Self.manifest.utf8), file: "shop.json"),
            secrets: ["user:password"]
        )
        let body = #"{"id":"e","type":"sub","time":1796083200,"sub":"s","end":1798761600"# + members + "}"
        let event = adapter.normalize(VerifiedDelivery(verified: Array(body.utf8)))
        #expect(event.verdict == nil)
        return event.effects.flatMap { effect -> [String] in
            guard case .facts(_, let facts) = effect else { return [] }
            return facts.flatMap { fact -> [String] in
                if case .owner(let owner) = fact { owner.users.map(\.value) } else { [] }
            }
        }
    }

    @Test(
        "the first that is present",
        arguments: [
            (#","meta":{"user_id":"u1","userId":"u2"}"#, ["u1"]),
            (#","meta":{"referenceId":"u9","userId":"u2"}"#, ["u2"]),
            (#","meta":{"user_id":7}"#, ["7"]), (#","meta":{"user_id":null,"userId":"u2"}"#, ["u2"]),
            (#","meta":{},"ref":"r1""#, ["r1"]),
            (#","more":{"user_id":"u3"},"ref":"r1""#, ["u3"]), (#","ref2":"r2""#, ["r2"]),
            (#","ref":null,"ref2":"r2""#, ["r2"]),
            ("", []),
        ]
    )
    func present(_ members: String, _ expected: [String]) throws {
        #expect(try users(members) == expected)
    }

    /// An empty text, a word that stands for nobody, or no text at all is present too: it names nobody, and nothing after it is
    /// tried.
    @Test(
        "present, and nobody",
        arguments: [
            "\"\"", "\"null\"", "\" \"", "\"undefined\"", "{}", "[]", "[\"u1\"]", "true", "1.5", "\"a\\u0000b\"",
        ]
    )
    func nobody(_ value: String) throws {
        #expect(try users(#","meta":{"user_id":\#(value),"userId":"u2"},"ref":"r1""#) == [])
        #expect(try users(#","meta":{"referenceId":\#(value)},"more":{"user_id":"u3"},"ref":"r1""#) == [])
        #expect(try users(#","ref":\#(value),"ref2":"r2""#) == [])
    }
}
