/// A configuration that cannot work: what, why, and what to do about it.
public struct ConfigurationError: Error, Sendable, CustomStringConvertible {
    /// The variable, flag, or file and path that is off.
    public var place: String
    public var reason: String
    public var hint: String

    public init(_ place: String, _ reason: String, hint: String = "") {
        self.place = place
        self.reason = reason
        self.hint = hint
    }

    public var description: String {
        "\(place): \(reason)" + (hint.isEmpty ? "" : " — \(hint)")
    }
}
