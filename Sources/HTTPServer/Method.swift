/// A request method (RFC 9110 §9). Names are case-sensitive.
public enum Method: UInt8, Sendable {
    case get, head, post, put, patch, delete, options
    /// Any other well-formed name; `Request.methodName` has its bytes.
    case other
}
