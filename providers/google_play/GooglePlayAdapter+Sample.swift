internal import Entitlements
public import ProviderKit

/// A sample is a notification with the answer that Google gave to the question it raised.
extension GooglePlayAdapter {
    public func readdress(_ sample: JSON, to recipient: SampleRecipient) -> JSON {
        guard case .object(var reading)? = sample[GooglePlayReading.name] else { return sample }
        func own(_ value: JSON?) -> JSON? { value?.string.map { .string($0 + String(recipient.mark)) } ?? value }
        reading["id"] = .string(recipient.eventID)
        reading["token"] = own(reading["token"])
        if case .object(var notification)? = reading["notification"] {
            notification["packageName"] = .string(package)
            for part in ["subscriptionNotification", "oneTimeProductNotification", "voidedPurchaseNotification"] {
                guard case .object(var members)? = notification[part] else { continue }
                members["purchaseToken"] = own(members["purchaseToken"])
                members["orderId"] = own(members["orderId"])
                notification[part] = .object(members)
            }
            reading["notification"] = .object(notification)
        }
        if case .object(var answer)? = reading["answer"] {
            let isTest = recipient.environment == .sandbox
            let user = JSON.string(recipient.user)
            for name in ["linkedPurchaseToken", "latestOrderId", "orderId"] where answer[name] != nil {
                answer[name] = own(answer[name])
            }
            if reading["kind"]?.string == GooglePlayReading.Kind.product.rawValue {
                answer["testPurchaseContext"] = isTest ? .object(["fopType": .string("TEST")]) : nil
                answer["obfuscatedExternalAccountId"] = user
            } else {
                answer["testPurchase"] = isTest ? .object([:]) : nil
                answer["externalAccountIdentifiers"] = .object(["obfuscatedExternalAccountId": user])
                let items = answer["lineItems"]?.array ?? []
                answer["lineItems"] = .array(
                    items.map { item in
                        guard case .object(var members) = item else { return item }
                        members["latestSuccessfulOrderId"] = own(members["latestSuccessfulOrderId"])
                        return .object(members)
                    }
                )
            }
            reading["answer"] = .object(answer)
        }
        return .object([GooglePlayReading.name: .object(reading)])
    }
}
