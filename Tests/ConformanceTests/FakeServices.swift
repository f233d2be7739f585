import Foundation
import Synchronization
import TestSupport

/// The services a gateway asks, on one loopback port: Google's keys, token endpoint and publisher API, and whatever else a
/// case describes.
///
/// An answer is a JSON body; `{"$status": 500, "$body": …, "$headers": {…}}` says more. A list gives its elements one after the
/// other and stays at the last. For Google, an answer with a key `subscriptionsv2`, `products` or `productsv2` answers those
/// kinds separately.
final class FakeServices: Sendable {
    private struct State {
        var google = JSONObject()
        var apis = JSONObject()
        var given: [String: Int] = [:]
        var calls: [String] = []
    }

    /// What is asked of the fake.
    struct Request {
        var method: String
        /// As it was sent.
        var target: String
        var authorization: String?
        var body: String
    }

    private let state = Mutex(State())
    private let google: FakeGoogle

    init(google: FakeGoogle) {
        self.google = google
    }

    /// From now on these are the answers; others stay.
    func set(google: JSONObject, apis: JSONObject) {
        state.withLock { state in
            for member in google.members { state.google[member.key] = member.value }
            for member in apis.members { state.apis[member.key] = member.value }
        }
    }

    /// How many requests had this in their method and target.
    func calls(of part: String) -> Int {
        state.withLock { $0.calls.filter { $0.contains(part) }.count }
    }

    /// Status, body, and further headers.
    func answer(_ request: Request) -> (status: Int, body: String, headers: [(String, String)]) {
        let path = request.target.split(separator: "?").first.map(String.init) ?? ""
        let plain = path.removingPercentEncoding ?? path
        return state.withLock { state in
            state.calls.append("\(request.method) \(request.target.removingPercentEncoding ?? request.target)")
            if plain == "/token" { return google.token(form: request.body) }
            if plain.contains("/androidpublisher/") { return android(request, plain, &state) }
            return api(request, plain, &state)
        }
    }

    private func android(_ request: Request, _ path: String, _ state: inout State) -> (Int, String, [(String, String)])
    {
        guard request.authorization == "Bearer " + FakeGoogle.accessToken else {
            return (401, #"{"error":{"code":401,"status":"UNAUTHENTICATED"}}"#, [])
        }
        if request.method == "POST", path.hasSuffix(":acknowledge") || path.hasSuffix(":consume") {
            return (200, "{}", [])
        }
        let missing = (404, #"{"error":{"code":404,"status":"NOT_FOUND"}}"#, [(String, String)]())
        guard let range = path.range(of: "/tokens/"), let answer = state.google[String(path[range.upperBound...])]
        else {
            return missing
        }
        let kinds = ["subscriptionsv2", "productsv2", "products"]
        for kind in kinds where path.contains("/purchases/\(kind)/") {
            let key = "\(kind) \(path)"
            guard kinds.contains(where: { answer[$0] != nil }) else { return give(key, answer, &state) }
            return answer[kind].map { give(key, $0, &state) } ?? missing
        }
        return missing
    }

    private func api(_ request: Request, _ path: String, _ state: inout State) -> (Int, String, [(String, String)]) {
        let query = request.target.dropFirst(request.target.prefix { $0 != "?" }.count)
        for version in ["", "/v2", "/v1"] {
            let place = version + path
            for key in ["\(request.method) \(place)\(query)", place + query, "\(request.method) \(place)", place] {
                if let answer = state.apis[key] { return give(key, answer, &state) }
            }
        }
        return (404, #"{"type":"resource_missing","message":"not in this case"}"#, [])
    }

    private func give(_ key: String, _ answer: JSONValue, _ state: inout State) -> (Int, String, [(String, String)]) {
        var answer = answer
        if case .array(let several) = answer, !several.isEmpty {
            answer = several[min(state.given[key, default: 0], several.count - 1)]
            state.given[key, default: 0] += 1
        }
        guard answer["$status"] != nil || answer["$body"] != nil else { return (200, answer.compact, []) }
        var status = 200
        if case .number(let number)? = answer["$status"] { status = Int(number.double) }
        var headers: [(String, String)] = []
        if case .object(let object)? = answer["$headers"] {
            for member in object.members { headers.append((member.key, member.value.string ?? member.value.compact)) }
        }
        return (status, (answer["$body"] ?? .object(JSONObject())).compact, headers)
    }
}

/// Google as a run knows it: the key of push tokens, and a service account.
final class FakeGoogle: Sendable {
    static let audience = "https://gateway.example.com/v1/webhooks/google_play"
    static let email = "push@conformance.iam.gserviceaccount.com"
    static let package = "com.example.app"
    static let accessToken = "conformance-access-token"
    private static let account = "publisher@conformance.iam.gserviceaccount.com"

    private let pushKey = SigningKey(.rsa)
    private let otherKey = SigningKey(.rsa)
    private let accountKey = SigningKey(.rsa)

    var jwk: String { pushKey.jwk(kid: "google-push") }

    /// The key file of the service account.
    func accountFile(tokenAddress: String) -> String {
        JSONValue.object(
            JSONObject([
                (key: "type", value: "service_account"), (key: "private_key_id", value: "google-account"),
                (key: "private_key", value: .string(accountKey.pem)),
                (key: "client_email", value: .string(Self.account)),
                (key: "token_uri", value: .string(tokenAddress)),
            ])
        ).compact
    }

    /// A body as Pub/Sub sends it, and its bearer token; nil for a push without one.
    func push(
        _ notification: [UInt8],
        _ mode: SignMode,
        environment: [String: String],
        messageID: String,
        claims changes: JSONObject?
    ) throws(ConformanceError) -> (body: [UInt8], token: String?) {
        let data = Data(notification).base64EncodedString()
        let body =
            #"{"message":{"attributes":{},"data":"\#(data)","messageId":\#(JSONValue.string(messageID).compact)},"#
            + #""subscription":"projects/conformance/subscriptions/play"}"#
        guard mode != .none else { return (Array(body.utf8), nil) }
        guard mode == .good || mode == .bad || mode == .stale else { throw .wrongCase("Google has no such signature") }
        let issued = Int64(Date().timeIntervalSince1970) - (mode == .stale ? 7200 : 5)
        var claims = JSONObject([
            (key: "iss", value: "https://accounts.google.com"),
            (key: "aud", value: .string(environment["GOOGLE_PLAY_PUSH_AUDIENCE"] ?? Self.audience)),
            (key: "email", value: .string(environment["GOOGLE_PLAY_PUSH_EMAIL"] ?? Self.email)),
            (key: "email_verified", value: .bool(true)), (key: "sub", value: "100000000000000000002"),
            (key: "iat", value: .integer(issued)), (key: "exp", value: .integer(issued + 3600)),
        ])
        for change in changes?.members ?? [] { claims[change.key] = change.value == .null ? nil : change.value }
        let payload = Array(JSONValue.object(claims).compact.utf8)
        let key = mode == .bad ? otherKey : pushKey
        return (
            Array(body.utf8), key.jws(header: #"{"alg":"RS256","kid":"google-push","typ":"JWT"}"#, payload: payload)
        )
    }

    /// The answer of the token endpoint: a token for a grant that the account has signed.
    func token(form: String) -> (Int, String, [(String, String)]) {
        let refused = (400, #"{"error":"invalid_grant"}"#, [(String, String)]())
        let fields = form.split(separator: "&").map { $0.removingPercentEncoding ?? "" }
        guard fields.contains("grant_type=urn:ietf:params:oauth:grant-type:jwt-bearer"),
            let assertion = fields.first(where: { $0.hasPrefix("assertion=") })?.dropFirst(10)
        else { return refused }
        let parts = assertion.split(separator: ".")
        guard parts.count == 3, let claims = Self.decoded(parts[1]), let signature = Self.decoded(parts[2]),
            accountKey.isSignature(Array(signature), of: Array("\(parts[0]).\(parts[1])".utf8)),
            let content = try? JSONValue(parsing: Array(claims)), content["iss"]?.string == Self.account,
            content["scope"]?.string == "https://www.googleapis.com/auth/androidpublisher"
        else { return refused }
        return (200, #"{"access_token":"\#(Self.accessToken)","expires_in":3599,"token_type":"Bearer"}"#, [])
    }

    private static func decoded(_ text: Substring) -> Data? {
        let standard = text.replacing("-", with: "+").replacing("_", with: "/")
        return Data(base64Encoded: standard + String(repeating: "=", count: (4 - standard.count % 4) % 4))
    }
}
