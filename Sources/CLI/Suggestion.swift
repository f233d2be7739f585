/// What somebody who mistyped a word may have meant.
enum Suggestion {
    /// `; did you mean WORD?`, or nothing when no word is near.
    static func text(for word: String, among words: [String], prefix: String = "") -> String {
        let near = words.map { (word: $0, distance: distance(word, $0)) }
            .filter { $0.distance <= max(1, min(word.count, $0.word.count) / 3) || isBeginning(word, of: $0.word) }
            .min { ($0.distance, $0.word) < ($1.distance, $1.word) }
        return near.map { "; did you mean \(prefix)\($0.word)?" } ?? ""
    }

    private static func isBeginning(_ word: String, of other: String) -> Bool {
        word.count >= 2 && other.hasPrefix(word)
    }

    /// How many letters are to be put in, taken out, changed or swapped with their neighbour.
    private static func distance(_ left: String, _ right: String) -> Int {
        let (left, right) = (Array(left.lowercased()), Array(right.lowercased()))
        var rows = [Array(0...right.count)]
        for (i, letter) in left.enumerated() {
            var row = [i + 1]
            for (j, other) in right.enumerated() {
                var best = min(row[j] + 1, rows[i][j + 1] + 1, rows[i][j] + (letter == other ? 0 : 1))
                if i > 0, j > 0, letter == right[j - 1], left[i - 1] == other {
                    best = min(best, rows[i - 1][j - 1] + 1)
                }
                row.append(best)
            }
            rows.append(row)
        }
        return rows.last?.last ?? 0
    }
}
