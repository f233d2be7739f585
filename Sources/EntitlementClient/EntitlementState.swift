/// What an app knows about its user's entitlement.
public enum EntitlementState: Equatable, Sendable {
    /// Nobody is signed in.
    case signedOut
    /// Somebody is, and the gateway has not answered yet.
    case loading
    /// Entitled when the answer was given; ``EntitlementController/isEntitled`` judges it by the clock.
    case entitled(EntitlementAnswer)
    case notEntitled(EntitlementAnswer)
    /// Nothing is known that could be relied on.
    case error(EntitlementClientError)

    /// The answer behind it, if there is one.
    public var answer: EntitlementAnswer? {
        switch self {
        case .entitled(let answer), .notEntitled(let answer): answer
        case .signedOut, .loading, .error: nil
        }
    }
}
