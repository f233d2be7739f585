internal import Entitlements
internal import ProviderKit

/// The members of one object of a payload, and how they are read. An unknown member never matters; a wrong one is told by
/// its place.
struct AppStoreFields {
    struct Failure: Error {
        var reason: String
    }

    let value: JSON
    let place: String

    func text(_ name: String) throws(Failure) -> String? {
        guard let value = value[name], !value.isNull else { return nil }
        guard let text = value.string else { throw wrong(name, value, "a text") }
        return text.isEmpty ? nil : text
    }

    func number(_ name: String) throws(Failure) -> Int64? {
        guard let value = value[name], !value.isNull else { return nil }
        guard let number = value.integer else { throw wrong(name, value, "a whole number") }
        return number
    }

    func bool(_ name: String) throws(Failure) -> Bool? {
        guard let value = value[name], !value.isNull else { return nil }
        guard let bool = value.bool else { throw wrong(name, value, "a boolean") }
        return bool
    }

    /// Milliseconds since 1970; Xcode writes them with fractions.
    func time(_ name: String) throws(Failure) -> UnixMillis? {
        try number(name).map { UnixMillis($0).clamped }
    }

    func required<Value>(_ name: String, _ value: Value?) throws(Failure) -> Value {
        guard let value else { throw Failure(reason: "\(place)/\(name) is missing") }
        return value
    }

    func object(_ name: String) throws(Failure) -> AppStoreFields? {
        guard let value = value[name], !value.isNull else { return nil }
        guard value.object != nil else { throw wrong(name, value, "an object") }
        return AppStoreFields(value: value, place: "\(place)/\(name)")
    }

    private func wrong(_ name: String, _ value: JSON, _ expected: String) -> Failure {
        Failure(reason: "\(place)/\(name) is \(value.kind), not \(expected)")
    }
}
