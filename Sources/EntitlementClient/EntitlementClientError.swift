/// Why the gateway gave no answer that can be used. Never a reason to let somebody in.
public enum EntitlementClientError: Error, Equatable, Sendable, CustomStringConvertible {
    /// No connection, or none that lasted. Asking again later may help.
    case unreachable(String)
    /// The user token is not accepted (401): sign in again.
    case unauthorized
    /// The gateway refused, with the `code` of its problem; 429 and 5xx pass by themselves.
    case refused(status: Int, code: String, detail: String)
    /// Something answered that does not speak as a gateway does.
    case unreadable(String)
    /// The app could not get a user token.
    case noToken(String)
    /// Something could not be written on this device.
    case storage(String)

    /// Whether the same question may be answered later: what was known before may then be used on.
    public var isPassing: Bool {
        switch self {
        case .unreachable, .noToken: true
        case .refused(let status, _, _): status == 429 || status >= 500
        case .unauthorized, .unreadable, .storage: false
        }
    }

    public var description: String {
        switch self {
        case .unreachable(let reason): "the gateway cannot be reached: \(reason)"
        case .unauthorized: "the sign-in is not accepted"
        case .refused(let status, let code, let detail): "the gateway refused (\(status), \(code)): \(detail)"
        case .unreadable(let reason): "the answer cannot be read: \(reason)"
        case .noToken(let reason): "there is no user token: \(reason)"
        case .storage(let reason): "cannot be kept on this device: \(reason)"
        }
    }
}
