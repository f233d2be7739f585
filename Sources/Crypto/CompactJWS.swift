internal import Foundation

/// A signed text of three parts, `header.payload.signature`, taken apart and not yet believed (RFC 7515 section 7.1).
///
/// The header says which algorithm made the signature, and nothing else may choose it: whoever checks names the algorithms
/// they take. A header with `crit` is refused, because it asks for something nobody here does (section 4.1.11).
public struct CompactJWS: Sendable {
    /// What a header may tell; fields not named here are passed over.
    public struct Header: Sendable, Decodable {
        /// The algorithm's name, as it stands there: `none` and unknown ones among them.
        public var alg: String
        public var kid: String?
        public var typ: String?
        /// Certificates in standard base64, the signer's first (section 4.1.6).
        public var x5c: [String]?

        private enum Name: String, CodingKey {
            case alg, kid, typ, x5c, crit
        }

        public init(from decoder: any Decoder) throws {
            let fields = try decoder.container(keyedBy: Name.self)
            guard !fields.contains(.crit) else {
                throw DecodingError.dataCorruptedError(forKey: .crit, in: fields, debugDescription: "not understood")
            }
            alg = try fields.decode(String.self, forKey: .alg)
            kid = try fields.decodeIfPresent(String.self, forKey: .kid)
            typ = try fields.decodeIfPresent(String.self, forKey: .typ)
            x5c = try fields.decodeIfPresent([String].self, forKey: .x5c)
        }
    }

    /// Longest text that is taken apart: a body of this size is refused by the server anyway.
    public static let bytesMax = 1 << 20

    public let header: Header
    public let payload: [UInt8]
    public let signature: [UInt8]
    /// The bytes that are signed: the first two parts as they were sent.
    public let signed: [UInt8]

    /// Nil when the text has not exactly three parts in base64url, or a header that is no object with an `alg`.
    public init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count <= Self.bytesMax else { return nil }
        let parts = bytes.split(separator: UInt8(ascii: "."), maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count == 3, let head = Base64.decodeURL(parts[0]), let payload = Base64.decodeURL(parts[1]),
            let signature = Base64.decodeURL(parts[2])
        else { return nil }
        guard let header = try? JSONDecoder().decode(Header.self, from: Data(head)) else { return nil }
        self.header = header
        self.payload = payload
        self.signature = signature
        signed = Array(bytes[..<parts[1].endIndex])
    }

    /// Whether the signature is the key's, made with this algorithm and named so in the header.
    public func isSigned(by key: PublicKey, with algorithm: SignatureAlgorithm) -> Bool {
        header.alg == algorithm.rawValue && key.isSignature(signature, of: signed, with: algorithm)
    }

    /// Whether the signature is the shared secret's (HS256).
    public func isSigned(bySecret secret: [UInt8]) -> Bool {
        header.alg == "HS256" && ConstantTime.equal(Digest.hmacSHA256(key: secret, message: signed), signature)
    }

    /// A signed text of our own. The header's names and values are written as they are given.
    ///
    /// - Throws: `KeyError` when the key cannot sign with this algorithm.
    public static func sign(
        _ payload: [UInt8],
        header: [String: String],
        by key: PrivateKey,
        with algorithm: SignatureAlgorithm
    ) throws(KeyError) -> String {
        try sign(payload, encodedHeader: try encode(header, algorithm), by: key, with: algorithm)
    }

    /// A header as it stands in a signed text, for whoever signs often with the same one.
    ///
    /// - Throws: `KeyError` when it cannot be written.
    public static func encode(
        _ header: [String: String],
        _ algorithm: SignatureAlgorithm
    ) throws(KeyError) -> String {
        var header = header
        header["alg"] = algorithm.rawValue
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let head = try? encoder.encode(header) else { throw KeyError("a header that is no text") }
        return Base64.encodeURL([UInt8](head))
    }

    /// A signed text of our own, under a header that `encode` made for the same algorithm.
    ///
    /// - Throws: `KeyError` when the key cannot sign with this algorithm.
    public static func sign(
        _ payload: [UInt8],
        encodedHeader header: String,
        by key: PrivateKey,
        with algorithm: SignatureAlgorithm
    ) throws(KeyError) -> String {
        let signed = header + "." + Base64.encodeURL(payload)
        return signed + "." + Base64.encodeURL(try key.signature(of: Array(signed.utf8), with: algorithm))
    }
}
