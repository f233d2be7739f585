internal import Entitlements
internal import Foundation
internal import Glibc
internal import ProviderKit
internal import Testing

@testable internal import Providers

/// What one delivery costs before it reaches the writer. Prints; runs when GATEWAY_BENCH is set, best with `-c release
/// -Xswiftc -enable-testing`.
@Suite(
    .enabled(if: ProcessInfo.processInfo.environment["GATEWAY_BENCH"] != nil, "GATEWAY_BENCH is not set"),
    .serialized
)
struct NormalizeBench {
    private static let rounds = 5
    private static let turns = 400

    /// Processor time of one call, in microseconds: the best of some rounds, so that a busy machine counts little.
    private static func microseconds(_ work: () -> Void) -> Double {
        var best = Double.infinity
        for _ in 0..<rounds {
            let start = clock()
            for _ in 0..<turns { work() }
            best = min(best, Double(clock() - start) / Double(turns))
        }
        return best * 1_000_000 / Double(CLOCKS_PER_SEC)
    }

    @Test func aStripeSubscriptionEvent() throws {
        let manifest = try #require(try BuiltInProviders.manifests().first { $0.provider.name == "stripe" })
        let body = try #require(BuiltInProviders.samples(of: "stripe")["customer.subscription.updated"])
        let adapter = ManifestAdapter(manifest: manifest, secrets: ["whsec_0123456789abcdef"])
        let now = UnixMillis(1_796_083_200_000)
        let headers = adapter.sign(body, now: now)
        let delivery = WebhookDelivery(body: body) { name in headers.first { $0.name == name }?.value }
        let verified = try adapter.verify(delivery, now: now)
        let parse = Self.microseconds { _ = JSON(body) }
        let normalize = Self.microseconds { _ = adapter.normalize(verified) }
        let verify = Self.microseconds { _ = try? adapter.verify(delivery, now: now) }
        print("stripe subscription event, \(body.count) bytes, in microseconds of processor time:")
        print("  verify \(verify)  parse \(parse)  normalize \(normalize)  of which the engine \(normalize - parse)")
        #expect(normalize > 0)
    }
}
