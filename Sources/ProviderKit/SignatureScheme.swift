public import Crypto
public import Entitlements

/// How a provider signs: HMAC-SHA-256 over a text made of the body and, where the scheme has them, a time and an id.
public struct SignatureScheme: Hashable, Sendable {
    /// Where the signatures stand.
    public enum Layout: Hashable, Sendable {
        /// The header is the signature.
        case whole
        /// `t=1,v1=…,v1=…`: pairs split by a separator; the names of the time and of the signatures.
        case pairs(separator: Character, timestamp: String, signature: String)
        /// `v1,… v1,…`: items split by a separator, each with this prefix; others are passed over.
        case list(separator: Character, prefix: String)
    }

    public enum Encoding: Hashable, Sendable {
        case hex
        case base64
    }

    /// How the HMAC key is made from the secret; the ways are tried in order.
    public enum KeyDerivation: Hashable, Sendable {
        /// The secret's own bytes.
        case utf8
        /// The bytes its base64 stands for.
        case base64
        /// The same after this prefix is taken away, where it is there.
        case base64AfterPrefix(String)

        /// Nil when nothing is left of the secret: with an empty key anyone can sign.
        func key(from secret: String) -> [UInt8]? {
            let key: [UInt8]?
            switch self {
            case .utf8: key = Array(secret.utf8)
            case .base64: key = Base64.decode(secret)
            case .base64AfterPrefix(let prefix):
                key = Base64.decode(secret.hasPrefix(prefix) ? String(secret.dropFirst(prefix.count)) : secret)
            }
            return key.flatMap { $0.isEmpty ? nil : $0 }
        }
    }

    /// One piece of the text that is signed.
    public enum Part: Hashable, Sendable {
        case text(String)
        case body
        case timestamp
        case id
    }

    public var header: String
    public var layout: Layout
    public var encoding: Encoding
    public var signed: [Part]
    public var keys: [KeyDerivation]
    /// Header of the time in seconds, where it does not stand beside the signature.
    public var timestampHeader: String?
    public var idHeader: String?
    /// Seconds a time may lie in the past and ahead; nil: any.
    public var secondsPast: Int64?
    public var secondsAhead: Int64?

    public init(
        header: String,
        layout: Layout,
        encoding: Encoding,
        signed: [Part],
        keys: [KeyDerivation],
        timestampHeader: String? = nil,
        idHeader: String? = nil,
        secondsPast: Int64? = nil,
        secondsAhead: Int64? = nil
    ) {
        self.header = header
        self.layout = layout
        self.encoding = encoding
        self.signed = signed
        self.keys = keys
        self.timestampHeader = timestampHeader
        self.idHeader = idHeader
        self.secondsPast = secondsPast
        self.secondsAhead = secondsAhead
    }

    /// A header longer than this has no signature of ours in it.
    static let headerBytesMax = 8192
    /// Rotation needs two; more candidates than this only cost time.
    static let signaturesMax = 16

    /// Whether a secret gives a key to verify with.
    public func canUse(_ secret: String) -> Bool {
        keys.contains { $0.key(from: secret) != nil }
    }

    /// Every key that the secrets valid now give, ready to check with.
    public func keys(from secrets: [String]) -> [HMACKey] {
        secrets.flatMap { secret in keys.compactMap { $0.key(from: secret).map { HMACKey($0) } } }
    }

    /// Checks a delivery against every secret that is valid now.
    public func verify(_ delivery: WebhookDelivery, secrets: [String], now: UnixMillis) throws(VerificationFailure)
        -> VerifiedDelivery
    {
        try verify(delivery, keys: keys(from: secrets), now: now)
    }

    /// Every candidate is compared in constant time, and all of them are compared whatever the first ones gave.
    public func verify(_ delivery: WebhookDelivery, keys: [HMACKey], now: UnixMillis) throws(VerificationFailure)
        -> VerifiedDelivery
    {
        guard let text = delivery.header(header), text.utf8.count <= Self.headerBytesMax else { throw .unsigned }
        let (time, signatures) = read(text)
        let id = idHeader.flatMap(delivery.header)
        if idHeader != nil, id == nil || id == "" { throw .unsigned }
        let timestamp = timestampHeader.map { delivery.header($0) } ?? time
        if signed.contains(.timestamp) || timestampHeader != nil {
            guard let timestamp, let seconds = Int64(timestamp), seconds >= 0, seconds < 1 << 40 else {
                throw .unsigned
            }
            let age = now.value / 1000 - seconds
            if let secondsPast, age > secondsPast { throw .stale }
            if let secondsAhead, -age > secondsAhead { throw .stale }
        }
        guard !signatures.isEmpty else { throw .unsigned }
        let message = message(body: delivery.body, timestamp: timestamp ?? "", id: id ?? "")
        var matches = 0
        for key in keys {
            let expected = key.code(of: message)
            for signature in signatures where ConstantTime.equal(expected, signature) { matches += 1 }
        }
        guard matches > 0 else { throw .badSignature }
        return VerifiedDelivery(verified: delivery.body, eventID: id, receivedAt: now)
    }

    /// Signs as the provider would, with the first secret.
    public func sign(_ body: [UInt8], secret: String, now: UnixMillis, id: String) -> [(name: String, value: String)] {
        let timestamp = String(now.value / 1000)
        let key = keys.lazy.compactMap { $0.key(from: secret) }.first ?? Array(secret.utf8)
        let digest = Digest.hmacSHA256(key: key, message: message(body: body, timestamp: timestamp, id: id))
        let text = encoding == .hex ? Hex.encode(digest) : Base64.encode(digest)
        var headers: [(name: String, value: String)] = []
        switch layout {
        case .whole: headers.append((header, text))
        case .pairs(let separator, let timestampName, let signatureName):
            headers.append((header, "\(timestampName)=\(timestamp)\(separator)\(signatureName)=\(text)"))
        case .list(_, let prefix): headers.append((header, prefix + text))
        }
        if let timestampHeader { headers.append((timestampHeader, timestamp)) }
        if let idHeader { headers.append((idHeader, id)) }
        return headers
    }

    private func message(body: [UInt8], timestamp: String, id: String) -> [UInt8] {
        if signed == [.body] { return body }
        var message: [UInt8] = []
        message.reserveCapacity(body.count + 64)
        for part in signed {
            switch part {
            case .text(let text): message += text.utf8
            case .body: message += body
            case .timestamp: message += timestamp.utf8
            case .id: message += id.utf8
            }
        }
        return message
    }

    /// The time and the signatures of a header; what cannot be read is passed over, for other schemes may stand beside.
    private func read(_ text: String) -> (time: String?, signatures: [[UInt8]]) {
        func decode(_ text: some StringProtocol) -> [UInt8]? {
            encoding == .hex ? Hex.decode(text.utf8) : Base64.decode(String(text))
        }
        switch layout {
        case .whole: return (nil, decode(text).map { [$0] } ?? [])
        case .pairs(let separator, let timestampName, let signatureName):
            var (time, signatures): (String?, [[UInt8]]) = (nil, [])
            for item in text.split(separator: separator) {
                let pair = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                guard pair.count == 2 else { continue }
                let name = pair[0].drop { $0 == " " }
                if name == timestampName, time == nil { time = String(pair[1]) }
                if name == signatureName, signatures.count < Self.signaturesMax, let signature = decode(pair[1]) {
                    signatures.append(signature)
                }
            }
            return (time, signatures)
        case .list(let separator, let prefix):
            let items = text.split(separator: separator).prefix(Self.signaturesMax)
            return (nil, items.filter { $0.hasPrefix(prefix) }.compactMap { decode($0.dropFirst(prefix.count)) })
        }
    }
}
