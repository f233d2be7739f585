internal import Entitlements
public import ProviderKit

extension RevenueCatAdapter {
    public func readdress(_ sample: JSON, to recipient: SampleRecipient) -> JSON {
        guard case .object(var root) = sample, case .object(var event)? = root["event"] else { return sample }
        let user = JSON.string(recipient.user)
        event["id"] = .string(recipient.eventID)
        for name in ["app_user_id", "original_app_user_id"] where event[name] != nil { event[name] = user }
        if event["aliases"] != nil { event["aliases"] = .array([user]) }
        if event["transferred_to"] != nil { event["transferred_to"] = .array([user]) }
        if event["environment"] != nil || event["app_user_id"] != nil {
            event["environment"] = .string(recipient.environment == .sandbox ? "SANDBOX" : "PRODUCTION")
        }
        for name in ["transaction_id", "original_transaction_id"] {
            if let id = event[name]?.string { event[name] = .string(id + String(recipient.mark)) }
        }
        root["event"] = .object(event)
        return .object(root)
    }
}
