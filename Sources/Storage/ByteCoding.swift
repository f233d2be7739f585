/// Writes values as bytes, small ones small: the form in which facts and rows are kept.
struct ByteWriter {
    private(set) var bytes: [UInt8] = []

    mutating func byte(_ value: UInt8) {
        bytes.append(value)
    }

    /// Seven bits a byte, the lowest first; the top bit says that more follow.
    mutating func unsigned(_ value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }

    /// Signed numbers with the sign in the lowest bit, so that small negative ones are small too.
    mutating func signed(_ value: Int64) {
        unsigned(UInt64(bitPattern: (value << 1) ^ (value >> 63)))
    }

    mutating func text(_ value: String) {
        unsigned(UInt64(value.utf8.count))
        bytes += value.utf8
    }

    mutating func blob(_ value: [UInt8]) {
        unsigned(UInt64(value.count))
        bytes += value
    }

    mutating func texts(_ values: [String]) {
        unsigned(UInt64(values.count))
        for value in values { text(value) }
    }

    mutating func optional<Value>(_ value: Value?, _ write: (inout ByteWriter, Value) -> Void) {
        byte(value == nil ? 0 : 1)
        if let value { write(&self, value) }
    }
}

/// Reads what `ByteWriter` wrote. Damaged bytes are an error, never a trap.
struct ByteReader {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) {
        rest = bytes[...]
    }

    mutating func byte() throws(StorageError) -> UInt8 {
        guard let first = rest.popFirst() else { throw .damaged("a record ends too early") }
        return first
    }

    mutating func unsigned() throws(StorageError) -> UInt64 {
        var (value, shift): (UInt64, UInt64) = (0, 0)
        while true {
            let next = try byte()
            guard shift < 63 || (shift == 63 && next <= 1) else { throw .damaged("a number is too long") }
            value |= UInt64(next & 0x7f) << shift
            if next & 0x80 == 0 { return value }
            shift += 7
        }
    }

    mutating func signed() throws(StorageError) -> Int64 {
        let value = try unsigned()
        return Int64(bitPattern: (value >> 1) ^ (~(value & 1) &+ 1))
    }

    mutating func text() throws(StorageError) -> String {
        String(decoding: try blob(), as: UTF8.self)
    }

    mutating func blob() throws(StorageError) -> [UInt8] {
        let count = try unsigned()
        guard count <= UInt64(rest.count) else { throw .damaged("a text is longer than its record") }
        let bytes = [UInt8](rest.prefix(Int(count)))
        rest = rest.dropFirst(Int(count))
        return bytes
    }

    mutating func texts() throws(StorageError) -> [String] {
        let count = try unsigned()
        guard count <= UInt64(rest.count) else { throw .damaged("a list is longer than its record") }
        var values: [String] = []
        for _ in 0..<count { values.append(try text()) }
        return values
    }

    mutating func flag() throws(StorageError) -> Bool {
        try byte() != 0
    }
}
