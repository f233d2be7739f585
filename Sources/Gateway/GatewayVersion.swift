/// Which gateway this is.
public enum GatewayVersion {
    /// Semantic version (semver.org).
    public static let text = "0.1.0"
}
