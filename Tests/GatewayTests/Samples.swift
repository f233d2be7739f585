internal import Foundation
internal import TestSupport

/// The sample events of the source tree.
enum Samples {
    /// The top of the source tree, found from this file's own place in it.
    static let tree = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// Name and event, of one provider.
    static func all(of provider: String) throws -> [(name: String, event: JSONValue)] {
        let folder = tree.appendingPathComponent("providers/\(provider)/samples")
        return try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".json") }
            .sorted()
            .map { name in
                let bytes = try Data(contentsOf: folder.appendingPathComponent(name))
                return (name: String(name.dropLast(5)), event: try JSONValue(parsing: bytes))
            }
    }
}

/// A RevenueCat event with what the tests need; times in milliseconds.
struct RevenueCatEvent: Sendable {
    var type = "INITIAL_PURCHASE"
    var id: String
    var user: String
    var aliases: [String] = []
    /// The chain's own id, and the one of its latest transaction.
    var original: String
    var transaction: String
    var start: Int64
    var end: Int64
    var at: Int64
    var environment = "PRODUCTION"
    var product = "pro_monthly"
    var entitlements = ["pro"]
    var more: [JSONObject.Member] = []

    /// A purchase that began just now and lasts a month.
    init(_ id: String, user: String, purchase: String, days: Int64 = 30) {
        let now = Clock.millis
        self.id = id
        self.user = user
        (original, transaction) = (purchase, purchase)
        (start, at) = (now - 1000, now)
        end = now + days * Clock.dayMillis
    }

    var body: String {
        let members: [JSONObject.Member] = [
            (key: "type", value: .string(type)), (key: "id", value: .string(id)),
            (key: "event_timestamp_ms", value: .integer(at)), (key: "app_user_id", value: .string(user)),
            (key: "original_app_user_id", value: .string(user)),
            (key: "aliases", value: .array(([user] + aliases).map(JSONValue.string))),
            (key: "product_id", value: .string(product)), (key: "period_type", value: "NORMAL"),
            (key: "purchased_at_ms", value: .integer(start)), (key: "expiration_at_ms", value: .integer(end)),
            (key: "environment", value: .string(environment)),
            (key: "entitlement_ids", value: .array(entitlements.map(JSONValue.string))),
            (key: "transaction_id", value: .string(transaction)),
            (key: "original_transaction_id", value: .string(original)), (key: "store", value: "APP_STORE"),
        ]
        let event = JSONValue.object(JSONObject(members + more))
        return JSONValue.object(JSONObject([(key: "event", value: event), (key: "api_version", value: "1.0")])).compact
    }
}

/// The wall clock, as the contract writes it.
enum Clock {
    static let dayMillis: Int64 = 86_400_000

    static var millis: Int64 { Int64((Date().timeIntervalSince1970 * 1000).rounded(.down)) }

    /// RFC 3339, UTC, milliseconds.
    static func text(_ millis: Int64) -> String {
        let formatter = ISO8601DateFormatter()
        formatter.formatOptions = [.withInternetDateTime]
        let whole = formatter.string(from: Date(timeIntervalSince1970: Double(millis / 1000)))
        let rest = String(millis % 1000)
        return whole.dropLast() + "." + String(repeating: "0", count: 3 - rest.count) + rest + "Z"
    }

    static func text(secondsFromNow seconds: Double) -> String {
        text(millis + Int64(seconds * 1000))
    }
}
