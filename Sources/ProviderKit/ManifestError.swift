/// A manifest that cannot work: where, what was expected, and what to do.
public struct ManifestError: Error, Hashable, Sendable, CustomStringConvertible {
    public var file: String
    /// RFC 6901 pointer into the file.
    public var pointer: String
    public var expected: String
    public var hint: String

    public var description: String { "\(file): \(reason)" }

    /// The same without the file's name.
    public var reason: String {
        let place = pointer.isEmpty ? "the file" : pointer
        return "\(place): expected \(expected)" + (hint.isEmpty ? "" : " (\(hint))")
    }
}
