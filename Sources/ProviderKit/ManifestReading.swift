internal import Entitlements

/// A document and what a manifest says about reading it.
struct ManifestReading {
    /// A value that is there but is not what it must be, or is not there and must be.
    struct Failure: Error {
        var reason: String
    }

    let document: JSON
    /// What a bare number counts when a value does not say.
    let numberFormat: ManifestValue.TimeFormat
    /// The element that relative pointers begin at.
    var element: JSON?

    // MARK: - Values

    /// The values of the first place that has any, in order, without nulls.
    func all(_ value: ManifestValue) -> [JSON] {
        guard let each = value.each else {
            for place in value.places {
                let found = place.values(in: document, element: element)
                if !found.isEmpty { return found }
            }
            return []
        }
        var found: [JSON] = []
        for list in each.values(in: document, element: element) {
            for candidate in list.array ?? [list] {
                var inner = self
                inner.element = candidate
                if let condition = value.condition, !inner.holds(condition) { continue }
                for place in value.places {
                    let values = place.values(in: document, element: candidate)
                    guard !values.isEmpty else { continue }
                    found += values
                    break
                }
            }
        }
        return found
    }

    /// The first value of the first place that has any.
    func first(_ value: ManifestValue) -> JSON? {
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
    private func text(_ json: JSON, _ value: ManifestValue) throws(Failure) -> String {
        switch json {
        case .string(let text): return text
        case .integer(let number): return String(number)
        case .object(let members):
            if let id = members["id"]?.string, !id.isEmpty { return id }
        default: break
        }
        throw Failure(reason: "\(place(value)) is \(json.kind), not an id")
    }

    /// A text or a number that is there, and no object that has an id.
    func plain(_ value: ManifestValue) throws(Failure) -> String {
        if let found = first(value), found.object != nil {
            throw Failure(reason: "\(place(value)) is \(found.kind), not an id")
        }
        return try required(value)
    }

    /// One of the provider's words. A number is one only where the manifest knows it.
    func word(_ value: ManifestValue, isKnown: (String) -> Bool) throws(Failure) -> String {
        guard let found = first(value) else { throw Failure(reason: "\(place(value)) is missing") }
        let word = value.prefix + (try text(found, value))
        guard found.string != nil || found.object == nil && isKnown(word) else {
            throw Failure(reason: "\(place(value)) is \(found.kind), not a text")
        }
        return word
    }

    func texts(_ values: [ManifestValue]) throws(Failure) -> [String] {
        var found: [String] = []
        for value in values {
            for json in all(value) {
                let text = value.prefix + (try text(json, value))
                if !text.isEmpty, !found.contains(text) { found.append(text) }
            }
        }
        return found
    }

    func required(_ value: ManifestValue) throws(Failure) -> String {
        guard let text = try text(value), !text.isEmpty else { throw Failure(reason: "\(place(value)) is missing") }
        return text
    }

    func time(_ value: ManifestValue?) throws(Failure) -> UnixMillis? {
        guard let value else { return nil }
        if value.pick == .first { return try first(value).map { json throws(Failure) in try time(json, value) } }
        var times: [UnixMillis] = []
        for json in all(value) { times.append(try time(json, value)) }
        switch value.pick {
        case .first: return times.first
        case .max: return times.max()
        case .min: return times.min()
        }
    }

    private func time(_ json: JSON, _ value: ManifestValue) throws(Failure) -> UnixMillis {
        if let text = json.string, let time = UnixMillis(rfc3339: text) { return time.clamped }
        if let number = json.integer {
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
        throw Failure(reason: "\(place(value)) is \(json.kind) and no time")
    }

    func amount(_ value: ManifestValue?) throws(Failure) -> Int64? {
        guard let value, let json = first(value) else { return nil }
        if let number = json.integer { return number }
        if let text = json.string, let number = Int64(text) { return number }
        throw Failure(reason: "\(place(value)) is \(json.kind), not an amount")
    }

    // MARK: - Conditions

    func holds(_ condition: ManifestCondition) -> Bool {
        switch condition {
        case .equals(let value, let wanted):
            return wanted.contains(.null) && all(value).isEmpty || all(value).contains { wanted.contains($0) }
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
            let numbers = all(value).compactMap { json in
                if case .number(let number)? = comparable(json) { number } else { nil }
            }
            return (value.pick == .max ? numbers.max() : numbers.min()).map(Comparable.number)
        }
        return first(value).flatMap(comparable)
    }

    private func comparable(_ json: JSON) -> Comparable? {
        if let text = json.string {
            return (Int64(text) ?? UnixMillis(rfc3339: text)?.value).map(Comparable.number) ?? .text(text)
        }
        return json.integer.map(Comparable.number)
    }
}
