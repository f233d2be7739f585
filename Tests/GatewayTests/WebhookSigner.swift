internal import Foundation
internal import TestSupport

/// Signs deliveries as each provider does, with code of its own: what the program takes, a provider's code has signed.
enum WebhookSigner {
    private static let hexSecret = "a secret of the tests"
    /// Standard Webhooks: the base64 behind the prefix is the key.
    private static let standardKey = Array("a key of the tests, 32 bytes long".utf8)
    static let authorization = "Bearer of the tests"

    /// Every provider on.
    static let environment = [
        "REVENUECAT_WEBHOOK_AUTHORIZATION": authorization,
        "CREEM_WEBHOOK_SECRET": hexSecret,
        "STRIPE_WEBHOOK_SECRET": hexSecret,
        "PADDLE_WEBHOOK_SECRET": hexSecret,
        "LEMONSQUEEZY_WEBHOOK_SECRET": hexSecret,
        "POLAR_WEBHOOK_SECRET": "whsec_" + Data(standardKey).base64EncodedString(),
        "DODO_WEBHOOK_SECRET": "whsec_" + Data(standardKey).base64EncodedString(),
    ]

    static let providers = ["creem", "dodo", "lemonsqueezy", "paddle", "polar", "revenuecat", "stripe"]

    static func request(_ provider: String, _ body: [UInt8], id: String = "msg_1") -> HTTPRequest {
        let seconds = String(Int(Date().timeIntervalSince1970))
        let headers: [HTTPHeader]
        switch provider {
        case "revenuecat": headers = [HTTPHeader("Authorization", authorization)]
        case "creem": headers = [HTTPHeader("creem-signature", hex("", body))]
        case "lemonsqueezy": headers = [HTTPHeader("X-Signature", hex("", body))]
        case "stripe": headers = [HTTPHeader("Stripe-Signature", "t=\(seconds),v1=" + hex(seconds + ".", body))]
        case "paddle": headers = [HTTPHeader("Paddle-Signature", "ts=\(seconds);h1=" + hex(seconds + ":", body))]
        default:
            let digest = SHA256Digest.hmac(key: standardKey, Array("\(id).\(seconds).".utf8) + body)
            headers = [
                HTTPHeader("webhook-id", id), HTTPHeader("webhook-timestamp", seconds),
                HTTPHeader("webhook-signature", "v1," + Data(digest).base64EncodedString()),
            ]
        }
        return HTTPRequest(method: "POST", target: "/v1/webhooks/\(provider)", headers: headers, body: body)
    }

    private static func hex(_ before: String, _ body: [UInt8]) -> String {
        SHA256Digest.hex(SHA256Digest.hmac(key: Array(hexSecret.utf8), Array(before.utf8) + body))
    }
}

/// SHA-256 (FIPS 180-4) and HMAC (RFC 2104), slow and small.
enum SHA256Digest {
    private static let primes: [Int] = {
        var primes: [Int] = []
        var candidate = 2
        while primes.count < 64 {
            if !primes.contains(where: { candidate % $0 == 0 }) { primes.append(candidate) }
            candidate += 1
        }
        return primes
    }()
    /// The first 32 bits of the fractional parts of roots of the first primes (sections 4.2.2 and 5.3.3).
    private static let rounds = primes.map { fraction(cbrt(Double($0))) }
    private static let start = primes.prefix(8).map { fraction(Double($0).squareRoot()) }

    private static func fraction(_ root: Double) -> UInt32 {
        UInt32((root - root.rounded(.down)) * 4_294_967_296)
    }

    static func hex(_ bytes: [UInt8]) -> String {
        bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }

    static func hmac(key: [UInt8], _ message: [UInt8]) -> [UInt8] {
        var block = key.count > 64 ? digest(key) : key
        block += [UInt8](repeating: 0, count: 64 - block.count)
        return digest(block.map { $0 ^ 0x5c } + digest(block.map { $0 ^ 0x36 } + message))
    }

    static func digest(_ message: [UInt8]) -> [UInt8] {
        var bytes = message + [0x80]
        while bytes.count % 64 != 56 { bytes.append(0) }
        let bits = UInt64(message.count * 8)
        for shift in stride(from: UInt64(56), through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: bits >> shift))
        }
        var hash = Array(start)
        for block in stride(from: 0, to: bytes.count, by: 64) { mix(bytes[block..<block + 64], into: &hash) }
        return hash.flatMap { word in [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: word >> UInt32($0)) } }
    }

    private static func rotated(_ word: UInt32, _ count: UInt32) -> UInt32 {
        (word >> count) | (word << (32 - count))
    }

    private static func mix(_ block: ArraySlice<UInt8>, into hash: inout [UInt32]) {
        var words: [UInt32] = []
        for place in stride(from: block.startIndex, to: block.endIndex, by: 4) {
            words.append(block[place..<place + 4].reduce(UInt32(0)) { ($0 << 8) | UInt32($1) })
        }
        for place in 16..<64 {
            let near = words[place - 2]
            let far = words[place - 15]
            let low = rotated(near, 17) ^ rotated(near, 19) ^ (near >> 10)
            let high = rotated(far, 7) ^ rotated(far, 18) ^ (far >> 3)
            words.append(low &+ words[place - 7] &+ high &+ words[place - 16])
        }
        // Eight variables and not an array: these tests sign megabytes, in a build that is not optimized.
        var (a, b, c, d) = (hash[0], hash[1], hash[2], hash[3])
        var (e, f, g, h) = (hash[4], hash[5], hash[6], hash[7])
        for place in 0..<64 {
            let choice = (e & f) ^ (~e & g)
            let one = h &+ (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)) &+ choice &+ rounds[place] &+ words[place]
            let majority = (a & b) ^ (a & c) ^ (b & c)
            let two = (rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) &+ majority
            (h, g, f, e) = (g, f, e, d &+ one)
            (d, c, b, a) = (c, b, a, one &+ two)
        }
        let state = [a, b, c, d, e, f, g, h]
        for place in 0..<8 { hash[place] = hash[place] &+ state[place] }
    }
}
