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
    /// Another one with each start, so that nobody can choose ids that meet in one place.
    private let keyed = KeyedHash()

    init() {
        stamps = Stamps(count: 1 << Self.bits)
    }

    /// Where a row stands, here and in memory. No two ids have the same in practice: it is 128 bits, and nobody knows the key.
    func hash(_ user: UnsafeRawBufferPointer, _ environment: StoreEnvironment) -> KeyedHash.Value {
        unsafe keyed.hash(environment.rawValue, user)
    }

    func hash(_ user: UserID, _ environment: StoreEnvironment) -> KeyedHash.Value {
        var text = user.value
        return text.withUTF8 { bytes in unsafe hash(UnsafeRawBufferPointer(bytes), environment) }
    }

    private static func place(of hash: KeyedHash.Value) -> Int {
        Int(truncatingIfNeeded: hash.first >> UInt64(64 - bits))
    }

    /// Whether what was read when `commit` was the newest known commit is still what the database holds.
    func isNewest(_ hash: KeyedHash.Value, asOf commit: Int) -> Bool {
        stamps.load(Self.place(of: hash)) <= commit
            && floor.load(ordering: .acquiring) <= commit
    }

    /// The row was written by this commit.
    func mark(_ hash: KeyedHash.Value, commit: Int) {
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
