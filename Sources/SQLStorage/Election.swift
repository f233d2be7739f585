internal import Entitlements
internal import Platform
internal import Storage

/// How far an election of all rows anew has come.
struct Election {
    var last: PurchaseKey = 0
    var purchases = 0
    var changed = 0
    /// How long to wait for other work before the next step.
    var pauseMillis = 0
    /// How many purchases the next step takes: one at a time where one of them cannot be read.
    var step = SQLWriter.batchMax
    /// A database that takes no write is not asked again at once.
    private static let pauseAfterFailure = 1000

    /// Goes on behind a purchase that cannot be read: it keeps what it gave, and holds up nobody else.
    func after(_ error: StorageError, at keys: [PurchaseKey]) -> Election {
        var next = self
        guard case .damaged(let reason) = error, let last = keys.last else {
            next.pauseMillis = Self.pauseAfterFailure
            return next
        }
        next.pauseMillis = 0
        guard keys.count == 1 else {
            next.step = 1
            return next
        }
        Log.error("a purchase cannot be read", ("purchase", .integer(last)), ("reason", .string(reason)))
        (next.last, next.step) = (last, SQLWriter.batchMax)
        return next
    }
}
