internal import Entitlements
public import ProviderKit

extension AppStoreAdapter {
    public func readdress(_ sample: JSON, to recipient: SampleRecipient) -> JSON {
        guard case .object(var root) = sample else { return sample }
        root["notificationUUID"] = .string(recipient.eventID)
        guard case .object(var data)? = root["data"] else { return .object(root) }
        let environment = JSON.string(recipient.environment == .sandbox ? "Sandbox" : "Production")
        data["environment"] = environment
        data["bundleId"] = .string(verifier.app.bundleID)
        // Apple leaves the number out in the sandbox.
        data["appAppleId"] = recipient.environment == .sandbox ? nil : .integer(verifier.app.appAppleID)
        for part in ["transaction", "renewalInfo"] {
            guard case .object(var members)? = data[part] else { continue }
            members["environment"] = environment
            if members["bundleId"] != nil { members["bundleId"] = .string(verifier.app.bundleID) }
            if members["appAccountToken"] != nil { members["appAccountToken"] = .string(recipient.user) }
            for name in ["transactionId", "originalTransactionId"] {
                if let id = members[name]?.string { members[name] = .string(id + String(recipient.mark)) }
            }
            data[part] = .object(members)
        }
        root["data"] = .object(data)
        return .object(root)
    }
}
