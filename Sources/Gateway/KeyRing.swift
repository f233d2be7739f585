internal import Crypto

/// Who may call what.
enum KeyScope: UInt8, Sendable, Comparable {
    /// The gate.
    case read = 0
    /// Everything.
    case admin = 1

    static func < (left: KeyScope, right: KeyScope) -> Bool {
        left.rawValue < right.rawValue
    }
}

/// The keys of callers, by digest: what is compared is never a key itself, and every comparison takes the same time.
struct KeyRing: Sendable {
    struct Key: Sendable {
        /// What the audit says instead of the key.
        var id: String
        var scope: KeyScope
        var digest: [UInt8]
    }

    private let keys: [Key]

    init(_ keys: [Key]) {
        self.keys = keys
    }

    var isEmpty: Bool { keys.isEmpty }

    /// A key that is longer than this is none of ours.
    static let bytesMax = 512

    /// The key that was presented; nil for one that is not known.
    func find(_ presented: UnsafeRawBufferPointer) -> Key? {
        guard presented.count > 0, presented.count <= Self.bytesMax else { return nil }
        let digest = unsafe Digest.sha256(presented)
        var found: Key?
        for key in keys where ConstantTime.equal(key.digest, digest) {
            if found.map({ $0.scope < key.scope }) ?? true { found = key }
        }
        return found
    }
}
