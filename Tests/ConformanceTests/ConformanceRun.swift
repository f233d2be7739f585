import Foundation
import TestSupport

/// What all cases of one run share: the program, where the case files are, and secrets made up for this run.
struct ConformanceRun: Sendable {
    static let current = ConformanceRun()

    /// The folder `Tests/Conformance`, found from this file's own place in the source tree.
    static let folder = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Conformance", isDirectory: true).path

    /// `GATEWAY_BINARY`, else the program that was built beside the tests.
    let program: String
    /// Every provider whose webhooks the runner can sign is on.
    let environment: [String: String]
    /// The App Store of this run; gateways trust its root.
    let apple = AppleSigner()
    let google = FakeGoogle()
    /// Credentials of outbound APIs: for cases that say what those answer.
    let outbound = [
        "REVENUECAT_SECRET_KEY": "sk_conformance", "REVENUECAT_PROJECT_ID": "proj_conformance",
        "STRIPE_API_KEY": "sk_test_conformance", "CREEM_API_KEY": "creem_test_conformance",
    ]

    init(program: String? = nil) {
        let built = Bundle.main.bundleURL.appendingPathComponent("entitlement-gateway").path
        self.program = program ?? ProcessInfo.processInfo.environment["GATEWAY_BINARY"] ?? built
        environment = [
            "APP_STORE_BUNDLE_ID": "com.example.app",
            "APP_STORE_APP_APPLE_ID": "1234567890",
            "GATEWAY_ADMIN_KEY": "admin-" + Self.token(),
            "GATEWAY_READ_KEY": "read-" + Self.token(),
            "REVENUECAT_WEBHOOK_AUTHORIZATION": "Bearer " + Self.token(),
            "REVENUECAT_WEBHOOK_SECRET": Self.token(),
            "CREEM_WEBHOOK_SECRET": "whsec_" + Self.token(),
            "STRIPE_WEBHOOK_SECRET": "whsec_" + Self.token(),
            "PADDLE_WEBHOOK_SECRET": "pdl_ntfset_" + Self.token(),
            "LEMONSQUEEZY_WEBHOOK_SECRET": Self.token(),
            "POLAR_WEBHOOK_SECRET": Self.standardSecret(),
            "DODO_WEBHOOK_SECRET": Self.standardSecret(),
        ]
    }

    /// The bytes of a payload file, named as cases name it: `creem/03-subscription.paid.json`.
    func payload(_ name: String) throws(ConformanceError) -> [UInt8] {
        guard let data = FileManager.default.contents(atPath: Self.folder + "/payloads/" + name) else {
            throw .wrongCase("no payload \(name)")
        }
        return Array(data)
    }

    private static func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8.random(in: .min ... .max) }
    }

    private static func token() -> String {
        Digests.hex(bytes(18))
    }

    private static func standardSecret() -> String {
        "whsec_" + Data(bytes(32)).base64EncodedString()
    }
}
