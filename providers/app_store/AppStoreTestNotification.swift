public import Entitlements
public import ProviderKit

/// A notification that Apple sends only to show that it arrives.
///
/// Source: https://developer.apple.com/documentation/appstoreserverapi/request-a-test-notification
public enum AppStoreTestNotification {
    /// One attempt of Apple's to send it.
    public struct Attempt: Hashable, Sendable {
        public var at: UnixMillis?
        /// Apple's word for what came of it, such as `SUCCESS` or `TIMED_OUT`.
        public var result: String

        public var isSuccess: Bool { result == "SUCCESS" }
    }

    /// Asks Apple to send one to the address set in App Store Connect.
    public static let request = APIRequest("/inApps/v1/notifications/test", method: .post)

    /// The token by which Apple is asked what became of it; nil for an answer without one.
    public static func token(in answer: APIAnswer) -> String? {
        answer.body?["testNotificationToken"]?.string.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Asks what became of it.
    public static func status(_ token: String) -> APIRequest {
        APIRequest(request.path + "/" + APIRequest.encode(token))
    }

    /// Every attempt so far; empty while there was none.
    public static func attempts(in answer: APIAnswer) -> [Attempt] {
        (answer.body?["sendAttempts"]?.array ?? []).compactMap { attempt in
            attempt["sendAttemptResult"]?.string.map { result in
                Attempt(at: attempt["attemptDate"]?.integer.map { UnixMillis($0).clamped }, result: result)
            }
        }
    }
}
