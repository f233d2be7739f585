#if Postgres
    /// How texts and statements are said to PostgreSQL.
    enum PostgresText {
        /// A text as it is kept. PostgreSQL takes no NUL in a text: it becomes two bytes 1, and a byte 1 becomes 1 and 2. No two
        /// texts become one, and the order of the bytes stays.
        static func encoded(_ text: String) -> [UInt8] {
            var bytes: [UInt8] = []
            bytes.reserveCapacity(text.utf8.count)
            for byte in text.utf8 {
                switch byte {
                case 0: bytes += [1, 1]
                case 1: bytes += [1, 2]
                default: bytes.append(byte)
                }
            }
            return bytes
        }

        static func decoded(_ bytes: UnsafeRawBufferPointer) -> String {
            guard unsafe bytes.contains(1) else { return unsafe String(decoding: bytes, as: UTF8.self) }
            var plain: [UInt8] = []
            var isEscaped = false
            for index in 0..<bytes.count {
                let byte = unsafe bytes[index]
                if isEscaped {
                    plain.append(byte - 1)
                    isEscaped = false
                } else if byte == 1 {
                    isEscaped = true
                } else {
                    plain.append(byte)
                }
            }
            return String(decoding: plain, as: UTF8.self)
        }

        /// A statement with `$1` in place of `?` and `?1`. Texts in quotes stay as they are.
        static func translated(_ sql: String) -> String {
            var result: [UInt8] = []
            result.reserveCapacity(sql.utf8.count + 8)
            var isQuoted = false
            var isAfterMark = false
            var last = 0
            for byte in sql.utf8 {
                if isAfterMark {
                    isAfterMark = false
                    // A mark with a number of its own keeps it.
                    if !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) {
                        last += 1
                        result += String(last).utf8
                    }
                }
                if byte == UInt8(ascii: "'") { isQuoted.toggle() }
                if byte == UInt8(ascii: "?"), !isQuoted {
                    result.append(UInt8(ascii: "$"))
                    isAfterMark = true
                } else {
                    result.append(byte)
                }
            }
            if isAfterMark { result += String(last + 1).utf8 }
            return String(decoding: result, as: UTF8.self)
        }
    }
#endif
