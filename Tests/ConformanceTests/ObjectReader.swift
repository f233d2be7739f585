import TestSupport

/// Reads the members of one object of a case and knows which are left: a member nobody asked for is an error, so a
/// misspelt expectation cannot pass by being ignored.
struct ObjectReader {
    let place: String
    private var left: JSONObject

    init(_ value: JSONValue, at place: String) throws(ConformanceError) {
        guard case .object(let object) = value else { throw .wrongCase("\(place): an object is expected") }
        self.place = place
        left = object
    }

    func has(_ key: String) -> Bool {
        left[key] != nil
    }

    mutating func value(_ key: String) -> JSONValue? {
        defer { left[key] = nil }
        return left[key]
    }

    mutating func string(_ key: String) throws(ConformanceError) -> String? {
        try read(key, "a string") { if case .string(let text) = $0 { text } else { nil } }
    }

    mutating func number(_ key: String) throws(ConformanceError) -> Double? {
        try read(key, "a number") { if case .number(let number) = $0 { number.double } else { nil } }
    }

    mutating func count(_ key: String) throws(ConformanceError) -> Int? {
        try read(key, "a whole number, 0 or more") {
            guard case .number(let number) = $0, let count = number.integer, count >= 0 else { return nil }
            return Int(count)
        }
    }

    mutating func bool(_ key: String) throws(ConformanceError) -> Bool? {
        try read(key, "true or false") { if case .bool(let value) = $0 { value } else { nil } }
    }

    mutating func object(_ key: String) throws(ConformanceError) -> JSONObject? {
        try read(key, "an object") { if case .object(let object) = $0 { object } else { nil } }
    }

    mutating func array(_ key: String) throws(ConformanceError) -> [JSONValue]? {
        try read(key, "a list") { if case .array(let elements) = $0 { elements } else { nil } }
    }

    mutating func strings(_ key: String) throws(ConformanceError) -> [String]? {
        try read(key, "a list of strings") {
            guard case .array(let elements) = $0 else { return nil }
            let texts = elements.compactMap(\.string)
            return texts.count == elements.count ? texts : nil
        }
    }

    mutating func required(_ key: String) throws(ConformanceError) -> String {
        guard let text = try string(key) else { throw .wrongCase("\(place): \"\(key)\" is missing") }
        return text
    }

    /// To be called last.
    func finish() throws(ConformanceError) {
        guard left.members.isEmpty else {
            throw .wrongCase("\(place): not known here: \(left.members.map(\.key).sorted().joined(separator: ", "))")
        }
    }

    private mutating func read<Value>(
        _ key: String,
        _ wanted: String,
        _ convert: (JSONValue) -> Value?
    ) throws(ConformanceError) -> Value? {
        guard let found = value(key) else { return nil }
        guard let converted = convert(found) else { throw .wrongCase("\(place): \"\(key)\" must be \(wanted)") }
        return converted
    }
}
