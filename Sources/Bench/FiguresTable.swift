/// Medians of runs, and lines of a table in Markdown.
struct FiguresTable {
    private var rows: [[String]]

    init(_ heads: [String]) {
        rows = [heads, heads.map { _ in "---" }]
    }

    mutating func add(_ cells: [String]) {
        rows.append(cells)
    }

    var text: String {
        var widths = [Int](repeating: 0, count: rows[0].count)
        for row in rows {
            for (column, cell) in row.enumerated() { widths[column] = max(widths[column], cell.count) }
        }
        return rows.map { row in
            let cells = row.enumerated().map { column, cell in
                cell + String(repeating: cell == "---" ? "-" : " ", count: widths[column] - cell.count)
            }
            return "| " + cells.joined(separator: " | ") + " |"
        }.joined(separator: "\n")
    }

    /// The middle value; of an even number the mean of the two in the middle.
    static func median(_ values: [Double]) -> Double {
        let sorted = values.sorted()
        guard let last = sorted.last else { return 0 }
        let middle = sorted.count / 2
        if sorted.count % 2 == 1 { return sorted[middle] }
        return middle > 0 ? (sorted[middle - 1] + sorted[middle]) / 2 : last
    }

    /// A number with so many decimals.
    static func number(_ value: Double, _ decimals: Int = 0) -> String {
        var scale = 1
        for _ in 0..<decimals { scale *= 10 }
        let scaled = Int((value * Double(scale)).rounded())
        guard decimals > 0 else { return String(scaled) }
        let rest = String(scaled % scale)
        return "\(scaled / scale).\(String(repeating: "0", count: decimals - rest.count))\(rest)"
    }
}
