internal import Entitlements
internal import ProviderKit
internal import Providers

extension FuzzTarget {
    static let documents = [
        FuzzTarget(name: "json", check: Documents.checkJSON),
        FuzzTarget(name: "push", check: Documents.checkPush),
        FuzzTarget(name: "manifests", check: Documents.checkManifest),
    ]
}

private enum Documents {
    // MARK: JSON

    /// The checker is the stricter of the two readers; what is written is read as it was.
    static let checkJSON: @Sendable ([UInt8]) -> Void = { input in
        let mistake = JSONSyntax.mistake(in: input)
        guard let document = JSON(input) else {
            return require(mistake != nil || hasExponent(input), "a text that cannot be read has a mistake")
        }
        let written = document.bytes
        guard let again = JSON(written) else {
            return require(false, "what was written can be read")
        }
        require(again.bytes == written || hasExponent(written), "what was written is read as it was")
        require(JSONSyntax.mistake(in: written) == nil, "what is written has no mistake")
    }

    // MARK: Pub/Sub

    static let checkPush: @Sendable ([UInt8]) -> Void = { input in
        compare(input)
        compare(Array("{\"message\":{\"messageId\":\"1\",\"data\":\"\(encoded(input))\"}}".utf8))
    }

    private static func encoded(_ bytes: [UInt8]) -> String {
        let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        var text: [UInt8] = []
        var (bits, count) = (0, 0)
        for byte in bytes {
            bits = (bits << 8 | Int(byte)) & 0xFFFF
            count += 8
            while count >= 6 {
                count -= 6
                text.append(digits[bits >> count & 63])
            }
        }
        if count > 0 { text.append(digits[bits << (6 - count) & 63]) }
        return String(decoding: text, as: UTF8.self)
    }

    private static func compare(_ body: [UInt8]) {
        let (first, second) = (GooglePlayPush(body), GooglePlayPush(body))
        require(first.messageID == second.messageID && !first.messageID.isEmpty, "a push has one id")
        require(GooglePlayAdapter(package: "a").normalize(first.delivery).effects.isEmpty, "a push alone gives nothing")
        switch (first.content, second.content) {
        case (.failure(let one), .failure(let other)):
            require(one.reason == other.reason && !one.reason.isEmpty, "a failure has a reason")
        case (.success(let one), .success(let other)):
            require(one.subject == other.subject && one.at == other.at, "a push says the same twice")
            if case .purchase(let token, _) = one.subject { require(!token.isEmpty, "a purchase has a token") }
        default: require(false, "a push says the same twice")
        }
    }

    // MARK: Manifests

    private static let builtIn = (try? BuiltInProviders.manifests()) ?? []
    private static let samples = builtIn.flatMap { manifest in
        BuiltInProviders.samples(of: manifest.provider.name).sorted { $0.key < $1.key }.map(\.value)
    }

    /// Any text: a manifest that works, and is carried out, or a mistake that is told.
    static let checkManifest: @Sendable ([UInt8]) -> Void = { input in
        let manifest: Manifest
        do throws(ManifestError) {
            manifest = try Manifest(json: input, file: "manifest.json")
        } catch {
            require(!error.description.isEmpty, "a mistake is told")
            return
        }
        let adapter = ManifestAdapter(manifest: manifest, secrets: ["user:password"])
        for index in [input.count % samples.count, (input.count + 7) % samples.count] {
            let delivery = VerifiedDelivery(verified: samples[index], eventID: "message")
            let (first, second) = (adapter.normalize(delivery), adapter.normalize(delivery))
            require(first.effects == second.effects && first.verdict == second.verdict, "an event says the same twice")
        }
    }
}
