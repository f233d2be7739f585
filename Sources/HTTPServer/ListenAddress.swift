internal import CSystem

/// A numeric Internet address and a TCP port: `127.0.0.1:8080`, `[::1]:8080`, `0.0.0.0:0`.
///
/// Host names are not looked up. `[::]` means every IPv6 address and no IPv4 address: list `0.0.0.0` beside it for
/// both.
public struct ListenAddress: Sendable, Hashable, CustomStringConvertible {
    /// The address without brackets, in its canonical spelling.
    public let host: String
    /// 0 to 65,535; 0 asks the system for a free port.
    public let port: Int

    private let words: [UInt64]
    private let family: UInt8

    /// Reads `host:port`.
    ///
    /// - Throws: `ServerError.malformedAddress` for anything but a numeric address (IPv6 in brackets) and
    ///   a decimal port.
    public init(_ text: String) throws(ServerError) {
        guard let colon = text.utf8.lastIndex(of: UInt8(ascii: ":")) else { throw .malformedAddress(text) }
        var host = text[..<colon]
        let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
        if isBracketed { host = host.dropFirst().dropLast() }
        let digits = text[text.index(after: colon)...]
        guard (1...5).contains(digits.utf8.count), digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let port = UInt16(digits)
        else { throw .malformedAddress(text) }
        var address = csystem_address()
        guard !host.utf8.contains(0), unsafe csystem_address_parse(String(host), &address) == 0,
            isBracketed == (address.family == 6)
        else { throw .malformedAddress(text) }
        address.port = port
        self.init(address)
    }

    init(_ address: csystem_address) {
        host = Self.text(of: address)
        port = Int(address.port)
        words = [address.words.0, address.words.1]
        family = address.family
    }

    /// The spelling `init` reads.
    public var description: String {
        family == 6 ? "[\(host)]:\(port)" : "\(host):\(port)"
    }

    /// The form the system calls take.
    var system: csystem_address {
        csystem_address(words: (words[0], words[1]), port: UInt16(port), family: family)
    }

    /// The address without its port.
    static func text(of address: csystem_address) -> String {
        unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(CSYSTEM_ADDRESS_TEXT_MAX)) { text in
            guard let base = text.baseAddress else { return "" }
            var address = address
            unsafe csystem_address_text(&address, base)
            return unsafe String(cString: base)
        }
    }
}
