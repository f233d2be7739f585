internal import Foundation

/// Base64 (RFC 4648 sections 4 and 5), by Foundation.
public enum Base64 {
    public static func encode(_ bytes: [UInt8]) -> String {
        Data(bytes).base64EncodedString()
    }

    /// The URL alphabet without padding, as JSON Web Tokens write it.
    public static func encodeURL(_ bytes: [UInt8]) -> String {
        var text = ""
        for character in encode(bytes) where character != "=" {
            switch character {
            case "+": text.append("-")
            case "/": text.append("_")
            default: text.append(character)
            }
        }
        return text
    }

    /// The standard alphabet; padding may be missing. Nil for anything else.
    public static func decode(_ text: String) -> [UInt8]? {
        let padding = (4 - text.utf8.count % 4) % 4
        guard padding < 3, !text.isEmpty else { return text.isEmpty ? [] : nil }
        return Data(base64Encoded: text + String(repeating: "=", count: padding)).map { [UInt8]($0) }
    }
}
