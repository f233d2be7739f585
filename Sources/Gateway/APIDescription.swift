internal import CEmbedded
internal import Crypto

/// `schema/openapi.json`, which comes with the program.
struct APIDescription: Sendable {
    static let path = "schema/openapi.json"
    static let embedded = APIDescription()

    let bytes: [UInt8]
    /// Changes with the bytes, so that a tool fetches them once a version.
    let tag: [UInt8]

    private init() {
        var found: [UInt8] = []
        for index in 0..<embedded_file_count() {
            // Path and bytes are constants of the program.
            let file = unsafe embedded_file_at(index)
            guard unsafe String(cString: file.path) == Self.path else { continue }
            unsafe found = [UInt8](UnsafeBufferPointer(start: file.bytes, count: file.size))
        }
        bytes = found
        tag = Array("\"\(Digest.sha256Hex(found).prefix(32))\"".utf8)
    }
}
