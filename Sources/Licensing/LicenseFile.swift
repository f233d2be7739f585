/// A token as a file that a person can carry to a machine without a network.
public enum LicenseFile {
    private static let begin = "-----BEGIN LICENSE-----"
    private static let end = "-----END LICENSE-----"
    private static let lineBytes = 64

    /// The token between its two lines, broken like a certificate.
    public static func armoured(_ token: String) -> String {
        var lines = [begin]
        var rest = Array(token.utf8)[...]
        while !rest.isEmpty {
            lines.append(String(decoding: rest.prefix(lineBytes), as: UTF8.self))
            rest = rest.dropFirst(lineBytes)
        }
        return (lines + [end]).joined(separator: "\n") + "\n"
    }

    /// The token of a file; what stands before and after the armour is passed over. Nil when there is none.
    public static func token(in file: String) -> String? {
        let lines = file.split(whereSeparator: \.isNewline).map { $0.filter { $0 != " " && $0 != "\t" } }
        let marks = (begin.filter { $0 != " " }, end.filter { $0 != " " })
        guard let first = lines.firstIndex(of: marks.0), let last = lines[first...].firstIndex(of: marks.1) else {
            return nil
        }
        let token = lines[(first + 1)..<last].joined()
        return token.isEmpty ? nil : token
    }
}
