internal import Foundation
internal import TestSupport
internal import Testing

/// `--providers DIR`: what cannot work is refused at start, with the file, the place, what was expected and a hint.
@Suite("A folder of manifests", .ownThread)
struct ManifestFolderTests {
    private static let shop = """
        {"name":"shop","secret":"SHOP_SECRET","signature":{"scheme":"basic"},
         "event":{"id":"/id","type":"/type","time":{"at":"/time","format":"unix_s"}},
         "user":{"metadata":["/meta"]},
         "rules":[{"on":["sub"],"purchase":{"id":"/sub"},"state":{"status":"active","period_end":"/end"}}]}
        """

    private static func gateway(_ files: [String: String]) throws -> RunningGateway {
        let gateway = try RunningGateway(["SHOP_SECRET": "user:password"])
        for (name, text) in files {
            let url = URL(fileURLWithPath: gateway.folder.file("more/\(name)"))
            try FileManager.default.createDirectory(
                at: url.deletingLastPathComponent(),
                withIntermediateDirectories: true
            )
            try Data(text.utf8).write(to: url)
        }
        gateway.arguments = ["--providers", "more"]
        return gateway
    }

    private static func refusal(_ files: [String: String]) throws -> String {
        let gateway = try gateway(files)
        let result = try gateway.run(["serve", "--providers", "more"])
        #expect(result.status == .exited(1), "\(result.errors)")
        return result.errors
    }

    @Test(arguments: [
        (["shop.json": "{\n  \"name\": \"shop\",\n}"], ["more/shop.json", "line 3, column 1", "comma"]),
        (["shop.json": "{\"name\":\"shop\",\"name\":\"shop\"}"], ["more/shop.json", "line 1, column 16", "twice"]),
        (["shop.json": ""], ["more/shop.json", "line 1, column 1"]),
        (["shop.json": "[]"], ["more/shop.json", "an object"]),
        (
            ["a.json": shop, "b.json": shop],
            ["more/b.json /name", "shop is taken by more/a.json", "a name of its own"]
        ),
        (["a.json": shop, "shop/shop.json": shop], ["more/shop/shop.json /name", "more/a.json"]),
        (
            ["shop.json": shop.replacingOccurrences(of: "\"shop\"", with: "\"manual\"")],
            ["more/shop.json", "/name", "a name of its own", "manual is a provider"]
        ),
        (
            ["shop.json": shop.replacingOccurrences(of: "\"/end\"", with: "\"end\"")],
            ["more/shop.json", "/rules/0/state/period_end", "a JSON pointer", "such as"]
        ),
        (
            ["shop.json": shop.replacingOccurrences(of: ",\"period_end\":\"/end\"", with: "")],
            ["more/shop.json", "/rules/0/state/period_end", "where the end of the period stands", "one_time"]
        ),
        (
            ["shop.json": shop.replacingOccurrences(of: "SHOP_SECRET", with: "GATEWAY_READ_KEY")],
            ["more/shop.json", "/secret", "GATEWAY_"]
        ),
    ])
    func refused(files: [String: String], words: [String]) throws {
        let refusal = try Self.refusal(files)
        for word in words { #expect(refusal.contains(word), "\(refusal)") }
    }

    @Test func aFileThatCannotBeRead() throws {
        let gateway = try Self.gateway(["shop.json": Self.shop])
        try FileManager.default.createSymbolicLink(
            atPath: gateway.folder.file("more/lost.json"),
            withDestinationPath: "nowhere.json"
        )
        let result = try gateway.run(["serve", "--providers", "more"])
        #expect(result.status == .exited(1))
        #expect(
            result.errors.contains("more/lost.json") && result.errors.contains("cannot be read"),
            "\(result.errors)"
        )
    }

    @Test func aSecretThatIsNoUserAndPassword() throws {
        let gateway = try Self.gateway(["shop.json": Self.shop])
        gateway.environment["SHOP_SECRET"] = "only-a-password"
        let result = try gateway.run(["serve", "--providers", "more"])
        #expect(result.status == .exited(1))
        #expect(result.errors.contains("SHOP_SECRET") && result.errors.contains("user:password"), "\(result.errors)")
        #expect(!result.errors.contains("only-a-password"))
    }

    @Test(arguments: ["shop.json", "shop/shop.json"])
    func aManifestOfAFolderWorks(file: String) throws {
        let gateway = try Self.gateway([file: Self.shop])
        gateway.environment["SHOP_SECRET"] = "old:password,user:pass:word"
        try gateway.start()
        let now = Int(Date().timeIntervalSince1970)
        let body = #"{"id":"e1","type":"sub","time":\#(now),"sub":"s1","end":\#(now + 3600),"meta":{"user_id":"u1"}}"#
        func deliver(_ credentials: String?) throws -> Int {
            let headers = credentials.map {
                [HTTPHeader("Authorization", "Basic " + Data($0.utf8).base64EncodedString())]
            }
            return try gateway.send(
                HTTPRequest(
                    method: "POST",
                    target: "/v1/webhooks/shop",
                    headers: headers ?? [],
                    body: Array(body.utf8)
                )
            ).status
        }
        #expect(try deliver(nil) == 401)
        #expect(try deliver("user:password") == 401)
        #expect(try gateway.entitlement(of: "u1")["entitled"] == false)
        #expect(try deliver("user:pass:word") == 200)
        #expect(try deliver("old:password") == 200)
        #expect(try gateway.entitlement(of: "u1")["entitled"] == true)
    }

    /// A manifest of a built-in name replaces it.
    @Test func aBuiltInManifestIsReplaced() throws {
        let gateway = try Self.gateway([
            "creem.json": Self.shop.replacingOccurrences(of: "\"shop\"", with: "\"creem\"")
        ])
        try gateway.start()
        var request = WebhookSigner.request("creem", Array("{}".utf8))
        #expect(try gateway.send(request).status == 401)
        request.headers = [HTTPHeader("Authorization", "Basic " + Data("user:password".utf8).base64EncodedString())]
        #expect(try gateway.send(request).status == 200)
    }
}
