internal import Foundation
internal import TestSupport
internal import Testing

@testable internal import Gateway

/// `schema/openapi.json` says what the gateway does, and nothing else.
@Suite("The description of the API", .ownThread)
struct APIDescriptionTests {
    private static let tree = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    private static let verbs = ["get", "post", "put", "patch", "delete"]

    private let document: JSONValue

    init() throws {
        let file = Self.tree.appendingPathComponent("schema/openapi.json")
        document = try JSONValue(parsing: Array(Data(contentsOf: file)))
    }

    private func members(_ value: JSONValue?) -> [(key: String, value: JSONValue)] {
        guard case .object(let object) = value else { return [] }
        return object.members.map { (key: $0.key, value: $0.value) }
    }

    private var paths: [(key: String, value: JSONValue)] { members(document["paths"]) }

    @Test func itIsServedOpenAndOnce() throws {
        let gateway = try RunningGateway().start()
        let answer = try gateway.ask("GET", "/openapi.json", key: nil)
        #expect(answer.status == 200)
        #expect(answer.header("Content-Type") == "application/json")
        #expect(answer.header("Cache-Control") == "public, max-age=3600")
        #expect(try answer.json() == document)
        let tag = try #require(answer.header("ETag"))
        let again = try gateway.ask(
            "GET",
            "/openapi.json",
            key: nil,
            headers: [HTTPHeader("If-None-Match", tag)]
        )
        #expect(again.status == 304)
        #expect(again.body.isEmpty)
        #expect(try gateway.ask("POST", "/openapi.json", key: nil).status == 405)
    }

    @Test func everyRouteIsDescribedAndNoOther() {
        let routes = Set(Route.allCases.filter { $0 != .other }.map { String(describing: $0.template) })
        let described = Set(paths.map(\.key))
        #expect(routes.subtracting(described).isEmpty, "not described")
        #expect(described.subtracting(routes).isEmpty, "described, and not there")
    }

    /// A method that no path takes is answered with those that it does.
    @Test func everyMethodIsDescribedAndNoOther() throws {
        let issuer = try TestIssuer()
        let gateway = try RunningGateway(config: issuer.config()).start()
        for (path, operations) in paths {
            let target = path.replacingOccurrences(of: "{provider}", with: "stripe")
                .replacing(#/\{[a-z_]+\}/#, with: "x")
            let answer = try gateway.ask("PATCH", target)
            #expect(answer.status == 405, "\(path)")
            let allowed = Set(
                (answer.header("Allow") ?? "").split(separator: ",").map {
                    $0.trimmingCharacters(in: .whitespaces).lowercased()
                }
            )
            let described = Set(members(operations).map(\.key).filter(Self.verbs.contains))
            #expect(allowed.subtracting(["head", "options"]) == described, "\(path)")
        }
    }

    @Test func everyCodeIsDescribedAndNoOther() throws {
        var codes: Set<String> = []
        let sources = Self.tree.appendingPathComponent("Sources")
        for target in ["Gateway", "HTTPServer"] {
            let folder = sources.appendingPathComponent(target)
            for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) where name.hasSuffix(".swift")
            {
                let text = try String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8)
                for match in text.matches(of: #/Problem\(\s*[0-9]{3},\s*"([a-z_]+)"/#) { codes.insert(String(match.1)) }
                guard name == "Rejection.swift" else { continue }
                for match in text.matches(of: #/(?:[0-9]{3}|default): "([a-z_]+)"/#) { codes.insert(String(match.1)) }
            }
        }
        #expect(codes.count > 20)
        let described = document["components"]?["schemas"]?["Problem"]?["properties"]?["code"]?["enum"]?.array ?? []
        #expect(codes == Set(described.compactMap(\.string)))
    }

    @Test func everyAnswerHasAnExample() {
        for (path, operations) in paths {
            for (method, operation) in members(operations) {
                for (status, response) in members(operation["responses"]) {
                    for (type, content) in members(response["content"]) {
                        let isNamed = content["schema"]?["$ref"] != nil
                        #expect(isNamed || content["example"] != nil, "\(method) \(path) \(status) \(type)")
                    }
                }
            }
        }
        for (name, schema) in members(document["components"]?["schemas"]) {
            #expect(schema["examples"]?.array.isEmpty == false, "\(name)")
        }
    }

    // MARK: - Against the schemas

    /// One schema whose members are the answers of operations, so that all are judged in one go.
    private func judge(_ documents: [(name: String, schema: JSONValue, body: JSONValue)]) throws {
        let judge = try #require(JSONSchemaValidator.installed)
        let folder = try TemporaryFolder(prefix: "api")
        defer { folder.remove() }
        let schema = JSONValue.object(
            JSONObject([
                (
                    key: "properties",
                    value: .object(JSONObject(documents.enumerated().map { (key: "\($0)", value: $1.schema) }))
                ), (key: "components", value: document["components"] ?? .null),
            ])
        )
        let file = folder.file("schema.json")
        try Data(schema.compact.utf8).write(to: URL(fileURLWithPath: file))
        let bodies = documents.enumerated().map { number, document in
            JSONValue.object(JSONObject([(key: "\(number)", value: document.body)])).compact
        }
        for (document, verdict) in zip(documents, try judge.judge(bodies, schema: file)) {
            #expect(verdict == nil, "\(document.name): \(document.body.compact)")
        }
    }

    @Test(
        .enabled(
            if: JSONSchemaValidator.installed != nil || JSONSchemaValidator.isRequired,
            "\(JSONSchemaValidator.missing)"
        )
    )
    func examplesAreWhatTheSchemasSay() throws {
        var documents: [(name: String, schema: JSONValue, body: JSONValue)] = []
        for (name, schema) in members(document["components"]?["schemas"]) {
            for example in schema["examples"]?.array ?? [] {
                documents.append((name: name, schema: schema, body: example))
            }
        }
        for (path, operations) in paths {
            for (method, operation) in members(operations) {
                let responses = members(operation["responses"]).map { (key: $0.key, value: $0.value["content"]) }
                for (what, contents) in responses + [(key: "body", value: operation["requestBody"]?["content"])] {
                    for (_, content) in members(contents) {
                        guard let example = content["example"], let schema = content["schema"] else { continue }
                        documents.append((name: "\(method) \(path) \(what)", schema: schema, body: example))
                    }
                }
            }
        }
        try judge(documents)
    }

    @Test(
        .enabled(
            if: JSONSchemaValidator.installed != nil || JSONSchemaValidator.isRequired,
            "\(JSONSchemaValidator.missing)"
        )
    )
    func realAnswersAreWhatTheSchemasSay() throws {
        let issuer = try TestIssuer()
        let gateway = try RunningGateway(config: issuer.config()).start()
        var documents: [(name: String, schema: JSONValue, body: JSONValue)] = []
        var seen: Set<String> = []
        @discardableResult
        func ask(
            _ method: String,
            _ path: String,
            _ values: [String: String] = [:],
            query: String = "",
            key: String? = RunningGateway.adminKey,
            body: String? = nil,
            status: Int = 200
        ) throws -> JSONValue {
            var target = path
            for (name, value) in values { target = target.replacingOccurrences(of: "{\(name)}", with: value) }
            let answer = try gateway.ask(method, target + query, key: key, body: body)
            #expect(answer.status == status, "\(method) \(target): \(answer.text)")
            let operation = document["paths"]?[path]?[method.lowercased()]
            var response = try #require(
                operation?["responses"]?["\(answer.status)"],
                "\(method) \(path) \(answer.status)"
            )
            if let name = response["$ref"]?.string?.split(separator: "/").last {
                response = try #require(document["components"]?["responses"]?[String(name)])
            }
            seen.insert(path)
            guard !answer.body.isEmpty, let contents = response["content"] else { return .null }
            let type = answer.header("Content-Type") ?? ""
            let schema = try #require(contents[type]?["schema"], "\(method) \(path): \(type)")
            let value = try answer.json()
            documents.append((name: "\(method) \(path) \(answer.status)", schema: schema, body: value))
            return value
        }
        let user = ["user_id": "u1"]
        let end = Clock.text(secondsFromNow: 86_400)
        let grant = LicenseTests.body([("until", .string(end)), ("reason", "a test"), ("grant_id", "g1")])
        try ask("GET", "/v1/users/{user_id}/entitlement", user)
        try ask("POST", "/v1/users/{user_id}/grants", user, body: grant, status: 201)
        try ask("POST", "/v1/users/{user_id}/grants", user, body: grant)
        try ask(
            "POST",
            "/v1/users/{user_id}/grants",
            user,
            body: #"{"until":null,"reason":"x","grant_id":"g1"}"#,
            status: 409
        )
        try gateway.deliver("revenuecat", RevenueCatEvent("e1", user: "u1", purchase: "t1").body)
        try gateway.deliver("revenuecat", "{}")
        try ask("POST", "/v1/webhooks/{provider}", ["provider": "stripe"], body: "{}", status: 401)
        try ask("POST", "/v1/webhooks/{provider}", ["provider": "nobody"], body: "{}", status: 404)
        try ask("GET", "/v1/users/{user_id}/entitlement", user)
        try ask("GET", "/v1/users/{user_id}/entitlement", user, query: "?at=x", status: 400)
        try ask("GET", "/v1/entitlement", query: "?user_id=u1")
        try ask("GET", "/v1/entitlement", status: 400)
        try ask("POST", "/v1/entitlements/query", body: #"{"user_ids":["u1","u2"]}"#)
        try ask("GET", "/v1/gate/{user_id}", user)
        try ask("GET", "/v1/gate/{user_id}", ["user_id": "u2"], status: 403)
        try ask("GET", "/v1/gate/{user_id}", user, key: nil, status: 401)
        try ask(
            "POST",
            "/v1/users/{user_id}/identities",
            user,
            body: #"{"provider":"stripe","external_id":"cus_1"}"#,
            status: 201
        )
        try ask("POST", "/v1/users/{user_id}/sync", user)
        // Signed in.
        let token = issuer.token()
        try ask("GET", "/v1/gate", key: token)
        try ask("GET", "/v1/me/entitlement", key: token)
        try ask("POST", "/v1/me/sync", key: token)
        try ask("POST", "/v1/me/devices", key: token, body: #"{"device_id":"m1"}"#)
        try ask("GET", "/v1/me/devices", key: token)
        try ask("DELETE", "/v1/me/devices/{device_id}", ["device_id": "m1"], key: token)
        // Licences.
        let made = try ask("POST", "/v1/licenses", body: #"{"user_id":"u1","max_devices":1}"#, status: 201)
        let key = made["license_key"] ?? .null
        let id = ["license_id": made["license_id"]?.string ?? ""]
        func device(_ name: String) -> String {
            LicenseTests.body([("license_key", key), ("device_id", .string(name)), ("device_name", "D")])
        }
        try ask("POST", "/v1/licenses/activate", key: nil, body: device("d1"))
        try ask("POST", "/v1/licenses/activate", key: nil, body: device("d2"), status: 409)
        try ask("POST", "/v1/licenses/validate", key: nil, body: device("d1"))
        try ask("POST", "/v1/licenses/validate", key: nil, body: device("d2"))
        try ask("POST", "/v1/licenses/validate", key: nil, body: #"{"license_key":"NONE","device_id":"d1"}"#)
        try ask("POST", "/v1/licenses/deactivate", key: nil, body: device("d1"))
        try ask("GET", "/v1/licenses/{license_id}", id)
        try ask("GET", "/.well-known/jwks.json", key: nil)
        // Operating.
        try ask("GET", "/v1/users/{user_id}", user)
        try ask("GET", "/v1/users/{user_id}", user, key: RunningGateway.readKey, status: 403)
        try ask("GET", "/v1/users/{user_id}/export", user)
        try ask("GET", "/v1/events", query: "?limit=2")
        try ask("GET", "/v1/events", query: "?outcome=quarantined")
        try ask(
            "POST",
            "/v1/events/{provider}/{event_id}/replay",
            ["provider": "revenuecat", "event_id": "e1"]
        )
        try ask(
            "POST",
            "/v1/events/{provider}/{event_id}/replay",
            ["provider": "stripe", "event_id": "none"],
            status: 404
        )
        try ask("GET", "/v1/audit")
        try ask("GET", "/v1/notifications")
        try ask("POST", "/v1/notifications/resend", status: 404)
        try ask("POST", "/v1/notifications/{message_id}/resend", ["message_id": "m"], status: 404)
        for path in ["/v1/app_store/transactions", "/v1/app_store/promotional-offers", "/v1/app_store/offer-jws"] {
            try ask("POST", path, body: "{}", status: 404)
        }
        try ask("POST", "/v1/google_play/purchases", body: #"{"purchase_token":"t"}"#, status: 404)
        try ask("POST", "/v1/google_play/purchases", key: nil, body: #"{"purchase_token":"t"}"#, status: 401)
        try ask("GET", "/v1/providers")
        try ask("GET", "/v1/providers", key: RunningGateway.readKey, status: 403)
        let nobody = "$RCAnonymousID:0123456789abcdef0123456789abcdef"
        try gateway.deliver("revenuecat", RevenueCatEvent("e2", user: nobody, purchase: "t2").body)
        #expect(try ask("GET", "/v1/purchases/parked")["purchases"]?.array.count == 1)
        try ask("GET", "/v1/purchases/parked", query: "?limit=0", status: 400)
        for number in 3...4 {
            try gateway.deliver("revenuecat", RevenueCatEvent("e\(number)", user: "u9", purchase: "t\(number)").body)
        }
        #expect(try ask("GET", "/v1/purchases/overlapping")["people"]?.array.count == 1)
        try ask("POST", "/v1/licenses/{license_id}/key", id)
        try ask("DELETE", "/v1/licenses/{license_id}", id)
        try ask("DELETE", "/v1/users/{user_id}/grants/{grant_id}", ["user_id": "u1", "grant_id": "g1"])
        try ask("DELETE", "/v1/users/{user_id}", user, status: 204)
        try ask("GET", "/healthz", key: nil)
        try ask("GET", "/readyz", key: nil)
        try judge(documents)
        let rest = Set(paths.map(\.key)).subtracting(seen)
        #expect(rest == ["/v1/changes", "/metrics", "/openapi.json", "/admin"], "asked for elsewhere")
    }
}
