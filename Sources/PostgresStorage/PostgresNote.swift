#if Postgres
    internal import Crypto
    internal import Entitlements
    internal import Storage

    /// What a gateway tells the others of a commit: who it is, and whose rows have changed.
    struct PostgresNote {
        static let channel = "entitlement_gateway"
        /// What a command writes in place of a gateway and its rows.
        static let command = "command"
        /// The server takes fewer than 8000 bytes.
        private static let bytesMax = 7800

        var instance: String
        var changed: [ChangedRow]

        static func newInstance() -> String { Hex.encode(RandomBytes.make(8)) }

        /// As many texts as it takes; at least one.
        static func texts(_ changed: [ChangedRow], from instance: String) -> [String] {
            var texts: [String] = []
            var text = instance
            for row in changed {
                // In hex: an id may hold any byte.
                let entry = " \(row.environment.rawValue)\(Hex.encode(Array(row.user.value.utf8)))"
                if text.utf8.count + entry.utf8.count > bytesMax {
                    texts.append(text)
                    text = instance
                }
                text += entry
            }
            return texts + [text]
        }

        init?(_ text: String) {
            let words = text.split(separator: " ")
            guard let first = words.first else { return nil }
            instance = String(first)
            changed = words.dropFirst().compactMap { word in
                guard let environment = word.first?.wholeNumberValue.flatMap({ StoreEnvironment(rawValue: UInt8($0)) }),
                    let bytes = Hex.decode(word.dropFirst().utf8)
                else { return nil }
                return ChangedRow(
                    user: UserID(unchecked: String(decoding: bytes, as: UTF8.self)),
                    environment: environment
                )
            }
        }
    }
#endif
