internal import Crypto
internal import Entitlements
internal import Foundation
internal import Glibc
internal import ProviderKit
internal import Providers
internal import TestSupport

/// What a delivery of each provider costs before it comes to the writer: its proof checked, its body read, and its facts made.
/// Over all sample events of the provider, so that no single shape of event is all there is.
struct AdapterMeasurement {
    private static let turns = 200

    let options: BenchOptions

    func run() throws(BenchError) {
        var table = FiguresTable(["deliveries, one thread", "events", "bytes", "verify µs", "understand µs", "both"])
        for subject in try subjects() {
            Bench.tell("deliveries of \(subject.adapter.provider.name) …")
            table.add(try cells(subject))
        }
        Bench.say(table.text + "\n")
    }

    private struct Subject {
        var adapter: any ProviderAdapter
        var deliveries: [WebhookDelivery]
        /// Where the proof is checked elsewhere: what the adapter would be given.
        var verified: [VerifiedDelivery]?
    }

    private func cells(_ subject: Subject) throws(BenchError) -> [String] {
        let now = UnixMillis(Int64(Date().timeIntervalSince1970 * 1000))
        let (adapter, deliveries) = (subject.adapter, subject.deliveries)
        var verified = subject.verified ?? []
        if verified.isEmpty {
            for delivery in deliveries {
                guard let one = try? adapter.verify(delivery, now: now) else {
                    throw BenchError("\(adapter.provider.name): a sample was not believed")
                }
                verified.append(one)
            }
        }
        let verify =
            subject.verified == nil ? micros(deliveries.count) { _ = try? adapter.verify(deliveries[$0], now: now) } : 0
        let understand = micros(verified.count) { _ = adapter.normalize(verified[$0]) }
        let bytes = deliveries.reduce(0) { $0 + $1.body.count } / max(deliveries.count, 1)
        return [adapter.provider.name, "\(deliveries.count)", "\(bytes)"]
            + [verify, understand, verify + understand].map { FiguresTable.number($0, 1) }
    }

    /// Processor time of one call, in microseconds: the median of the rounds.
    private func micros(_ count: Int, _ work: (Int) -> Void) -> Double {
        let figures = (0..<options.rounds).map { _ in
            let start = clock()
            for _ in 0..<Self.turns {
                for index in 0..<count { work(index) }
            }
            return Double(clock() - start) / Double(CLOCKS_PER_SEC) * 1_000_000 / Double(Self.turns * count)
        }
        return FiguresTable.median(figures)
    }

    private func subjects() throws(BenchError) -> [Subject] {
        var adapters: [any ProviderAdapter] = []
        do throws(ManifestError) {
            for manifest in try BuiltInProviders.manifests() {
                let secret: String =
                    switch manifest.check {
                    case .basic: "user:a password"
                    case .signature: "whsec_" + Base64.encode(Array("a secret of 32 bytes or a bit more".utf8))
                    }
                adapters.append(ManifestAdapter(manifest: manifest, secrets: [secret]))
            }
        } catch {
            throw BenchError("\(error)")
        }
        adapters.append(RevenueCatAdapter(secrets: .init(authorization: "a value", signing: ["a secret"])))
        let now = UnixMillis(Int64(Date().timeIntervalSince1970 * 1000))
        var subjects = adapters.map { adapter in
            let bodies = BuiltInProviders.samples(of: adapter.provider.name).sorted { $0.key < $1.key }.map(\.value)
            let deliveries = bodies.map { body in
                let headers = adapter.sign(body, now: now)
                return WebhookDelivery(body: body) { name in
                    headers.first { $0.name.lowercased() == name.lowercased() }?.value
                }
            }
            return Subject(adapter: adapter, deliveries: deliveries)
        }
        subjects.append(googlePlay())
        subjects.append(try appStore(now))
        return subjects
    }

    /// A push, and what the API has answered to it; whose token it bears is checked outside of the adapter.
    private func googlePlay() -> Subject {
        let bodies = BuiltInProviders.samples(of: GooglePlayAdapter.name.name).sorted { $0.key < $1.key }.map(\.value)
        return Subject(
            adapter: GooglePlayAdapter(package: "com.example.app"),
            deliveries: bodies.map { WebhookDelivery(body: $0) { _ in nil } },
            verified: bodies.map { VerifiedDelivery(verified: $0) }
        )
    }

    /// With chains of certificates that were believed before; the three signatures of a notification are most of it.
    private func appStore(_ now: UnixMillis) throws(BenchError) -> Subject {
        let signer = AppleSigner()
        let kept = VerifiedSignerCache()
        return Subject(
            adapter: try AppleMeasurement.adapter(signer),
            deliveries: (0..<16).map { index in
                WebhookDelivery(body: AppleMeasurement.body(index, now.value, signer), signers: kept) { _ in nil }
            }
        )
    }
}
