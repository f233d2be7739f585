/// What a desktop app may do now.
public enum LicenseStatus: Equatable, Sendable {
    /// No licence was activated here, or it was given back.
    case none
    case licensed(LicenseToken)
    /// Still licensed, but the clock is more than a day behind what this device has seen. Say so, and ask the gateway; it
    /// goes on only until the token ends by the latest time that is known.
    case clockTurnedBack(LicenseToken)
    /// The gateway said why it is good for nothing: `EXPIRED`, `REVOKED`, `NOT_FOUND` or `DEVICE_NOT_ACTIVATED`.
    case ended(code: String)
    /// The token here lets nobody in; ``DeviceLicense/validate()`` may bring another one.
    case refused(LicenseTokenFault)

    /// Whether to let the person in.
    public var isLicensed: Bool {
        switch self {
        case .licensed, .clockTurnedBack: true
        case .none, .ended, .refused: false
        }
    }
}
