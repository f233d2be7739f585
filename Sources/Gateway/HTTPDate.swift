internal import Entitlements
internal import Foundation

/// The dates of HTTP headers (RFC 9110 section 5.6.7): `Mon, 30 Nov 2026 08:00:00 GMT`.
enum HTTPDate {
    /// The moment, to the second; nil for anything else than the one form that may be sent.
    static func moment(_ text: String) -> UnixMillis? {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(secondsFromGMT: 0)
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        guard let date = formatter.date(from: text) else { return nil }
        return UnixMillis(Int64(date.timeIntervalSince1970) * 1000)
    }
}
