package import Entitlements

/// The ids of a mention as bytes: for each its rank, then its namespace and its value, each after its length in bytes and
/// a colon. Equal sets of ids are equal bytes.
package enum MentionCoding {
    package static func encode(_ ids: [PurchaseReference.Identifier]) -> [UInt8] {
        let sorted = Set(ids).sorted { ($0.rank, $0.id) < ($1.rank, $1.id) }
        var bytes: [UInt8] = []
        for identifier in sorted {
            bytes += String(identifier.rank.rawValue).utf8
            for text in [identifier.id.namespace, identifier.id.value] {
                bytes += "\(text.utf8.count):".utf8
                bytes += text.utf8
            }
        }
        return bytes
    }

    package static func decode(_ bytes: [UInt8]) throws(StorageError) -> [PurchaseReference.Identifier] {
        var rest = bytes[...]
        var ids: [PurchaseReference.Identifier] = []
        while let first = rest.popFirst() {
            guard let rank = ExternalIDRank(rawValue: first &- UInt8(ascii: "0")) else { throw damaged }
            let namespace = try text(&rest)
            ids.append(.init(id: ExternalID(namespace: namespace, value: try text(&rest)), rank: rank))
        }
        return ids
    }

    private static func text(_ rest: inout ArraySlice<UInt8>) throws(StorageError) -> String {
        guard let colon = rest.firstIndex(of: UInt8(ascii: ":")),
            let count = Int(String(decoding: rest[rest.startIndex..<colon], as: UTF8.self)), count >= 0
        else { throw damaged }
        rest = rest[(colon + 1)...]
        guard count <= rest.count else { throw damaged }
        defer { rest = rest.dropFirst(count) }
        return String(decoding: rest.prefix(count), as: UTF8.self)
    }

    private static var damaged: StorageError { .damaged("a mention of a purchase cannot be read") }
}
