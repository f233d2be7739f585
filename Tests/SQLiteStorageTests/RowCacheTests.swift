internal import Entitlements
internal import Testing

@testable internal import SQLStorage
@testable internal import SQLiteStorage

/// Rows in memory: what is kept, what is found, and what counts no more.
struct RowCacheTests {
    private let stamps = RowStamps()

    private func hash(_ user: String, _ environment: StoreEnvironment = .production) -> UInt64 {
        Array(user.utf8).withUnsafeBytes { stamps.hash($0, environment) }
    }

    private func keep(
        _ cache: RowCache,
        _ user: String,
        _ body: [UInt8],
        _ environment: StoreEnvironment = .production,
        version: Int64 = 1,
        asOf commit: Int = 0
    ) {
        Array(user.utf8).withUnsafeBytes { bytes in
            let row = RowView(version: version, updatedAt: UnixMillis(7), body: body.span)
            cache.keep(hash(user, environment), of: bytes, in: environment, row, asOf: commit)
        }
    }

    private func find(_ cache: RowCache, _ user: String, _ environment: StoreEnvironment = .production) -> [UInt8]? {
        Array(user.utf8).withUnsafeBytes { bytes in
            cache.withRow(hash(user, environment), of: bytes, in: environment, stamps) { row in
                switch row {
                case .some(let row):
                    var copy: [UInt8] = []
                    for index in 0..<row.body.count { copy.append(row.body[index]) }
                    return copy
                case .none: return []
                }
            }
        }
    }

    @Test("what is kept is found, by user and environment")
    func found() {
        let cache = RowCache(bytes: 1 << 16)
        keep(cache, "u1", [1, 2, 3])
        keep(cache, "u1", [4], .sandbox)
        #expect(find(cache, "u1") == [1, 2, 3])
        #expect(find(cache, "u1", .sandbox) == [4])
        #expect(find(cache, "u2") == nil)
        keep(cache, "u1", [5, 6])
        #expect(find(cache, "u1") == [5, 6])
    }

    @Test("a row that a later commit has written does not count, its environment apart")
    func written() {
        let cache = RowCache(bytes: 1 << 16)
        keep(cache, "u1", [1], asOf: 4)
        keep(cache, "u1", [2], .sandbox, asOf: 4)
        stamps.mark(UserID(unchecked: "u1"), .production, commit: 5)
        #expect(find(cache, "u1") == nil)
        #expect(find(cache, "u1", .sandbox) == [2])
        // Read in a snapshot from before that commit: the same.
        keep(cache, "u1", [1], asOf: 4)
        #expect(find(cache, "u1") == nil)
        keep(cache, "u1", [3], asOf: 5)
        #expect(find(cache, "u1") == [3])
        stamps.markAll(commit: 6)
        #expect(find(cache, "u1") == nil && find(cache, "u1", .sandbox) == nil)
    }

    @Test("what is too long is not kept, and nothing else is lost for it")
    func long() {
        let cache = RowCache(bytes: 1 << 16)
        keep(cache, "u1", [1])
        keep(cache, "u2", [UInt8](repeating: 7, count: 2000))
        keep(cache, String(repeating: "x", count: 255), [1])
        #expect(find(cache, "u1") == [1])
        #expect(find(cache, "u2") == nil)
    }

    @Test("it never grows: of many rows some are found, each whole")
    func full() {
        let cache = RowCache(bytes: 1 << 15)
        for index in 0..<5000 { keep(cache, "user-\(index)", Array("body-\(index)".utf8)) }
        var kept = 0
        for index in 0..<5000 {
            guard let body = find(cache, "user-\(index)") else { continue }
            #expect(body == Array("body-\(index)".utf8))
            kept += 1
        }
        #expect(kept > 60 && kept * 250 <= 1 << 15, "\(kept) rows are kept")
    }

    @Test("a row that is asked for outlives those that are not")
    func favourites() {
        let cache = RowCache(bytes: 1 << 15)
        keep(cache, "favourite", [1])
        for index in 0..<400 {
            keep(cache, "user-\(index)", [2])
            if find(cache, "favourite") == nil { keep(cache, "favourite", [1]) }
        }
        var found = 0
        for index in 400..<800 {
            keep(cache, "user-\(index)", [2])
            if find(cache, "favourite") != nil { found += 1 } else { keep(cache, "favourite", [1]) }
        }
        #expect(found > 360, "found \(found) times of 400")
    }
}
