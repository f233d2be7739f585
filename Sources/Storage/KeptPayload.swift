package import Entitlements
internal import Foundation

/// A payload that is kept so that its event can be read again.
package enum KeptPayload {
    /// Whether a JSON document has the user's id as a key, a text or a number anywhere in it.
    package static func names(_ user: UserID, in payload: [UInt8]) -> Bool {
        let value = try? JSONSerialization.jsonObject(with: Data(payload), options: .fragmentsAllowed)
        return value.map { names(user, in: $0) } ?? false
    }

    private static func names(_ user: UserID, in value: Any) -> Bool {
        switch value {
        // A UUID in any case of letters is the user, too.
        case let text as String: text.utf8.elementsEqual(user.value.utf8) || UserID(text) == user
        case let number as NSNumber: number.stringValue == user.value
        case let list as [Any]: list.contains { names(user, in: $0) }
        case let object as [String: Any]: object.contains { names(user, in: $0.key) || names(user, in: $0.value) }
        default: false
        }
    }
}
