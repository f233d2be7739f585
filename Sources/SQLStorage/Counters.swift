internal import Entitlements

/// What a transaction counts as it goes, and what would be written with every event otherwise.
struct Counters {
    /// The last version given.
    var version: Int64 = 0
    /// When the newest event of each provider came.
    var arrivals: [ProviderID: UnixMillis] = [:]
    /// Rows that were not there before.
    var rowsMade: [StoreEnvironment: Int64] = [:]
}
