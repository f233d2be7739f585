/// Looks at what comes before anything is encrypted, so that a stranger cannot make OpenSSL set aside 128 KiB by naming the
/// length of a greeting that never comes (RFC 8446 section 5.1: records; section 4: messages).
///
/// A value without I/O. It sees every byte of the handshake once, however they are cut into pieces.
struct HelloGuard {
    enum Verdict: Equatable {
        case fine
        /// It begins like text: somebody speaks plain HTTP here.
        case plainText
        /// No TLS, or a greeting that is too long.
        case refused
    }

    /// A greeting with keys for post-quantum groups and a ticket is about 2 KiB.
    static let helloBytesMax = 16 << 10

    private static let cipherChange: UInt8 = 20
    private static let handshake: UInt8 = 22
    private static let encrypted: UInt8 = 23
    private static let clientHello: UInt8 = 1

    /// Nothing more is looked at: what comes is encrypted.
    private(set) var isOver = false
    private var isFirst = true
    private var headerCount = 0
    private var recordType: UInt8 = 0
    private var lengthHigh: UInt8 = 0
    private var recordLeft = 0
    private var messageHeaderCount = 0
    private var messageType: UInt8 = 0
    private var messageLength = 0
    private var messageLeft = 0

    /// - Parameter endsAtCipherChange: Whether all that follows a change of ciphers is encrypted. So it is in TLS 1.2; in
    ///   1.3 that record means nothing, and a second greeting may follow.
    mutating func take(_ bytes: UnsafeRawBufferPointer, endsAtCipherChange: Bool) -> Verdict {
        if isOver { return .fine }
        for index in 0..<bytes.count {
            let byte = unsafe bytes[index]
            if recordLeft == 0 {
                if isFirst, byte != Self.handshake {
                    return (0x41...0x5A).contains(byte & 0xDF) ? .plainText : .refused
                }
                isFirst = false
                takeRecordHeader(byte)
                if headerCount == 1,
                    byte == Self.encrypted || (byte == Self.cipherChange && endsAtCipherChange)
                {
                    isOver = true
                    return .fine
                }
            } else {
                recordLeft -= 1
                if recordType == Self.handshake, !takeMessage(byte) { return .refused }
            }
        }
        return .fine
    }

    /// Type, version, and the length in two bytes.
    private mutating func takeRecordHeader(_ byte: UInt8) {
        headerCount += 1
        switch headerCount {
        case 1: recordType = byte
        case 4: lengthHigh = byte
        case 5:
            recordLeft = Int(lengthHigh) << 8 | Int(byte)
            headerCount = 0
        default: break
        }
    }

    /// Type, and the length in three bytes; false for a greeting that is too long.
    private mutating func takeMessage(_ byte: UInt8) -> Bool {
        if messageLeft > 0 {
            messageLeft -= 1
            return true
        }
        messageHeaderCount += 1
        if messageHeaderCount == 1 {
            messageType = byte
            messageLength = 0
            return true
        }
        messageLength = messageLength << 8 | Int(byte)
        guard messageHeaderCount == 4 else { return true }
        messageHeaderCount = 0
        messageLeft = messageLength
        return messageType != Self.clientHello || messageLength <= Self.helloBytesMax
    }
}
