internal import Foundation

/// JSON that commands write themselves, with its members in the order of their names.
enum CommandOutput {
    static func json(_ value: [String: Any]) -> String {
        let options: JSONSerialization.WritingOptions = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? JSONSerialization.data(withJSONObject: value, options: options) else { return "{}" }
        return String(decoding: data, as: UTF8.self)
    }

    /// A text, or null.
    static func optional(_ text: String?) -> Any {
        text ?? NSNull()
    }

    /// Columns as wide as their widest cell, two spaces between them.
    static func table(_ rows: [[String]]) -> String {
        let columns = rows.map(\.count).max() ?? 0
        let widths = (0..<columns).map { column in
            rows.compactMap { $0.count > column ? $0[column].count : nil }.max() ?? 0
        }
        return rows.map { row in
            row.enumerated().map { place, cell in
                place == row.count - 1 ? cell : cell + String(repeating: " ", count: widths[place] - cell.count)
            }.joined(separator: "  ")
        }.joined(separator: "\n")
    }

    /// Bytes as people read them.
    static func size(_ bytes: Int64) -> String {
        let units: [(name: String, shift: Int64)] = [("GiB", 30), ("MiB", 20), ("KiB", 10)]
        for unit in units where bytes >> unit.shift >= 10 { return "\(bytes >> unit.shift) \(unit.name)" }
        return "\(bytes) bytes"
    }
}
