internal import Entitlements

/// A value that is there but is not what it must be, or is not there and must be.
struct ReadingFailure: Error {
    var reason: String
}

/// A document and what a manifest says about reading it.
struct ManifestReading<Value: JSONReadable> {
    typealias Failure = ReadingFailure

    let document: Value
    /// What a bare number counts when a value does not say.
    let numberFormat: ManifestValue.TimeFormat
    /// The element that relative pointers begin at.
    var element: Value?

    // MARK: - Values

    /// The values of the first place that has any, in order, without nulls.
    func all(_ value: ManifestValue) -> [Value] {
        guard let each = value.each else {
            for place in value.places {
                let found = place.all(in: document, element: element)
                if !found.isEmpty { return found }
            }
            return []
        }
        var found: [Value] = []
        for list in each.all(in: document, element: element) {
            for candidate in list.array ?? [list] {
                var inner = self
                inner.element = candidate
                if let condition = value.condition, !inner.holds(condition) { continue }
                for place in value.places {
                    let values = place.all(in: document, element: candidate)
                    guard !values.isEmpty else { continue }
                    found += values
                    break
                }
            }
        }
        return found
    }

    /// The first value of the first place that has any.
    func first(_ value: ManifestValue) -> Value? {
        guard value.each == nil else { return all(value).first }
        for place in value.places {
            if let found = place.first(in: document, element: element) { return found }
        }
        return nil
    }

    private func place(_ value: ManifestValue) -> String {
        value.places.first?.text ?? ""
    }

    func text(_ value: ManifestValue) throws(Failure) -> String? {
        guard let found = first(value) else { return nil }
        return value.prefix + (try text(found, value))
    }

    /// An id may stand alone or as an object with its `id` (an "expanded" object).
    private func text(_ found: Value, _ value: ManifestValue) throws(Failure) -> String {
        if let text = found.string { return text }
        if let number = found.wholeInteger { return String(number) }
        if let id = found.member(.id)?.string, !id.isEmpty { return id }
        throw Failure(reason: "\(place(value)) is \(found.kind), not an id")
    }

    /// A text or a number that is there, and no object that has an id.
    func plain(_ value: ManifestValue) throws(Failure) -> String {
        if let found = first(value), found.isObject {
            throw Failure(reason: "\(place(value)) is \(found.kind), not an id")
        }
        return try required(value)
    }

    /// One of the provider's words. A number is one only where the manifest knows it.
    func word(_ value: ManifestValue, isKnown: (String) -> Bool) throws(Failure) -> String {
        guard let found = first(value) else { throw Failure(reason: "\(place(value)) is missing") }
        let word = value.prefix + (try text(found, value))
        guard found.isText || !found.isObject && isKnown(word) else {
            throw Failure(reason: "\(place(value)) is \(found.kind), not a text")
        }
        return word
    }

    func texts(_ values: [ManifestValue]) throws(Failure) -> [String] {
        var found: [String] = []
        for value in values {
            if value.isSingle {
                if let only = first(value) { add(value.prefix + (try text(only, value)), &found) }
            } else {
                for one in all(value) { add(value.prefix + (try text(one, value)), &found) }
            }
        }
        return found
    }

    private func add(_ text: String, _ found: inout [String]) {
        if !text.isEmpty, !found.contains(text) { found.append(text) }
    }

    func required(_ value: ManifestValue) throws(Failure) -> String {
        guard let text = try text(value), !text.isEmpty else { throw Failure(reason: "\(place(value)) is missing") }
        return text
    }

    func time(_ value: ManifestValue?) throws(Failure) -> UnixMillis? {
        guard let value else { return nil }
        if value.pick == .first { return try first(value).map { found throws(Failure) in try time(found, value) } }
        var times: [UnixMillis] = []
        for found in all(value) { times.append(try time(found, value)) }
        switch value.pick {
        case .first: return times.first
        case .max: return times.max()
        case .min: return times.min()
        }
    }

    private func time(_ found: Value, _ value: ManifestValue) throws(Failure) -> UnixMillis {
        if let time = found.time { return time.clamped }
        if let number = found.integer {
            let time: UnixMillis
            switch value.format ?? numberFormat {
            case .seconds:
                let (millis, overflow) = number.multipliedReportingOverflow(by: 1000)
                guard !overflow else { throw Failure(reason: "\(place(value)) is no time") }
                time = UnixMillis(millis)
            case .millis: time = UnixMillis(number)
            case .rfc3339: throw Failure(reason: "\(place(value)) is a number, not a date")
            }
            if time == time.clamped { return time }
        }
        throw Failure(reason: "\(place(value)) is \(found.kind) and no time")
    }

    func amount(_ value: ManifestValue?) throws(Failure) -> Int64? {
        guard let value, let found = first(value) else { return nil }
        if let number = found.integer { return number }
        if let text = found.string, let number = Int64(text) { return number }
        throw Failure(reason: "\(place(value)) is \(found.kind), not an amount")
    }

    // MARK: - Conditions

    func holds(_ condition: ManifestCondition) -> Bool {
        switch condition {
        case .equals(let value, let wanted):
            if value.isSingle {
                guard let found = first(value) else { return wanted.contains { $0.json.isNull } }
                return wanted.contains { found.equals($0) }
            }
            let all = all(value)
            return all.isEmpty && wanted.contains { $0.json.isNull }
                || all.contains { found in wanted.contains { found.equals($0) } }
        case .isNull(let value): return first(value) == nil
        case .sameAs(let left, let right):
            guard let first = comparable(left), let second = comparable(right) else { return false }
            return first == second
        case .lessThan(let left, let right):
            guard let first = comparable(left), let second = comparable(right) else { return false }
            guard case .number(let earlier) = first, case .number(let later) = second else { return false }
            return earlier < later
        case .not(let inner): return !holds(inner)
        case .all(let inner): return inner.allSatisfy { holds($0) }
        case .any(let inner): return inner.contains { holds($0) }
        }
    }

    private enum Comparable: Equatable {
        case number(Int64)
        case text(String)
    }

    /// Times and amounts as numbers; texts that are neither are only ever equal to themselves.
    private func comparable(_ value: ManifestValue) -> Comparable? {
        if value.pick != .first {
            let numbers = all(value).compactMap { found in
                if case .number(let number)? = comparable(found) { number } else { nil }
            }
            return (value.pick == .max ? numbers.max() : numbers.min()).map(Comparable.number)
        }
        return first(value).flatMap(comparable)
    }

    private func comparable(_ found: Value) -> Comparable? {
        if let text = found.string {
            return (Int64(text) ?? found.time?.value).map(Comparable.number) ?? .text(text)
        }
        return found.integer.map(Comparable.number)
    }
}
