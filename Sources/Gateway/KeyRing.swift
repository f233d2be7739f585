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
        unsafe index(of: presented).map { keys[$0] }
    }

    /// What the presented key may do; nil for one that is not known. Makes no copy of the key's record.
    func scope(of presented: UnsafeRawBufferPointer) -> KeyScope? {
        unsafe index(of: presented).map { keys[$0].scope }
    }

    /// All keys are compared, so that the time says nothing about which one it was.
    private func index(of presented: UnsafeRawBufferPointer) -> Int? {
        guard presented.count > 0, presented.count <= Self.bytesMax else { return nil }
        var found: Int?
        unsafe Digest.withSHA256(of: presented) { digest in
            for index in keys.indices {
                let isEqual = unsafe keys[index].digest.withUnsafeBytes { unsafe ConstantTime.equal($0, digest) }
                guard isEqual else { continue }
                if found.map({ keys[$0].scope < keys[index].scope }) ?? true { found = index }
            }
        }
        return found
    }
}
