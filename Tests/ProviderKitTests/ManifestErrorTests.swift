internal import Entitlements
internal import Foundation
internal import Testing

@testable internal import ProviderKit

/// A manifest that cannot work is refused at start: where, what was expected, and what to do.
struct ManifestErrorTests {
    struct Broken: Sendable, CustomTestStringConvertible {
        /// What to change in a manifest that works: a place and the text put there; nil takes it away.
        var place: [String]
        var value: String?
        var pointer: String
        var expected: String
        var hint: String = ""
        var testDescription: String { "\(place.joined(separator: "/")) = \(value ?? "gone")" }
    }

    private static let good = """
        {"name":"shop","title":"Shop","secret":"SHOP_SECRET",
         "signature":{"header":"X","layout":{"pairs":",","timestamp":"t","signature":"v1"},"encoding":"hex","signed":"{timestamp}.{body}",
           "keys":["utf8"],"tolerance":{"past":300}},
         "event":{"id":"/id","type":"/type","time":{"at":"/time","format":"unix_s"},"production":{"at":"/live","equals":true}},
         "user":{"metadata":["/meta"],"reference":["/ref"]},"customer":["/customer"],
         "rules":[{"on":["sub"],"when":{"at":"/kind","in":["a"]},"owner":"own","purchase":{"id":"/sub","rank":"subscription","also":["/order"]},
           "state":{"status":{"at":"/status","map":{"ok":"active"}},"period_start":"/start","period_end":{"at":"/end","pick":"max"},
             "items":{"each":"/items","products":["./price"],"start":"./start","end":"./end"},"renews":{"not":{"at":"/cancel","equals":true}}}},
          {"on":["refund"],"purchase":{"id":"/pay","rank":"reference"},
           "refund":{"id":"/re","part":"/amount","standing":{"at":"/status","map":{"done":"effective"}}}}]}
        """

    static let broken: [Broken] = [
        .init(
            place: ["name"],
            value: nil,
            pointer: "/name",
            expected: "a text",
            hint: "the provider's name as it stands in paths"
        ),
        .init(
            place: ["name"],
            value: "\"Shop\"",
            pointer: "/name",
            expected: "lower-case letters, digits, _ and -",
            hint: "it becomes part of a path"
        ),
        .init(
            place: ["name"],
            value: "\"a/b\"",
            pointer: "/name",
            expected: "lower-case letters, digits, _ and -",
            hint: "it becomes part of a path"
        ),
        .init(place: ["name"], value: "3", pointer: "/name", expected: "a text"),
        .init(
            place: ["secret"],
            value: nil,
            pointer: "/secret",
            expected: "a text",
            hint: "the environment variable of the signing secret"
        ),
        .init(place: ["signature"], value: nil, pointer: "/signature", expected: "how deliveries are signed"),
        .init(place: ["signature"], value: "[]", pointer: "/signature", expected: "an object"),
        .init(
            place: ["signature", "header"],
            value: nil,
            pointer: "/signature/header",
            expected: "a text",
            hint: "the header of the signature"
        ),
        .init(
            place: ["signature", "encoding"],
            value: "\"rot13\"",
            pointer: "/signature/encoding",
            expected: "hex or base64"
        ),
        .init(
            place: ["signature", "signed"],
            value: "\"{timestamp}\"",
            pointer: "/signature/signed",
            expected: "{body} in it",
            hint: "else anyone could change the body"
        ),
        .init(
            place: ["signature", "signed"],
            value: "\"{body\"",
            pointer: "/signature/signed",
            expected: "a closing brace"
        ),
        .init(
            place: ["signature", "signed"],
            value: "\"{id}.{body}\"",
            pointer: "/signature/id_header",
            expected: "the header of the id",
            hint: "{id} is signed"
        ),
        .init(
            place: ["signature", "keys"],
            value: "[\"rsa\"]",
            pointer: "/signature/keys/0",
            expected: "utf8, base64 or {\"base64_after\": prefix}"
        ),
        .init(
            place: ["signature", "layout", "pairs"],
            value: "\"::\"",
            pointer: "/signature/layout/pairs",
            expected: "one character"
        ),
        .init(
            place: ["signature", "layout", "timestamp"],
            value: nil,
            pointer: "/signature/layout/timestamp",
            expected: "a text",
            hint: "the name of the time"
        ),
        .init(
            place: ["signature", "tolerance", "past"],
            value: "-1",
            pointer: "/signature/tolerance/past",
            expected: "seconds"
        ),
        .init(
            place: ["signature", "tolerance", "later"],
            value: "1",
            pointer: "/signature/tolerance/later",
            expected: "a key this place knows",
            hint: "known here: ahead, comment, past"
        ),
        .init(
            place: ["event", "id"],
            value: nil,
            pointer: "/event/id",
            expected: "where the value stands",
            hint: "a pointer, signed_header or body_digest"
        ),
        .init(
            place: ["event", "type"],
            value: "\"type\"",
            pointer: "/event/type",
            expected: "a JSON pointer",
            hint: "such as /data/object/id, or ./id inside an element"
        ),
        .init(
            place: ["event", "time", "format"],
            value: "\"iso\"",
            pointer: "/event/time/format",
            expected: "unix_s, unix_ms or rfc3339"
        ),
        .init(
            place: ["event", "production"],
            value: "{\"at\":\"/live\"}",
            pointer: "/event/production",
            expected: "a condition",
            hint: "at with equals, in, null, same_as or less_than; or all, any, not"
        ),
        .init(
            place: ["rules"],
            value: "[]",
            pointer: "/rules",
            expected: "a list of rules",
            hint: "one for each kind of event that means something for access"
        ),
        .init(place: ["rules", "0", "on"], value: "[]", pointer: "/rules/0/on", expected: "a list of event types"),
        .init(
            place: ["rules", "0", "purchase"],
            value: nil,
            pointer: "/rules/0/purchase",
            expected: "which purchase the event is about"
        ),
        .init(
            place: ["rules", "0", "purchase", "rank"],
            value: "\"best\"",
            pointer: "/rules/0/purchase/rank",
            expected: "subscription, one_time or reference"
        ),
        .init(
            place: ["rules", "0", "purchase", "also"],
            value: "[3]",
            pointer: "/rules/0/purchase/also/0",
            expected: "a JSON pointer",
            hint: "such as /data/object/id, or ./id inside an element"
        ),
        .init(
            place: ["rules", "0", "owner"],
            value: "\"both\"",
            pointer: "/rules/0/owner",
            expected: "own or checkout"
        ),
        .init(
            place: ["rules", "0", "when", "in"],
            value: "\"a\"",
            pointer: "/rules/0/when/in",
            expected: "a list of values"
        ),
        .init(
            place: ["rules", "0", "state"],
            value: nil,
            pointer: "/rules/0",
            expected: "exactly one of state, payment, refund, dispute and link",
            hint: "write a rule for each"
        ),
        .init(
            place: ["rules", "0", "link"],
            value: "true",
            pointer: "/rules/0",
            expected: "exactly one of state, payment, refund, dispute and link",
            hint: "write a rule for each"
        ),
        .init(place: ["rules", "0", "link"], value: "\"yes\"", pointer: "/rules/0/link", expected: "true"),
        .init(
            place: ["rules", "0", "state", "status"],
            value: "\"running\"",
            pointer: "/rules/0/state/status",
            expected: "one of incomplete, trialing, active, cancelled, failing, unpaid, paused, ended"
        ),
        .init(
            place: ["rules", "0", "state", "status", "map", "ok"],
            value: "\"fine\"",
            pointer: "/rules/0/state/status/map/ok",
            expected: "one of incomplete, trialing, active, cancelled, failing, unpaid, paused, ended"
        ),
        .init(
            place: ["rules", "0", "state", "status", "map"],
            value: nil,
            pointer: "/rules/0/state/status/map",
            expected: "the provider's words and ours"
        ),
        .init(
            place: ["rules", "0", "state", "period_end", "pick"],
            value: "\"last\"",
            pointer: "/rules/0/state/period_end/pick",
            expected: "first, max or min"
        ),
        .init(
            place: ["rules", "0", "state", "items", "start"],
            value: "[]",
            pointer: "/rules/0/state/items/start",
            expected: "at least one JSON pointer"
        ),
        .init(
            place: ["rules", "0", "state", "items", "each"],
            value: nil,
            pointer: "/rules/0/state/items/each",
            expected: "the list of items"
        ),
        .init(
            place: ["rules", "0", "state", "perod_end"],
            value: "\"/x\"",
            pointer: "/rules/0/state/perod_end",
            expected: "a key this place knows"
        ),
        .init(
            place: ["rules", "1", "refund", "id"],
            value: nil,
            pointer: "/rules/1/refund/id",
            expected: "where the value stands",
            hint: "the refund's or dispute's own id"
        ),
        .init(
            place: ["rules", "1", "refund", "standing", "map", "done"],
            value: "\"yes\"",
            pointer: "/rules/1/refund/standing/map/done",
            expected: "pending, effective or withdrawn"
        ),
        .init(place: ["rule"], value: "[]", pointer: "/rule", expected: "a key this place knows"),
    ]

    private static func replacing(_ path: ArraySlice<String>, in value: JSON, by new: JSON?) -> JSON? {
        guard let step = path.first else { return new }
        switch value {
        case .object(var members):
            members[step] = replacing(path.dropFirst(), in: members[step] ?? .null, by: new)
            return .object(members)
        case .array(var elements):
            guard let index = Int(step), elements.indices.contains(index) else { return value }
            elements[index] = replacing(path.dropFirst(), in: elements[index], by: new) ?? .null
            return .array(elements)
        default: return value
        }
    }

    @Test("the manifest these are made from works")
    func works() throws {
        let manifest = try Manifest(json: Array(Self.good.utf8), file: "shop.json")
        #expect(manifest.provider.name == "shop")
        #expect(manifest.rules.count == 2)
    }

    @Test("the example of the documentation works as it stands there")
    func documented() throws {
        let page = try String(
            contentsOf: URL(fileURLWithPath: #filePath).deletingLastPathComponent()
                .appending(path: "../../Sources/Gateway/Documentation.docc/Manifests.md"),
            encoding: .utf8
        )
        let example = try #require(page.components(separatedBy: "```json").dropFirst().first)
        let json = try #require(example.components(separatedBy: "```").first)
        let manifest = try Manifest(json: Array(json.utf8), file: "Manifests.md")
        #expect(manifest.rules.count == 2)
    }

    @Test("where, what and why", arguments: broken)
    func refused(_ broken: Broken) throws {
        let document = try #require(JSON(Array(Self.good.utf8)))
        let changed = try #require(
            Self.replacing(broken.place[...], in: document, by: broken.value.flatMap { JSON(Array($0.utf8)) })
        )
        let error = #expect(throws: ManifestError.self) { try Manifest(json: changed.bytes, file: "shop.json") }
        #expect(error?.file == "shop.json")
        #expect(error?.pointer == broken.pointer)
        #expect(error?.expected == broken.expected)
        if !broken.hint.isEmpty { #expect(error?.hint == broken.hint) }
        #expect(error?.description.hasPrefix("shop.json: \(broken.pointer): expected \(broken.expected)") == true)
    }

    @Test("what is no JSON, and what is no object")
    func noJSON() {
        let error = #expect(throws: ManifestError.self) { try Manifest(json: Array("{".utf8), file: "f.json") }
        #expect(error?.description == "f.json: the file: expected JSON (line 1, column 2: expected a name in quotes)")
        #expect(throws: ManifestError.self) { try Manifest(json: Array("[]".utf8), file: "f.json") }
    }

    @Test(
        "what would be passed over in silence is refused",
        arguments: [
            (["rules", "0", "on"], "[\"sub\",3]"), (["signature", "keys"], "\"utf8\""),
            (["rules", "0", "purchase", "also"], "\"/order\""),
            (["rules", "1", "refund", "standing", "map"], "[]"), (["signature", "keys"], "[]"),
            (["signature", "signed"], "\"{body}{tiem}\""), (["rules", "1", "refund", "so_far"], "\"/total\""),
            (["rules", "0", "when", "null"], "\"no\""),
        ] as [([String], String)]
    )
    func silent(_ place: [String], _ value: String) throws {
        let document = try #require(JSON(Array(Self.good.utf8)))
        let changed = try #require(Self.replacing(place[...], in: document, by: JSON(Array(value.utf8))))
        #expect(throws: ManifestError.self) { try Manifest(json: changed.bytes, file: "shop.json") }
    }
}
