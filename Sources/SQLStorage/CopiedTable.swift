/// A table as it is carried from one engine to another. What the database works out by itself (counts, last arrivals) is not
/// carried.
package struct CopiedTable: Sendable {
    enum Kind {
        case integer
        case text
        case bytes
    }

    struct Column {
        var name: String
        var kind: Kind
    }

    package let name: String
    let columns: [Column]
    /// How many of the columns, from the first on, tell the rows apart; rows are carried in their order.
    let keys: Int
    /// The first column is a number that the database gives by itself.
    let isNumbered: Bool

    /// - Parameter columns: In words: a name alone is a text, `#` before it a number, `=` before it bytes.
    private init(_ name: String, keys: Int, isNumbered: Bool = false, _ columns: String) {
        self.name = name
        self.keys = keys
        self.isNumbered = isNumbered
        self.columns = columns.split(separator: " ").map { word in
            switch word.first {
            case "#": Column(name: String(word.dropFirst()), kind: .integer)
            case "=": Column(name: String(word.dropFirst()), kind: .bytes)
            default: Column(name: String(word), kind: .text)
            }
        }
    }

    /// All of them but `meta`, which is carried when the rest is there.
    package static var all: [CopiedTable] {
        [
            CopiedTable(
                "event",
                keys: 1,
                isNumbered: true,
                "#seq provider event_id type #outcome #environment user_id #occurred_at #received_at reason =payload"
            ),
            CopiedTable("purchase", keys: 1, isNumbered: true, "#id #environment provider purchase_id owner =outcome"),
            CopiedTable("external_id", keys: 3, "value namespace #environment #purchase #rank"),
            CopiedTable("mention", keys: 1, isNumbered: true, "#id #purchase =body"),
            CopiedTable("contested", keys: 1, "#purchase #cluster"),
            CopiedTable("fact", keys: 3, "#purchase #event #place =body #mention"),
            CopiedTable("link", keys: 3, "provider customer user_id #at event_id #first_at"),
            CopiedTable("claim", keys: 3, "provider external_id user_id #at event_id"),
            CopiedTable("transfer", keys: 3, "from_id #at event_id #environment =body"),
            CopiedTable("dependency", keys: 2, "node #purchase"),
            CopiedTable("person", keys: 1, "user_id person"),
            CopiedTable("manual_grant", keys: 2, "user_id grant_id #until reason entitlement #created_at #ended_at"),
            CopiedTable("erased", keys: 2, "=digest #environment #version #updated_at"),
            CopiedTable("audit", keys: 1, isNumbered: true, "#seq #at key_id action user_id detail"),
            CopiedTable("api_key", keys: 1, "id =digest #scope label #created_at #revoked_at"),
            CopiedTable(
                "outbox",
                keys: 1,
                isNumbered: true,
                "#seq receiver user_id message_id =body #is_last #created_at #attempts #failed_at #next_at #dead_at reason"
            ),
            CopiedTable("failing_receiver", keys: 1, "receiver #since"),
            CopiedTable(
                "license",
                keys: 1,
                "id =digest hint user_id entitlement #max_devices #source #purchase #created_at #revoked_at"
            ),
            CopiedTable("seat", keys: 2, "license device_id device_name #activated_at #last_seen_at"),
            CopiedTable("seat_freed", keys: 1, isNumbered: true, "#id license #at"),
            CopiedTable(
                "provider_task",
                keys: 1,
                isNumbered: true,
                "#id provider #kind key =body #created_at #next_at #attempts"
            ),
            // The answers last: whoever looked into a half-made copy would find nobody entitled, not somebody wrongly.
            CopiedTable(
                "subscription",
                keys: 2,
                "user_id #environment #version #updated_at =body #judged_at #turns_at #sequence"
            ),
        ]
    }

    private var names: String { columns.map(\.name).joined(separator: ", ") }
    private var keyNames: String { columns.prefix(keys).map(\.name).joined(separator: ", ") }

    private var order: String {
        columns.prefix(keys).map(\.name).joined(separator: ", ")
    }

    /// The next rows after a key, from the first one on without it. The limit is the last value.
    func page(hasKey: Bool) -> String {
        let marks = (1...keys).map { "?\($0)" }.joined(separator: ", ")
        let filter = hasKey ? "WHERE (\(keyNames)) > (\(marks))" : ""
        return "SELECT \(names) FROM \(name) \(filter) ORDER BY \(order) LIMIT ?\(hasKey ? keys + 1 : 1)"
    }

    /// The row that comes last.
    var last: String {
        let backwards = columns.prefix(keys).map { $0.name + " DESC" }.joined(separator: ", ")
        return "SELECT \(names) FROM \(name) ORDER BY \(backwards) LIMIT 1"
    }

    var insert: String {
        let marks = (1...columns.count).map { "?\($0)" }.joined(separator: ", ")
        return "INSERT INTO \(name) (\(names)) VALUES (\(marks))"
    }
}

/// One value on its way from one engine to another.
enum CopiedValue: Equatable {
    case null
    case integer(Int64)
    case text(String)
    case bytes([UInt8])

    init(_ row: any SQLStatement, _ place: Int32, _ kind: CopiedTable.Kind) {
        guard !row.isNull(place) else {
            self = .null
            return
        }
        switch kind {
        case .integer: self = .integer(row.integer(place))
        case .text: self = .text(row.text(place))
        case .bytes: self = .bytes(row.blob(place))
        }
    }

    /// - Parameter kind: What NULL is a NULL of.
    func bind(_ place: Int32, to statement: any SQLStatement, _ kind: CopiedTable.Kind) {
        switch self {
        case .null:
            switch kind {
            case .integer: statement.bind(place, Int64?.none)
            case .text: statement.bind(place, String?.none)
            case .bytes: statement.bind(place, [UInt8]?.none)
            }
        case .integer(let value): statement.bind(place, value)
        case .text(let value): statement.bind(place, value)
        case .bytes(let value): statement.bind(place, value)
        }
    }

    /// The same for the same value in every engine; no two values have the same.
    func append(to bytes: inout [UInt8]) {
        func length(_ count: Int) {
            for shift in stride(from: 56, through: 0, by: -8) {
                bytes.append(UInt8(truncatingIfNeeded: count >> shift))
            }
        }
        switch self {
        case .null: bytes.append(0)
        case .integer(let value):
            bytes.append(1)
            length(Int(value))
        case .text(let value):
            bytes.append(2)
            length(value.utf8.count)
            bytes += value.utf8
        case .bytes(let value):
            bytes.append(3)
            length(value.count)
            bytes += value
        }
    }
}
