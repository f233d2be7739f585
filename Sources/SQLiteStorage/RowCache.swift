internal import Crypto
internal import Entitlements
internal import Platform
internal import SQLStorage
internal import Storage
internal import Synchronization

/// Rows that were read, in one block of memory that never grows, for all readers of the process.
///
/// A row has two places, by its hash: buckets of 64 words. The first word of a bucket says what its rows are worth (see
/// `Header`); the rows follow one behind the other, packed (see `PackedRow`). Nobody ever waits: a reader copies a row and
/// then looks whether the bucket is as it was; who wants to keep a row leaves it when somebody else changes the bucket; the
/// writer takes all rows of a bucket away with one atomic operation, and never less than the rows it has written.
@safe
final class RowCache: @unchecked Sendable {
    // All that threads share are atomics. `words` is neither moved nor freed while the object lives.
    private static let bucketWords = 64
    /// As many as the header has marks for.
    private static let rowsMax = 14

    /// The first word of a bucket.
    private struct Header {
        static let locked: UInt64 = 1
        /// A row of this bucket was written: none of its rows counts.
        static let stale: UInt64 = 2
        /// Which of the rows were asked for since room was last made.
        static let asked: UInt64 = ((1 << 14) - 1) << 2
        /// Counts changes of the bucket.
        static let change: UInt64 = 1 << 16
        static let changes: UInt64 = 0xFF_FFFF << 16
        static let epochShift: UInt64 = 40

        static func mark(_ row: Int) -> UInt64 { 1 << UInt64(row &+ 2) }
    }

    let templates: RowTemplates
    private let buckets: Int
    private let words: UnsafeMutablePointer<Atomic<UInt64>>
    /// Rows of another epoch do not count. 24 bits of it stand in each header.
    private let epoch = Atomic<UInt64>(1)

    /// - Parameter bytes: What it may take, all told.
    /// - Returns: Nil when there is no memory.
    init?(bytes: Int) {
        buckets = max(2, bytes / (Self.bucketWords * 8))
        guard let templates = RowTemplates(), let words = unsafe makeSharedWords(buckets * Self.bucketWords) else {
            return nil
        }
        self.templates = templates
        unsafe self.words = words
    }

    deinit {
        unsafe freeSharedWords(words)
    }

    @inline(__always)
    private func bucket(_ bits: UInt64) -> UnsafeMutablePointer<Atomic<UInt64>> {
        unsafe words + Int(truncatingIfNeeded: (bits &* UInt64(buckets)) >> 32) &* Self.bucketWords
    }

    @inline(__always)
    private func places(
        _ hash: KeyedHash.Value
    ) -> (UnsafeMutablePointer<Atomic<UInt64>>, UnsafeMutablePointer<Atomic<UInt64>>) {
        unsafe (bucket(hash.first >> 32), bucket(hash.second >> 32))
    }

    // MARK: - Finding

    /// Copies the row into `packed` if it is kept; false when it is not.
    func find(_ hash: KeyedHash.Value, _ packed: PackedRow) -> Bool {
        let (left, right) = unsafe places(hash)
        let now = epoch.load(ordering: .acquiring)
        // Both are asked for before one is looked at: memory answers both at once.
        let (first, second) = unsafe (left[0].load(ordering: .acquiring), right[0].load(ordering: .acquiring))
        return unsafe copy(hash, left, first, now, into: packed) || copy(hash, right, second, now, into: packed)
    }

    private func counts(_ header: UInt64, _ now: UInt64) -> Bool {
        header & (Header.locked | Header.stale) == 0 && header >> Header.epochShift == now & 0xFF_FFFF
    }

    private func copy(
        _ hash: KeyedHash.Value,
        _ bucket: UnsafeMutablePointer<Atomic<UInt64>>,
        _ header: UInt64,
        _ now: UInt64,
        into packed: PackedRow
    ) -> Bool {
        guard counts(header, now) else { return false }
        var place = 1
        var row = 0
        while place &+ PackedRow.headWords <= Self.bucketWords {
            let word = unsafe bucket[place].load(ordering: .relaxed)
            let count = PackedRow.Layout(word).words
            // The end; or somebody changes the bucket just now.
            guard count >= PackedRow.headWords, place &+ count <= Self.bucketWords else { return false }
            if (word ^ hash.first << 32) >> 32 == 0,
                unsafe bucket[place &+ 1].load(ordering: .relaxed) == hash.second
            {
                for index in 0..<count {
                    unsafe packed.words[index] = bucket[place &+ index].load(ordering: .relaxed)
                }
                atomicMemoryFence(ordering: .acquiring)
                let after = unsafe bucket[0].load(ordering: .relaxed)
                guard (after ^ header) & ~Header.asked == 0 else { return false }
                if header & Header.mark(row) == 0 {
                    // Lost when somebody changes the header at this moment; the next who asks sets it.
                    _ = unsafe bucket[0].weakCompareExchange(
                        expected: after,
                        desired: after | Header.mark(row),
                        ordering: .relaxed
                    )
                }
                return true
            }
            place &+= count
            row &+= 1
        }
        return false
    }

    // MARK: - Keeping

    /// Keeps a row that was just read, if nobody has written it since and nobody else changes its place now.
    ///
    /// - Parameter commit: The newest commit known before the row was read.
    func keep(
        _ hash: KeyedHash.Value,
        _ row: borrowing RowView,
        asOf commit: Int,
        _ stamps: RowStamps,
        _ packed: PackedRow
    ) {
        guard let count = packed.pack(hash, row) else { return }
        let (left, right) = unsafe places(hash)
        let now = epoch.load(ordering: .acquiring)
        let rooms = unsafe (room(left, now), room(right, now))
        let bucket = unsafe rooms.0 >= rooms.1 ? left : right
        let header = unsafe bucket[0].load(ordering: .relaxed)
        guard header & Header.locked == 0,
            unsafe bucket[0].compareExchange(
                expected: header,
                desired: (header | Header.locked) & ~Header.stale,
                ordering: .acquiringAndReleasing
            ).exchanged
        else { return }
        // From here on until the header is stored nobody else writes to the bucket, save that it is stale. The epoch and
        // the stamps are read after that: what the writer told before it made the bucket stale is seen here, and what it
        // tells later makes the bucket stale again.
        atomicMemoryFence(ordering: .sequentiallyConsistent)
        let epoch = epoch.load(ordering: .acquiring) & 0xFF_FFFF
        var rows = Rows()
        if header & Header.stale == 0, header >> Header.epochShift == epoch {
            unsafe rows.read(bucket, header & Header.asked)
        }
        if stamps.isNewest(hash, asOf: commit) {
            unsafe rows.makeRoom(count, bucket)
            for index in 0..<count {
                unsafe bucket[rows.end + index].store(packed.words[index], ordering: .relaxed)
            }
            rows.end += count
        }
        if rows.end < Self.bucketWords { unsafe bucket[rows.end].store(0, ordering: .relaxed) }
        let change = (header &+ Header.change) & Header.changes
        let settled = epoch << Header.epochShift | change | rows.asked
        var current = unsafe bucket[0].load(ordering: .relaxed)
        while true {
            let result = unsafe bucket[0].weakCompareExchange(
                expected: current,
                desired: settled | current & Header.stale,
                ordering: .releasing
            )
            if result.exchanged { return }
            current = result.original
        }
    }

    /// Free words of a bucket, as far as can be told without being alone there.
    private func room(_ bucket: UnsafeMutablePointer<Atomic<UInt64>>, _ now: UInt64) -> Int {
        let header = unsafe bucket[0].load(ordering: .acquiring)
        guard counts(header, now) else {
            return header & Header.locked == 0 ? Self.bucketWords : -1
        }
        var place = 1
        while place < Self.bucketWords {
            let count = unsafe PackedRow.Layout(bucket[place].load(ordering: .relaxed)).words
            if count < PackedRow.headWords { break }
            place += count
        }
        return Self.bucketWords - place
    }

    /// The rows of a bucket that nobody else changes.
    private struct Rows {
        var asked: UInt64 = 0
        /// The first free word.
        var end = 1
        private var count = 0

        mutating func read(_ bucket: UnsafeMutablePointer<Atomic<UInt64>>, _ asked: UInt64) {
            self.asked = asked
            while end < RowCache.bucketWords {
                let words = unsafe PackedRow.Layout(bucket[end].load(ordering: .relaxed)).words
                guard words >= PackedRow.headWords, end + words <= RowCache.bucketWords else { break }
                end += words
                count += 1
            }
        }

        /// Takes rows away until `words` are free: the oldest that were not asked for since they were last passed over,
        /// and when there are too few, the oldest.
        mutating func makeRoom(_ words: Int, _ bucket: UnsafeMutablePointer<Atomic<UInt64>>) {
            while end + words > RowCache.bucketWords || count == RowCache.rowsMax {
                unsafe pass(words, bucket)
            }
            count += 1
        }

        /// Goes once through the rows and takes away what was not asked for, as long as there is no room.
        private mutating func pass(_ words: Int, _ bucket: UnsafeMutablePointer<Atomic<UInt64>>) {
            var (from, to, kept) = (1, 1, 0)
            var keptAsked: UInt64 = 0
            var missing = max(end + words - RowCache.bucketWords, count == RowCache.rowsMax ? 1 : 0)
            for row in 0..<count {
                let size = unsafe PackedRow.Layout(bucket[from].load(ordering: .relaxed)).words
                let isAsked = asked & Header.mark(row) != 0
                if missing > 0, !isAsked {
                    missing -= size
                } else {
                    if missing <= 0, isAsked { keptAsked |= Header.mark(kept) }
                    if from != to {
                        for index in 0..<size {
                            let word = unsafe bucket[from + index].load(ordering: .relaxed)
                            unsafe bucket[to + index].store(word, ordering: .relaxed)
                        }
                    }
                    to += size
                    kept += 1
                }
                from += size
            }
            (end, count, asked) = (to, kept, keptAsked)
        }
    }

    // MARK: - Forgetting

    /// The row was written: from here on nobody finds what was read before. To be called after the row's stamp is set.
    func forget(_ hash: KeyedHash.Value) {
        let (left, right) = unsafe places(hash)
        unsafe left[0].bitwiseOr(Header.stale, ordering: .sequentiallyConsistent)
        unsafe right[0].bitwiseOr(Header.stale, ordering: .sequentiallyConsistent)
    }

    /// Any row may have been written. To be called after the stamps have a new floor, by one thread only.
    func forgetAll() {
        let next = epoch.load(ordering: .relaxed) + 1
        epoch.store(next, ordering: .sequentiallyConsistent)
        // The headers have 24 bits of it; rows from a whole turn before must not come back.
        guard next & 0xFF_FFFF == 0 else { return }
        for bucket in 0..<buckets {
            unsafe words[bucket * Self.bucketWords].bitwiseOr(Header.stale, ordering: .sequentiallyConsistent)
        }
    }
}
