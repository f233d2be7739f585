internal import Crypto
internal import Entitlements
internal import Foundation
internal import ProviderKit
internal import Providers
internal import TestSupport

/// How many notifications of the App Store one thread can check and understand: three signed texts each, with the chain of
/// certificates believed before (as a loop keeps it), and with every chain checked anew.
struct AppleMeasurement {
    private static let bundle = "com.example.app"
    private static let number: Int64 = 1_234_567_890
    /// Prepared before anything is measured, and checked in turns.
    private static let prepared = 256

    let options: BenchOptions

    func run() throws(BenchError) {
        let signer = AppleSigner()
        let adapter = try Self.adapter(signer)
        Bench.tell("signing \(Self.prepared) notifications …")
        let now = Int64(Date().timeIntervalSince1970 * 1000)
        let bodies = (0..<Self.prepared).map { Self.body($0, now, signer) }
        var (warm, cold): ([Double], [Double]) = ([], [])
        for round in 0..<options.rounds {
            Bench.tell("notifications: round \(round + 1) …")
            let kept = VerifiedSignerCache()
            for isWarm in round % 2 == 0 ? [true, false] : [false, true] {
                let figure = try rate(bodies, adapter, UnixMillis(now)) { isWarm ? kept : nil }
                if isWarm { warm.append(figure) } else { cold.append(figure) }
            }
        }
        var table = FiguresTable(["App Store notifications, one thread", "notifications/s", "µs each"])
        for (name, figures) in [("chain believed before", warm), ("every chain anew", cold)] {
            let median = FiguresTable.median(figures)
            table.add([name, FiguresTable.number(median), FiguresTable.number(1_000_000 / max(median, 1e-9))])
        }
        Bench.say(table.text)
        let ratios = zip(warm, cold).map { $0 / max($1, 1e-9) }
        Bench.say("\nratio \(FiguresTable.number(FiguresTable.median(ratios), 2))\n")
    }

    /// An adapter that believes what the signer signs.
    static func adapter(_ signer: AppleSigner) throws(BenchError) -> AppStoreAdapter {
        guard let root = Certificate(der: signer.root.der) else { throw BenchError("a root cannot be read") }
        let app = AppStoreVerifier.App(bundleID: bundle, appAppleID: number)
        do throws(KeyError) {
            return AppStoreAdapter(verifier: try AppStoreVerifier(app: app, roots: [root]))
        } catch {
            throw BenchError("\(error)")
        }
    }

    /// Notifications a second, from the raw body to the facts.
    private func rate(
        _ bodies: [[UInt8]],
        _ adapter: AppStoreAdapter,
        _ now: UnixMillis,
        _ cache: () -> VerifiedSignerCache?
    ) throws(BenchError) -> Double {
        let clock = ContinuousClock()
        let start = clock.now
        let end = start + .seconds(options.seconds)
        var count = 0
        while clock.now < end {
            let delivery = WebhookDelivery(body: bodies[count % bodies.count], signers: cache()) { _ in nil }
            guard let verified = try? adapter.verify(delivery, now: now),
                !adapter.normalize(verified).effects.isEmpty
            else { throw BenchError("a notification was not believed") }
            count += 1
        }
        let elapsed = start.duration(to: clock.now)
        return Double(count) / (Double(elapsed.components.seconds) + Double(elapsed.components.attoseconds) / 1e18)
    }

    /// A renewal, as Apple sends it.
    static func body(_ index: Int, _ now: Int64, _ signer: AppleSigner) -> [UInt8] {
        let id = "20000009\(10_000_000 + index)"
        let transaction = """
            {"transactionId":"\(id)9","originalTransactionId":"\(id)","webOrderLineItemId":"\(id)","bundleId":"\(bundle)",\
            "productId":"com.example.app.monthly","subscriptionGroupIdentifier":"20400000","purchaseDate":\(now),\
            "originalPurchaseDate":\(now - 90 * 86_400_000),"expiresDate":\(now + 30 * 86_400_000),"quantity":1,\
            "type":"Auto-Renewable Subscription","inAppOwnershipType":"PURCHASED","signedDate":\(now),\
            "environment":"Production","transactionReason":"RENEWAL","storefront":"USA","storefrontId":"143441",\
            "price":9990,"currency":"USD","appAccountToken":"6f1d2c8a-3b47-4e59-9c0d-5a7e8b2f4c11"}
            """
        let renewal = """
            {"originalTransactionId":"\(id)","autoRenewProductId":"com.example.app.monthly","productId":\
            "com.example.app.monthly","autoRenewStatus":1,"renewalPrice":9990,"currency":"USD","signedDate":\(now),\
            "environment":"Production","recentSubscriptionStartDate":\(now - 90 * 86_400_000),\
            "renewalDate":\(now + 30 * 86_400_000)}
            """
        let notification = """
            {"notificationType":"DID_RENEW","notificationUUID":"00000000-0000-4000-8000-\(10_000_000 + index)0000",\
            "version":"2.0","signedDate":\(now),"data":{"appAppleId":\(number),"bundleId":"\(bundle)",\
            "bundleVersion":"1","environment":"Production","status":1,\
            "signedTransactionInfo":"\(signer.jws(Array(transaction.utf8)))",\
            "signedRenewalInfo":"\(signer.jws(Array(renewal.utf8)))"}}
            """
        return Array("{\"signedPayload\":\"\(signer.jws(Array(notification.utf8)))\"}".utf8)
    }
}
