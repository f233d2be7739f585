import TestSupport

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
    case appStore(AppleSigner.Mode)

    init(_ text: String, at place: String) throws(ConformanceError) {
        switch text {
        case "good": self = .good
        case "none": self = .none
        case "bad": self = .bad
        case "stale": self = .stale
        case "rotated": self = .rotated
        case "reserialized": self = .reserialized
        default:
            guard let mode = AppleSigner.Mode(rawValue: text) else {
                throw .wrongCase("\(place): unknown sign \(text)")
            }
            self = .appStore(mode)
        }
    }
}

extension SignMode {
    /// The same for the App Store, which knows no shared secret.
    func ofAppStore() throws(ConformanceError) -> AppleSigner.Mode {
        switch self {
        case .good: .good
        case .none: .none
        case .bad: .bad
        case .appStore(let mode): mode
        case .stale, .rotated, .reserialized: throw .wrongCase("the App Store has no \(self) signature")
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
