package import Entitlements

/// The people of a transfer as bytes; its time, event and environment stand beside them.
package enum TransferCoding {
    package static func encode(_ transfer: Transfer) -> [UInt8] {
        var writer = ByteWriter()
        for holder in [transfer.from, transfer.to] {
            writer.texts(holder.users.map(\.value))
            writer.unsigned(UInt64(holder.anonymous.count))
            for customer in holder.anonymous {
                writer.text(customer.provider.name)
                writer.text(customer.value)
            }
        }
        return writer.bytes
    }

    package static func decode(
        _ bytes: [UInt8],
        at: UnixMillis,
        eventID: String,
        environment: StoreEnvironment?
    ) throws(StorageError) -> Transfer {
        var reader = ByteReader(bytes)
        let from = try holder(&reader)
        let to = try holder(&reader)
        return Transfer(at: at, eventID: eventID, from: from, to: to, environment: environment)
    }

    private static func holder(_ reader: inout ByteReader) throws(StorageError) -> Holder {
        let users = try reader.texts().map { UserID(unchecked: $0) }
        var anonymous: [CustomerID] = []
        for _ in 0..<(try reader.unsigned()) {
            let provider = ProviderID(try reader.text())
            anonymous.append(CustomerID(provider: provider, value: try reader.text()))
        }
        return Holder(users: users, anonymous: anonymous)
    }
}
