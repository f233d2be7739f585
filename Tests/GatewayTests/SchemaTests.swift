internal import Foundation
internal import Gateway
internal import ProviderKit
internal import TestSupport
internal import Testing

/// The schemas describe what the gateway reads: an independent validator and the gateway's own readers agree.
@Suite(
    "Schemas",
    .ownThread,
    .enabled(
        if: JSONSchemaValidator.installed != nil || JSONSchemaValidator.isRequired,
        Comment(rawValue: JSONSchemaValidator.missing)
    )
)
struct SchemaTests {
    private static let manifestSchema = Samples.tree.appendingPathComponent("schema/provider-manifest.schema.json").path
    private static let configSchema = Samples.tree.appendingPathComponent("schema/gateway-config.schema.json").path

    private static func theJudge() throws -> JSONSchemaValidator {
        try #require(JSONSchemaValidator.installed, Comment(rawValue: JSONSchemaValidator.missing))
    }

    private static func manifestFiles() throws -> [(path: String, text: String)] {
        let folder = Samples.tree.appendingPathComponent("providers")
        return try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted().compactMap { name in
            let path = folder.appendingPathComponent("\(name)/\(name).json")
            return (try? String(contentsOf: path, encoding: .utf8)).map { (path: "\(name).json", text: $0) }
        }
    }

    @Test func everyManifestIsAsTheSchemaSays() throws {
        let files = try Self.manifestFiles()
        #expect(files.count >= 6)
        let verdicts = try Self.theJudge().judge(files.map(\.text), schema: Self.manifestSchema)
        for (file, verdict) in zip(files, verdicts) {
            #expect(verdict == nil, "\(file.path)")
            #expect(file.text.contains("\"$schema\": \"../../schema/provider-manifest.schema.json\""), "\(file.path)")
        }
    }

    /// Every key of the language once: what stands above the rules, and the rules.
    private static let head = """
        {"$schema":"x","comment":"c","name":"shop","title":"Shop","secret":"SHOP_SECRET",
         "signature":{"scheme":"hmac_sha256","header":"X-Sig","layout":{"pairs":",","timestamp":"t","signature":"v1"},"encoding":"hex",
           "signed":"{id}.{timestamp}.{body}","keys":["utf8",{"base64_after":"whsec_"}],"timestamp_header":"X-Time","id_header":"X-Id",
           "tolerance":{"past":300,"ahead":300}},
         "event":{"id":["/id","/a~1b"],"type":"/type","time":{"at":"/time","format":"unix_s","pick":"first"},
           "production":{"at":"/live","equals":true}},
         "user":{"metadata":["/meta"],"reference":"/ref"},"customer":[["/customer","/buyer"]],
         "rules":[{"on":["checkout"],"owner":"checkout","purchase":{"id":"/sub"},"link":true}]}
        """

    private static let rules = [
        """
        {"comment":"c","on":["sub","sub2"],"when":[{"at":"/kind","in":["a",1,null]},{"any":[{"at":"/x","null":false},
             {"not":{"at":"/y","less_than":"/z","format":"unix_ms"}}]}],
           "owner":"own","user":{"metadata":"/other"},"customer":"/c2",
           "purchase":{"id":"/sub","rank":"subscription","kind":"plan","also":["/order",{"id":{"at":"/o","prefix":"o "},"kind":"order"}]},
           "state":{"status":{"at":"/status","map":{"ok":"active","over":"ended"}},"period_start":"/start",
             "period_end":{"each":"/lines","where":{"at":"./kind","equals":"plan"},"at":["./end","/end"],"pick":"max","format":"rfc3339"}}}
        """,
        """
        {"on":["sub"],"purchase":{"id":"/sub"},
           "state":{"status":"active","items":{"each":"/items","products":[["./price","./plan"],"./product"],"end":"./end"},"products":"/p",
             "version":"/v","ends_at":"/e","limit":"/l","renews":{"all":[{"at":"/cancel","equals":false}]},
             "collection_paused":{"at":"/c","null":true},"first_period":{"at":"/s","same_as":"/start"},"failing_since":"/f",
             "period_moves_unpaid":true,"management_url":"/m"}}
        """,
        #"{"on":["once"],"purchase":{"id":"/o","rank":"one_time"},"state":{"status":"active","one_time":true,"purchased_at":"/t"}}"#,
        """
        {"on":["paid"],"purchase":{"id":"/sub"},"payment":{"ids":["/pay"],"paid_at":"/t","names_only":false,"period_start":"/a",
             "period_end":"/b","amount":"/n","products":"/p"}}
        """,
        """
        {"on":["refund"],"purchase":{"id":"/pay","rank":"reference"},"refund":{"id":"/re","part":"/amount","full":{"at":"/f","equals":true},
             "at":"/t","payments":"/pay","period_start":"/a","period_end":"/b","total":"/n",
             "standing":{"at":"/status","map":{"done":"effective","asked":"pending"}}}}
        """,
        #"{"on":["dispute"],"purchase":{"id":"/pay","rank":"reference"},"dispute":{"id":"/d","so_far":"/amount"}}"#,
    ]

    /// The least there can be, round one rule.
    private static func manifest(_ rule: String = #"{"on":["x"],"purchase":{"id":"/sub"},"state":{"status":"paused"}}"#)
        -> String
    {
        """
        {"name":"shop","secret":"SHOP_SECRET","signature":{"scheme":"basic","comment":"c"},
         "event":{"id":"body_digest","type":"/type","time":"/time"},"rules":[\(rule)]}
        """
    }

    /// What a place is replaced by, one after the other; nil takes it away.
    private static let replacements: [JSONValue?] = [
        nil, .null, .bool(true), .bool(false), "", "./x", "words of nobody", [], [.null], ["/x", 3], [:], ["at": "/x"],
        .integer(-3),
    ]

    /// Every document that differs from `value` in one place.
    private static func mutations(of value: JSONValue) -> [JSONValue] {
        var found: [JSONValue] = []
        switch value {
        case .object(let object):
            for index in object.members.indices {
                for replacement in replacements {
                    var members = object.members
                    if let replacement {
                        members[index].value = replacement
                    } else {
                        members.remove(at: index)
                    }
                    found.append(.object(JSONObject(members)))
                }
                for inner in mutations(of: object.members[index].value) {
                    var members = object.members
                    members[index].value = inner
                    found.append(.object(JSONObject(members)))
                }
            }
            found.append(.object(JSONObject(object.members + [(key: "nobody", value: "/x")])))
            found.append(.object(JSONObject(object.members + [(key: "$schema", value: "x")])))
        case .array(let elements):
            for index in elements.indices {
                for replacement in replacements {
                    var changed = elements
                    if let replacement {
                        changed[index] = replacement
                    } else {
                        changed.remove(at: index)
                    }
                    found.append(.array(changed))
                }
                for inner in mutations(of: elements[index]) {
                    var changed = elements
                    changed[index] = inner
                    found.append(.array(changed))
                }
            }
            if let last = elements.last { found.append(.array(elements + [last])) }
        case .null, .bool, .number, .string: break
        }
        return found
    }

    /// Changes that no single replacement makes.
    private static let particular: [(from: String, to: String)] = [
        ("\"past\":300", "\"past\":300.5"), ("\"past\":300", "\"past\":1e30"), ("SHOP_SECRET", "GATEWAY_ADMIN_KEY"),
        ("SHOP_SECRET", "shop_secret"), ("\"shop\"", "\"revenuecat\""), ("\"shop\"", "\"manual\""),
        ("\"shop\"", "\"Shop\""),
        ("{id}.{timestamp}.{body}", "{body}}"), ("{id}.{timestamp}.{body}", "{timestamp}"), ("/a~1b", "/a~b"),
        ("/a~1b", "a"),
        ("\"X-Sig\"", "\"X Sig\""), ("\"sub\",\"sub2\"", "\"sub\",\"sub\""), ("\"pairs\":\",\"", "\"pairs\":\"é\""),
        ("\"kind\":\"plan\"", "\"kind\":\"Plan\""), ("\"scheme\":\"hmac_sha256\"", "\"scheme\":\"basic\""),
        ("\"so_far\":\"/amount\"", "\"so_far\":\"/amount\",\"part\":\"/x\""),
        ("[\"/id\",\"/a~1b\"]", "\"signed_header\""),
        ("\"link\":true", "\"link\":true,\"state\":{\"status\":\"ended\"}"), ("\"in\":[\"a\",1,null]", "\"in\":[{}]"),
        ("\"equals\":true}", "\"equals\":true,\"null\":false}"), ("\"name\":", "\"nane\":"),
    ]

    @Test func whatTheSchemaRefusesTheReaderRefuses() throws {
        let working = [Self.head, Self.manifest()] + Self.rules.map { Self.manifest($0) }
        var documents = working
        for change in Self.particular {
            let base = try #require(working.first { $0.contains(change.from) }, "\(change.from)")
            documents.append(base.replacingOccurrences(of: change.from, with: change.to))
        }
        documents += Self.mutations(of: try JSONValue(parsing: Self.head)).map(\.compact)
        documents += Self.mutations(of: try JSONValue(parsing: Self.manifest())).map(\.compact)
        for rule in Self.rules {
            documents += Self.mutations(of: try JSONValue(parsing: rule)).map { Self.manifest($0.compact) }
        }
        let verdicts = try Self.theJudge().judge(documents, schema: Self.manifestSchema)
        #expect(verdicts.prefix(working.count).allSatisfy { $0 == nil }, "what these are made from works")
        var refused = 0
        var stricter: [String] = []
        for (document, verdict) in zip(documents, verdicts) {
            let error = Result { try Manifest(json: Array(document.utf8), file: "shop.json") }
            switch (verdict, error) {
            case (let verdict?, .success):
                Issue.record("the reader takes what the schema refuses: \(verdict)\n\(document)")
            case (nil, .failure(let error)): stricter.append("\(error)")
            case (.some, .failure): refused += 1
            case (nil, .success): continue
            }
        }
        #expect(documents.count > 1000 && refused > 800, "\(refused) of \(documents.count)")
        #expect(stricter.isEmpty, "the schema takes what the reader refuses: \(Set(stricter).sorted())")
    }

    private static let config = """
        {"$schema":"x","entitlement":"pro","products":{"stripe":{"price_1":["pro","extra"],"*":{"entitlements":["pro"],"days":365}},
         "creem":{}},"sandbox_users":["u1","*"],"grace":{"past_due_days":14},"metrics":"key"}
        """

    @Test func theConfigurationsSchemaAndReaderAgree() throws {
        let folder = try TemporaryFolder(prefix: "config")
        defer { folder.remove() }
        var documents = [Self.config]
        documents += Self.mutations(of: try JSONValue(parsing: Self.config)).map(\.compact)
        documents += [
            Self.config.replacingOccurrences(of: ":14", with: ":14.5"),
            Self.config.replacingOccurrences(of: ":14", with: ":366"),
            Self.config.replacingOccurrences(of: ":365", with: ":0"),
        ]
        let verdicts = try Self.theJudge().judge(documents, schema: Self.configSchema)
        #expect(verdicts[0] == nil)
        var refused = 0
        for (document, verdict) in zip(documents, verdicts) {
            try Data(document.utf8).write(to: URL(fileURLWithPath: folder.file("gateway.json")))
            let read = Result {
                try GatewayConfiguration(flags: ["config": folder.file("gateway.json")], environment: .init([:]))
            }
            switch (verdict, read) {
            case (let verdict?, .success):
                Issue.record("the reader takes what the schema refuses: \(verdict)\n\(document)")
            case (nil, .failure(let error)):
                Issue.record("the schema takes what the reader refuses: \(error)\n\(document)")
            case (.some, .failure): refused += 1
            case (nil, .success): continue
            }
        }
        #expect(refused > 100, "\(refused) of \(documents.count)")
    }

    /// Whoever writes a manifest in an editor sees what each key means.
    @Test(arguments: [manifestSchema, configSchema])
    func everyKeyIsDescribedAndNoOtherIsKnown(schema: String) throws {
        let root = try JSONValue(parsing: try Data(contentsOf: URL(fileURLWithPath: schema)))
        var keys = 0
        func look(_ value: JSONValue, _ place: String) {
            switch value {
            case .object(let object):
                if object["additionalProperties"] != nil, case .object(let properties)? = object["properties"] {
                    for member in properties.members {
                        keys += 1
                        let isDescribed = member.value["description"] != nil || member.value["$ref"] != nil
                        #expect(isDescribed, "\(place)/\(member.key)")
                    }
                }
                if object["type"] == "object", object["description"] != nil {
                    #expect(object["additionalProperties"] != nil, "\(place) takes any key")
                }
                for member in object.members { look(member.value, "\(place)/\(member.key)") }
            case .array(let elements): for element in elements { look(element, place) }
            case .null, .bool, .number, .string: break
            }
        }
        look(root, "")
        #expect(keys > 20)
    }
}
