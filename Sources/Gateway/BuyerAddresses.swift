internal import Crypto
internal import Entitlements
internal import Foundation
internal import ProviderKit
internal import Storage

/// Keyed hashes of buyers' addresses, so that a purchase made without an account can be claimed (`claim_by_email`).
///
/// An address is a customer like any other of a provider of its own: what was bought under it belongs to the user it was
/// last linked to, unless the purchase says otherwise. Without the key, which lies beside the database and not in it, a hash
/// tells nothing.
struct BuyerAddresses: Sendable {
    /// Where the events of web billing have the buyer's address, and not the seller's or a member of staff's.
    private static let places = [
        "/object/customer/email", "/data/customer/email", "/data/attributes/user_email",
        "/data/object/customer_details/email", "/data/object/customer_email", "/data/object/receipt_email",
        "/data/object/billing_details/email",
    ].map { $0.split(separator: "/").map(String.init) }
    private static let keySize = 32
    /// Longest address (RFC 5321 section 4.5.3.1.3).
    private static let bytesMax = 254

    private let key: [UInt8]

    static func path(besideDatabase database: String) -> String { database + ".address-key" }

    /// - Throws: When the key's file can be read by others, or cannot be written.
    static func load(besideDatabase database: String) throws(ConfigurationError) -> BuyerAddresses {
        let path = Self.path(besideDatabase: database)
        if !FileManager.default.fileExists(atPath: path) {
            try SecretFile.write(RandomBytes.make(keySize), to: path, isNew: true)
        }
        let key = try SecretFile.read(path)
        guard key.count == keySize else {
            throw ConfigurationError(path, "it holds no key", hint: "restore it from a backup")
        }
        return BuyerAddresses(key: key)
    }

    /// The customer that an address is; nil for a text that is none.
    func customer(of address: String) -> CustomerID? {
        let trimmed = address.trimmingCharacters(in: .whitespacesAndNewlines).lowercased()
        let parts = trimmed.split(separator: "@", omittingEmptySubsequences: false)
        guard trimmed.utf8.count <= Self.bytesMax, parts.count == 2, parts.allSatisfy({ !$0.isEmpty }) else {
            return nil
        }
        let hash = Digest.hmacSHA256(key: key, message: Array(trimmed.utf8))
        return CustomerID(provider: AddressCustomer.provider, value: Hex.encode(hash))
    }

    /// The event, whose purchases are those of the buyer's address too.
    func added(to event: NormalizedEvent, from body: [UInt8]) -> NormalizedEvent {
        guard event.verdict == nil, let json = JSON(body), let customer = Self.address(in: json).flatMap(customer(of:))
        else { return event }
        var event = event
        event.effects = event.effects.map { effect in
            guard case .facts(let reference, let facts) = effect else { return effect }
            return .facts(reference, facts + [.customer(customer)])
        }
        return event
    }

    private static func address(in json: JSON) -> String? {
        for place in places {
            var value: JSON? = json
            for step in place { value = value?[step] }
            if let text = value?.string, !text.isEmpty { return text }
        }
        return nil
    }
}
