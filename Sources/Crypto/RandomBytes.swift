internal import COpenSSL

/// Unpredictable bytes for keys and ids (`RAND_bytes`).
public enum RandomBytes {
    public static func make(_ count: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        // OpenSSL writes exactly `count` bytes into the buffer it is given.
        let done = unsafe bytes.withUnsafeMutableBufferPointer { unsafe RAND_bytes($0.baseAddress, Int32(count)) }
        precondition(done == 1, "the system gives no random bytes")
        return bytes
    }
}
