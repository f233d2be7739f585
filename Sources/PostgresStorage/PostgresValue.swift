#if Postgres
    /// A value on its way to the server, with its type, so that nothing is guessed from the statement.
    enum PostgresValue: Hashable {
        case integer(Int64?)
        case text([UInt8]?)
        case bytes([UInt8]?)

        /// The number of the type in the server's catalogue (pg_type.dat): int8, text, bytea.
        var type: UInt32 {
            switch self {
            case .integer: 20
            case .text: 25
            case .bytes: 17
            }
        }

        /// As it travels in binary; nil is NULL.
        private var binary: [UInt8]? {
            switch self {
            case .integer(let value):
                value.map { value in
                    let bits = UInt64(bitPattern: value)
                    return (0..<8).map { UInt8(truncatingIfNeeded: bits >> UInt64(56 - 8 * $0)) }
                }
            case .text(let bytes), .bytes(let bytes): bytes
            }
        }

        /// Calls `body` with the values as libpq takes them; they lie in one block of memory that lives as long as the call.
        static func withPointers<Result>(
            _ values: [PostgresValue],
            _ body: (UnsafePointer<UnsafePointer<CChar>?>?, UnsafePointer<Int32>?, UnsafePointer<Int32>?) -> Result
        ) -> Result {
            guard !values.isEmpty else { return body(nil, nil, nil) }
            let binaries = values.map(\.binary)
            // One more byte, so that an empty value has an address, too.
            let block = UnsafeMutablePointer<CChar>.allocate(capacity: binaries.reduce(1) { $0 + ($1?.count ?? 0) })
            defer { unsafe block.deallocate() }
            unsafe block.initialize(to: 0)
            var pointers: [UnsafePointer<CChar>?] = unsafe []
            var offset = 0
            for binary in binaries {
                guard let binary else {
                    unsafe pointers.append(nil)
                    continue
                }
                for (index, byte) in binary.enumerated() {
                    unsafe (block + offset + index).initialize(to: CChar(bitPattern: byte))
                }
                unsafe pointers.append(UnsafePointer(block + offset))
                offset += binary.count
            }
            let lengths = binaries.map { Int32($0?.count ?? 0) }
            let formats = [Int32](repeating: 1, count: values.count)
            return unsafe pointers.withUnsafeBufferPointer { pointers in
                unsafe lengths.withUnsafeBufferPointer { lengths in
                    unsafe formats.withUnsafeBufferPointer { formats in
                        unsafe body(pointers.baseAddress, lengths.baseAddress, formats.baseAddress)
                    }
                }
            }
        }
    }
#endif
