/// How a delivery is signed.
enum SignMode: Sendable, Equatable {
    case good
    case none
    /// With a secret that the gateway does not know.
    case bad
    /// With a time too old for any provider's tolerance.
    case stale
    /// With an old and a new secret, as during a rotation.
    case rotated
    /// Over another rendering of the same JSON.
    case reserialized
    /// One of the App Store's broken chains or algorithms.
    case appStore(String)

    private static let appStoreModes = [
        "wrong_root", "no_leaf_oid", "no_intermediate_oid", "expired_leaf", "chain_of_two", "alg_none", "hs256",
    ]

    init(_ text: String, at place: String) throws(ConformanceError) {
        switch text {
        case "good": self = .good
        case "none": self = .none
        case "bad": self = .bad
        case "stale": self = .stale
        case "rotated": self = .rotated
        case "reserialized": self = .reserialized
        case _ where Self.appStoreModes.contains(text): self = .appStore(text)
        default: throw .wrongCase("\(place): unknown sign \(text)")
        }
    }
}

/// How the text of a Standard Webhooks secret becomes the key.
enum KeyForm: String, Sendable {
    /// The base64 after `whsec_`, as the scheme says.
    case base64
    /// The text itself, as some senders have done.
    case utf8
}
