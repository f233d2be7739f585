internal import HTTPServer

/// Where a request comes from, as far as it can be known.
enum ClientAddress {
    /// The peer's address; behind proxies that are trusted the last address in `X-Forwarded-For` that none of them has.
    /// What stands further to the left was written by somebody who is not trusted.
    static func of(_ request: Request, trusting proxies: [AddressRange]) -> String {
        let peer = request.peerAddress
        guard isTrusted(peer, proxies) else { return peer }
        // A proxy may add a field of its own behind what the client has sent.
        var forwarded = ""
        unsafe request.forEachHeader("X-Forwarded-For") { field in
            forwarded += unsafe "," + String(decoding: field, as: UTF8.self)
        }
        return client(peer: peer, forwarded: forwarded, trusting: proxies)
    }

    static func client(peer: String, forwarded: String, trusting proxies: [AddressRange]) -> String {
        guard isTrusted(peer, proxies) else { return peer }
        var last = peer
        for part in forwarded.split(separator: ",").reversed() {
            var address = part.filter { $0 != " " && $0 != "\t" && $0 != "\"" }
            if address.hasPrefix("["), let end = address.firstIndex(of: "]") {
                address = String(address[address.index(after: address.startIndex)..<end])
            } else if address.filter({ $0 == ":" }).count == 1, let colon = address.firstIndex(of: ":") {
                address = String(address[..<colon])
            }
            guard AddressRange.bytes(of: address) != nil else { return last }
            last = address
            if !isTrusted(address, proxies) { return address }
        }
        return last
    }

    private static func isTrusted(_ address: String, _ proxies: [AddressRange]) -> Bool {
        proxies.contains { $0.contains(address) }
    }

    /// What is counted together: an IPv4 address, or the /64 network that one customer of a provider has of IPv6.
    static func countedAs(_ address: String) -> [UInt8] {
        guard let bytes = AddressRange.bytes(of: address) else { return Array(address.utf8.prefix(64)) }
        return bytes.count == 16 ? Array(bytes.prefix(8)) : bytes
    }
}
