/// RFC 3339 times, read and written by plain arithmetic, so that the checks do not lean on the code they check.
enum Timestamp {
    /// Seconds since 1970, or nil when the text is no time. Any fraction; `Z` or an offset.
    static func seconds(of text: String) -> Double? {
        var rest = Substring(text)
        guard let year = number(&rest, 4), take(&rest, "-"), let month = number(&rest, 2), take(&rest, "-"),
            let day = number(&rest, 2), take(&rest, "T") || take(&rest, "t") || take(&rest, " "),
            let hour = number(&rest, 2), take(&rest, ":"), let minute = number(&rest, 2), take(&rest, ":"),
            let second = number(&rest, 2), (1...12).contains(month), (1...days(of: month, year)).contains(day),
            hour < 24, minute < 60, second < 60, let fraction = fraction(&rest), let offset = offset(&rest),
            rest.isEmpty
        else { return nil }
        let days = daysSince1970(year: year, month: month, day: day)
        return Double(days * 86400 + hour * 3600 + minute * 60 + second - offset) + fraction
    }

    /// `2027-01-01T00:00:00.000Z`
    static func text(ofMilliseconds milliseconds: Int64) -> String {
        let (seconds, thousandths) = floorDivide(Int(milliseconds), by: 1000)
        let (days, second) = floorDivide(seconds, by: 86400)
        let date = civilDate(daysSince1970: days)
        return padded(date.year, 4) + "-" + padded(date.month, 2) + "-" + padded(date.day, 2) + "T"
            + padded(second / 3600, 2) + ":" + padded(second / 60 % 60, 2) + ":" + padded(second % 60, 2) + "."
            + padded(thousandths, 3) + "Z"
    }

    // MARK: Reading

    private static func number(_ rest: inout Substring, _ width: Int) -> Int? {
        let digits = rest.prefix(width)
        guard digits.utf8.count == width, digits.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
        rest = rest.dropFirst(width)
        return Int(digits)
    }

    private static func take(_ rest: inout Substring, _ character: Character) -> Bool {
        guard rest.first == character else { return false }
        rest = rest.dropFirst()
        return true
    }

    private static func fraction(_ rest: inout Substring) -> Double? {
        guard take(&rest, ".") else { return 0 }
        let digits = rest.prefix { $0.isASCII && $0.isNumber }
        rest = rest.dropFirst(digits.count)
        return digits.isEmpty ? nil : Double("0." + digits)
    }

    private static func offset(_ rest: inout Substring) -> Int? {
        if take(&rest, "Z") || take(&rest, "z") { return 0 }
        let sign = take(&rest, "+") ? 1 : -1
        guard sign == 1 || take(&rest, "-"), let hours = number(&rest, 2), take(&rest, ":"),
            let minutes = number(&rest, 2)
        else { return nil }
        return sign * (hours * 3600 + minutes * 60)
    }

    // MARK: The calendar

    private static func days(of month: Int, _ year: Int) -> Int {
        daysSince1970(year: month == 12 ? year + 1 : year, month: month % 12 + 1, day: 1)
            - daysSince1970(year: year, month: month, day: 1)
    }

    // Both by Howard Hinnant's "chrono-Compatible Low-Level Date Algorithms": years begin in March, so that the leap day
    // is the last of its year, and eras of 400 years all have 146097 days.
    private static func daysSince1970(year: Int, month: Int, day: Int) -> Int {
        let year = month <= 2 ? year - 1 : year
        let (era, yearOfEra) = floorDivide(year, by: 400)
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    private static func civilDate(daysSince1970 days: Int) -> (year: Int, month: Int, day: Int) {
        let (era, day) = floorDivide(days + 719_468, by: 146_097)
        let yearOfEra = (day - day / 1460 + day / 36524 - day / 146_096) / 365
        let dayOfYear = day - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shifted = (5 * dayOfYear + 2) / 153
        let month = shifted < 10 ? shifted + 3 : shifted - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shifted + 2) / 5 + 1)
    }

    private static func floorDivide(_ number: Int, by divisor: Int) -> (quotient: Int, rest: Int) {
        let (quotient, rest) = number.quotientAndRemainder(dividingBy: divisor)
        return rest < 0 ? (quotient - 1, rest + divisor) : (quotient, rest)
    }

    private static func padded(_ number: Int, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}
