internal import Crypto
internal import Entitlements
internal import Synchronization

/// When rows were last written, told by commits: how a reader knows that a row it keeps is still the newest.
///
/// Written by the writer after COMMIT and before anyone is told of it, read by every reader, without a lock. Rows share
/// stamps: a row whose neighbour was written is read once more than needed, never once too seldom.
final class RowStamps: Sendable {
    private static let bits = 15

    /// The number of the commit that last wrote a row of this place.
    private let stamps: Stamps
    /// Nothing from before this commit counts any more.
    private let floor = Atomic<Int>(0)
    private let seed: UInt64

    init() {
        stamps = Stamps(count: 1 << Self.bits)
        seed = RandomBytes.make(8).reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// Where a row stands. The seed is another with each start, so that nobody can choose ids that meet in one place.
    func hash(_ user: UnsafeRawBufferPointer, _ environment: StoreEnvironment) -> UInt64 {
        var hash = seed ^ UInt64(environment.rawValue) ^ (UInt64(user.count) << 8)
        var index = 0
        while index &+ 8 <= user.count {
            let word = unsafe user.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            hash = Self.mix(hash ^ word)
            index &+= 8
        }
        var rest: UInt64 = 0
        while index < user.count {
            rest = unsafe rest << 8 | UInt64(user[index])
            index &+= 1
        }
        return Self.mix(hash ^ rest)
    }

    private static func place(of hash: UInt64) -> Int {
        Int(truncatingIfNeeded: hash >> UInt64(64 - bits))
    }

    private static func mix(_ value: UInt64) -> UInt64 {
        let product = value.multipliedFullWidth(by: 0x9E37_79B9_7F4A_7C15)
        return product.high ^ product.low
    }

    /// Whether what was read when `commit` was the newest known commit is still what the database holds.
    func isNewest(_ hash: UInt64, asOf commit: Int) -> Bool {
        stamps.load(Self.place(of: hash)) <= commit
            && floor.load(ordering: .acquiring) <= commit
    }

    /// The row was written by this commit.
    func mark(_ user: UserID, _ environment: StoreEnvironment, commit: Int) {
        var text = user.value
        let hash = text.withUTF8 { bytes in unsafe self.hash(UnsafeRawBufferPointer(bytes), environment) }
        stamps.store(commit, at: Self.place(of: hash))
    }

    /// Any row may have been written.
    func markAll(commit: Int) {
        floor.store(commit, ordering: .releasing)
    }
}

/// A fixed number of atomics side by side.
@safe
private final class Stamps: @unchecked Sendable {
    // The memory is neither moved nor freed while the object lives, and every place in it is an atomic.
    private let base: UnsafeMutablePointer<Atomic<Int>>
    private let count: Int

    init(count: Int) {
        self.count = count
        unsafe base = .allocate(capacity: count)
        for index in 0..<count { unsafe (base + index).initialize(to: Atomic(0)) }
    }

    deinit {
        unsafe base.deinitialize(count: count)
        unsafe base.deallocate()
    }

    func load(_ index: Int) -> Int {
        precondition(index >= 0 && index < count)
        return unsafe base[index].load(ordering: .acquiring)
    }

    func store(_ value: Int, at index: Int) {
        precondition(index >= 0 && index < count)
        unsafe base[index].store(value, ordering: .releasing)
    }
}
