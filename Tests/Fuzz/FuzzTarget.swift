/// One thing that takes bytes from strangers, and what must be true whatever the bytes are.
///
/// A property that does not hold ends the program, which the fuzzer takes for a crash and keeps the bytes.
struct FuzzTarget: Sendable {
    let name: String
    let check: @Sendable ([UInt8]) -> Void

    static let all: [FuzzTarget] = requests + tokens + documents + adapters

    static func named(_ name: String) -> FuzzTarget? { all.first { $0.name == name } }
}

/// Ends the program when something is not so.
@inline(never)
func require(_ condition: Bool, _ what: @autoclosure () -> String) {
    guard !condition else { return }
    fatalError("this must always be so: \(what())")
}

/// Takes a stream of choices out of bytes; zeros when they are at an end.
struct Choices {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: some Collection<UInt8>) {
        rest = Array(bytes)[...]
    }

    var isEmpty: Bool { rest.isEmpty }

    mutating func byte() -> Int { rest.popFirst().map { Int($0) } ?? 0 }

    /// Below `count`, which is above 0.
    mutating func index(_ count: Int) -> Int { (byte() << 8 | byte()) % count }

    mutating func bytes(_ count: Int) -> [UInt8] {
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
    }

    mutating func all() -> [UInt8] { bytes(rest.count) }
}

/// Whether a number is written with an exponent: Foundation reads such a one to fifteen digits only, and none that is too large.
func hasExponent(_ text: [UInt8]) -> Bool {
    zip(text, text.dropFirst()).contains {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) && ($1 | 0x20) == UInt8(ascii: "e")
    }
}
