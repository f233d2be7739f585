internal import Entitlements
internal import SQLStorage
internal import Storage

/// Rows that were read, in one block of memory that never grows. Belongs to one reader.
///
/// A row has four places, found by its hash; a new one takes a free place, else one that was not asked for since it was last
/// passed over. Whether a row is still the newest is not decided here, but with each read by `RowStamps`.
@safe
final class RowCache {
    private struct Place {
        /// Zero: nothing is kept here.
        var hash: UInt64 = 0
        /// The newest commit known when the row was read.
        var commit = 0
        var version: Int64 = 0
        var updatedAt: Int64 = 0
        var environment: UInt8 = 0
        var userCount: UInt8 = 0
        var bodyCount: UInt16 = 0
        var wasAsked = false
    }

    private static let ways = 4
    /// Room for an id and a body: a UUID and a purchase of a web provider take 170 bytes, one with a management URL 230.
    /// What is longer is read from the database each time.
    private static let textBytes = 216

    private let sets: Int
    private let places: UnsafeMutablePointer<Place>
    private let texts: UnsafeMutableRawPointer

    /// - Parameter bytes: What it may take, all told.
    init(bytes: Int) {
        sets = max(1, bytes / ((MemoryLayout<Place>.stride + Self.textBytes) * Self.ways))
        unsafe places = .allocate(capacity: sets * Self.ways)
        unsafe places.initialize(repeating: Place(), count: sets * Self.ways)
        // Not touched before it is needed, so that an idle gateway does not hold it.
        unsafe texts = .allocate(byteCount: sets * Self.ways * Self.textBytes, alignment: 16)
    }

    deinit {
        unsafe places.deallocate()
        unsafe texts.deallocate()
    }

    private func firstPlace(_ hash: UInt64) -> Int {
        Int(truncatingIfNeeded: ((hash & 0xFFFF_FFFF) &* UInt64(sets)) >> 32) &* Self.ways
    }

    /// Calls `body` with the row if it is kept and still the newest; nil when it is not.
    func withRow<Value>(
        _ hash: UInt64,
        of user: UnsafeRawBufferPointer,
        in environment: StoreEnvironment,
        _ stamps: RowStamps,
        _ body: (borrowing RowView?) -> Value
    ) -> Value? {
        let first = firstPlace(hash)
        for index in first..<first &+ Self.ways where unsafe places[index].hash == hash {
            let place = unsafe places[index]
            let text = unsafe texts + index &* Self.textBytes
            guard place.environment == environment.rawValue, Int(place.userCount) == user.count,
                unsafe isEqual(user, text), stamps.isNewest(hash, asOf: place.commit)
            else { continue }
            if !place.wasAsked { unsafe places[index].wasAsked = true }
            let bytes = unsafe UnsafeRawBufferPointer(start: text + user.count, count: Int(place.bodyCount))
            let span = unsafe bytes.assumingMemoryBound(to: UInt8.self)
            return unsafe body(
                RowView(version: place.version, updatedAt: UnixMillis(place.updatedAt), body: span.span)
            )
        }
        return nil
    }

    private func isEqual(_ user: UnsafeRawBufferPointer, _ text: UnsafeMutableRawPointer) -> Bool {
        for index in 0..<user.count
        where unsafe user[index] != text.load(fromByteOffset: index, as: UInt8.self) { return false }
        return true
    }

    /// Keeps a row that was just read.
    ///
    /// - Parameter commit: The newest commit known before the row was read.
    func keep(
        _ hash: UInt64,
        of user: UnsafeRawBufferPointer,
        in environment: StoreEnvironment,
        _ row: borrowing RowView,
        asOf commit: Int
    ) {
        let count = user.count + row.body.count
        guard hash != 0, count <= Self.textBytes, let source = user.baseAddress else { return }
        let index = placeToTake(hash)
        let text = unsafe texts + index &* Self.textBytes
        unsafe text.copyMemory(from: source, byteCount: user.count)
        unsafe row.body.withUnsafeBytes { bytes in
            guard let body = bytes.baseAddress else { return }
            unsafe (text + user.count).copyMemory(from: body, byteCount: bytes.count)
        }
        unsafe places[index] = Place(
            hash: hash,
            commit: commit,
            version: row.version,
            updatedAt: row.updatedAt.value,
            environment: environment.rawValue,
            userCount: UInt8(truncatingIfNeeded: user.count),
            bodyCount: UInt16(truncatingIfNeeded: row.body.count)
        )
    }

    /// The row's own place from before, a free one, or the first that was not asked for.
    private func placeToTake(_ hash: UInt64) -> Int {
        let first = firstPlace(hash)
        for index in first..<first &+ Self.ways where unsafe places[index].hash == hash { return index }
        for index in first..<first &+ Self.ways where unsafe places[index].hash == 0 { return index }
        for index in first..<first &+ Self.ways {
            if unsafe !places[index].wasAsked { return index }
            unsafe places[index].wasAsked = false
        }
        // All were asked for. Which one goes is as good as drawn by lot, since the hashes are.
        return first &+ Int(truncatingIfNeeded: hash >> 33) % Self.ways
    }
}
