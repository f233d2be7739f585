internal import Foundation
internal import TestSupport

/// Creem's manifest with and without a mistake in it, in a folder of further manifests, and events that show the mistake.
enum BrokenManifest {
    static let folder = "manifests"

    /// A gateway that reads the folder; the manifest in it is not there yet.
    static func gateway(_ environment: [String: String] = [:], config: String? = nil) throws -> RunningGateway {
        let gateway = try RunningGateway(environment, config: config)
        try FileManager.default.createDirectory(
            atPath: gateway.folder.file(folder),
            withIntermediateDirectories: false
        )
        gateway.arguments = ["--providers", folder]
        return gateway
    }

    /// The end of the period is looked for where it is not.
    static func `break`(_ gateway: RunningGateway) throws {
        try write(original.replacingOccurrences(of: "current_period_end_date", with: "current_period_finish"), gateway)
    }

    static func fix(_ gateway: RunningGateway) throws {
        try write(original, gateway)
    }

    private static var original: String {
        get throws {
            try String(contentsOf: Samples.tree.appendingPathComponent("providers/creem/creem.json"), encoding: .utf8)
        }
    }

    private static func write(_ text: String, _ gateway: RunningGateway) throws {
        try gateway.write(text, to: "\(folder)/creem.json")
    }

    /// A paid period of a subscription, which the broken manifest cannot read.
    static func paid(
        _ id: String,
        of subscription: String = "sub_1",
        user: String? = "u1",
        days: Int64 = 30,
        began: Int64 = 0,
        product: String = "prod_1",
        email: String = "buyer@example.com"
    ) -> String {
        let start = Clock.millis + began * Clock.dayMillis - 1000
        let metadata = user.map { "{\"user_id\":\"\($0)\"}" } ?? "{}"
        return """
            {"id":"\(id)","eventType":"subscription.paid","created_at":\(start),"object":{"id":"\(subscription)",
            "object":"subscription","product":{"id":"\(product)","object":"product","name":"Pro"},
            "customer":{"id":"cus_\(subscription)","object":"customer","email":"\(email)"},
            "last_transaction_id":"tran_\(id)","status":"active","mode":"prod","metadata":\(metadata),
            "current_period_start_date":"\(Clock.text(start))",
            "current_period_end_date":"\(Clock.text(start + days * Clock.dayMillis))"}}
            """
    }
}
