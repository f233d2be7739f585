internal import Crypto
internal import Entitlements
internal import Foundation
internal import ProviderKit
internal import TestSupport
internal import Testing

@testable internal import Gateway

/// How long a check of a secret takes says nothing about the secret: measured, not only read.
@Suite("Constant time", .serialized, .ownThread)
struct ConstantTimeTests {
    private static func repeating(_ work: () -> Bool) -> Int {
        var count = 0
        for _ in 0..<64 where work() { count += 1 }
        return count
    }

    /// The measurement sees what it looks for: a comparison that stops at the first difference.
    @Test func anEarlyEndIsSeen() {
        let secret = [UInt8](repeating: 7, count: 1_024)
        var (first, last) = (secret, secret)
        first[0] = 8
        last[1_023] = 8
        func stops(_ other: [UInt8]) -> Bool {
            for index in secret.indices where secret[index] != other[index] { return false }
            return true
        }
        let isEven = TimingComparison.isEven(
            attempts: 2,
            { #expect(Self.repeating { stops(first) } == 0) },
            { #expect(Self.repeating { stops(last) } == 0) }
        )
        #expect(!isEven)
    }

    @Test(arguments: [32, 1_024]) func whereBytesDifferIsNotSeen(count: Int) {
        let secret = [UInt8](repeating: 7, count: count)
        let first: [UInt8] = [8] + secret.dropFirst()
        let last: [UInt8] = secret.dropLast() + [8]
        // One and the same code for all of them.
        func compare(_ other: [UInt8]) -> () -> Void {
            { for _ in 0..<32 { _ = Self.repeating { ConstantTime.equal(secret, other) } } }
        }
        for other in [last, secret] {
            #expect(TimingComparison.isEven(compare(first), compare(other)))
        }
    }

    /// API keys: the first of many, the last of them, and nobody's take the same time.
    @Test func whichKeyItIsIsNotSeen() {
        let names = (0..<48).map { "read_\($0)_of_the_keys_that_are_known_here" }
        let ring = KeyRing(names.map { .init(id: $0, scope: .read, digest: Digest.sha256(Array($0.utf8))) })
        func find(_ key: [UInt8]) -> Bool { key.withUnsafeBytes { ring.scope(of: $0) != nil } }
        let first = Array(names[0].utf8)
        let (last, nobodys) = (Array(names[47].utf8), Array("read_0_of_the_keys_that_are_known_nope".utf8))
        #expect(find(first) && find(last) && !find(nobodys))
        func search(_ key: [UInt8]) -> () -> Void { { _ = Self.repeating { find(key) } } }
        for other in [last, nobodys] {
            #expect(TimingComparison.isEven(search(first), search(other)))
        }
    }

    /// Signatures of deliveries: where a forged one differs from the right one.
    @Test(arguments: ["creem", "stripe"]) func whereASignatureDiffersIsNotSeen(provider: String) throws {
        let body = Array(#"{"id":"evt_1"}"#.utf8)
        let request = WebhookSigner.request(provider, body)
        let path = "providers/\(provider)/\(provider).json"
        let tree = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let file = [UInt8](try Data(contentsOf: tree.appendingPathComponent(path)))
        let manifest = try Manifest(json: file, file: path)
        let secret = try #require(WebhookSigner.environment["\(provider.uppercased())_WEBHOOK_SECRET"])
        let adapter = ManifestAdapter(manifest: manifest, secrets: [secret])
        let now = UnixMillis(Clock.millis)
        /// The same delivery with one hexadecimal digit of the signature changed, counted from its end.
        func delivery(changing place: Int?) -> WebhookDelivery {
            WebhookDelivery(body: body) { name in
                guard var value = request.headers.first(where: { $0.isNamed(name) })?.value.utf8.map({ $0 }) else {
                    return nil
                }
                if let place, name.lowercased().contains("signature") {
                    let index = value.count - 1 - place
                    value[index] = value[index] == UInt8(ascii: "0") ? UInt8(ascii: "1") : UInt8(ascii: "0")
                }
                return String(decoding: value, as: UTF8.self)
            }
        }
        func isBelieved(_ delivery: WebhookDelivery) -> Bool { (try? adapter.verify(delivery, now: now)) != nil }
        let (first, last) = (delivery(changing: 63), delivery(changing: 0))
        #expect(isBelieved(delivery(changing: nil)) && !isBelieved(first) && !isBelieved(last))
        func check(_ delivery: WebhookDelivery) -> () -> Void { { _ = Self.repeating { isBelieved(delivery) } } }
        #expect(TimingComparison.isEven(check(first), check(last)))
    }
}
