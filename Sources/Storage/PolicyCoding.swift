public import Entitlements
internal import Foundation

/// The policy as text, as it is kept with the rows that were made with it: equal texts for equal policies.
public enum PolicyCoding {
    private struct Stored: Codable {
        struct Product: Codable {
            var entitlements: [String]
            var days: Int?
        }

        /// Which version of the merge rule made the rows; nil is 1.
        var rules: Int?
        var entitlement: String
        var products: [String: [String: Product]]
        var pastDueDays: Int
        var sandboxUsers: [String]
        var firstProviders: [String]
        var lastProviders: [String]
    }

    /// Grows when the same facts come to something else than before: then the first start elects every row anew, as for a
    /// changed product map.
    private static let rules = 2

    public static func encode(_ policy: EntitlementPolicy) -> String {
        var products: [String: [String: Stored.Product]] = [:]
        for (provider, map) in policy.products {
            products[provider.name] = map.mapValues {
                Stored.Product(entitlements: $0.entitlements, days: $0.days)
            }
        }
        let stored = Stored(
            rules: rules,
            entitlement: policy.defaultEntitlement,
            products: products,
            pastDueDays: policy.pastDueDays,
            sandboxUsers: policy.sandboxUsers.sorted(),
            firstProviders: policy.firstProviders.map(\.name),
            lastProviders: policy.lastProviders.map(\.name)
        )
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(stored)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }

    public static func decode(_ text: String) throws(StorageError) -> EntitlementPolicy {
        guard let stored = try? JSONDecoder().decode(Stored.self, from: Data(text.utf8)) else {
            throw .damaged("the policy the rows were made with cannot be read")
        }
        var products: [ProviderID: [String: EntitlementPolicy.Grant]] = [:]
        for (provider, map) in stored.products {
            products[ProviderID(provider)] = map.mapValues {
                EntitlementPolicy.Grant(entitlements: $0.entitlements, days: $0.days)
            }
        }
        return EntitlementPolicy(
            defaultEntitlement: stored.entitlement,
            products: products,
            pastDueDays: stored.pastDueDays,
            sandboxUsers: Set(stored.sandboxUsers),
            firstProviders: stored.firstProviders.map(ProviderID.init),
            lastProviders: stored.lastProviders.map(ProviderID.init)
        )
    }
}
