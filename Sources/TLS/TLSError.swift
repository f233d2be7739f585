/// Why a certificate and its key cannot be used: the file, the reason, and what to do about it.
public struct TLSError: Error, Sendable, Equatable, CustomStringConvertible {
    /// Which of the two files is off.
    public enum Part: Sendable, Equatable {
        case certificate
        case key
    }

    public var part: Part
    public var file: String
    public var reason: String
    public var hint: String

    /// One line for the operator. Never a byte of the key.
    public var description: String { "\(file): \(reason) — \(hint)" }
}
