internal import Foundation

/// An IP address, or a range of them such as `10.0.0.0/8`.
public struct AddressRange: Hashable, Sendable {
    private let bytes: [UInt8]
    private let bits: Int

    /// Nil when the text is neither.
    public init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count <= 2, let bytes = Self.bytes(of: String(parts[0])) else { return nil }
        self.bytes = bytes
        guard parts.count == 2 else {
            bits = bytes.count * 8
            return
        }
        guard let bits = Int(parts[1]), (0...bytes.count * 8).contains(bits) else { return nil }
        self.bits = bits
    }

    public func contains(_ address: String) -> Bool {
        guard let other = Self.bytes(of: address), other.count == bytes.count else { return false }
        for index in 0..<bits where (bytes[index / 8] ^ other[index / 8]) & (0x80 >> UInt8(index % 8)) != 0 {
            return false
        }
        return true
    }

    /// The bytes of a numeric address, one of IPv4 inside IPv6 as IPv4; nil for anything else.
    static func bytes(of address: String) -> [UInt8]? {
        var four = [UInt8](repeating: 0, count: 4)
        // `inet_pton` writes 4 bytes for IPv4 and 16 for IPv6 into buffers of that size.
        if unsafe inet_pton(AF_INET, address, &four) == 1 { return four }
        var sixteen = [UInt8](repeating: 0, count: 16)
        let zone = address.split(separator: "%", maxSplits: 1).first.map(String.init) ?? address
        guard unsafe inet_pton(AF_INET6, zone, &sixteen) == 1 else { return nil }
        let isMapped = sixteen.prefix(10).allSatisfy { $0 == 0 } && sixteen[10] == 0xff && sixteen[11] == 0xff
        return isMapped ? Array(sixteen[12...]) : sixteen
    }
}
