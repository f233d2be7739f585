internal import Entitlements
internal import Platform
internal import SQLStorage
internal import Storage

/// Looks at everyone once a day, and at the start after the gateway was not there for more than an hour: webhooks of that
/// time may never come again. Where no provider can be asked there is nothing to do, and nothing is written.
final class ReconcileSchedule: Sendable {
    private static let everyHours: Int64 = 24
    /// Providers send again for at least so long what was not taken.
    private static let stopHours: Int64 = 1
    /// When a look did not reach everyone.
    private static let againHours: Int64 = 1
    private static let aliveSeconds = 60
    private static let patienceSeconds = 600
    private static let hour: Int64 = 3_600_000

    private let mailbox: Mailbox<Bool>
    private let thread: WorkerThread

    /// Nil where no provider can be asked.
    init?(_ sync: ProviderSync, _ store: any Store) throws(SystemError) {
        guard sync.canAsk else { return nil }
        let mailbox = try Mailbox<Bool>(capacity: 1)
        self.mailbox = mailbox
        thread = try WorkerThread.start(name: "reconcile") {
            do {
                try Self.run(sync, store, mailbox)
            } catch {
                Log.error("nobody looks after lost webhooks", ("reason", .string("\(error)")))
            }
        }
    }

    /// Ends the thread, in the middle of a look as well: it goes on at the next start.
    func stop() {
        mailbox.close()
        thread.join()
    }

    private static func run(_ sync: ProviderSync, _ store: any Store, _ mailbox: Mailbox<Bool>) throws {
        let reader = try store.makeReader()
        var dueAt = try firstDue(reader)
        reader.letGo()
        var hadLease = store.hasLease
        while !mailbox.isClosed {
            let now = wallClockMillis()
            let hasLease = store.hasLease
            // Whoever did it before is gone, and has left word of how far it came.
            if hasLease, !hadLease, let due = try? firstDue(reader) { dueAt = due }
            hadLease = hasLease
            if dueAt <= now, hasLease {
                dueAt = now + (look(sync, store, mailbox) ? everyHours : againHours) * hour
            } else {
                stayAlive(store)
                // A clock that was set back must not put it off for longer than a day.
                dueAt = min(dueAt, now + everyHours * hour)
            }
            _ = mailbox.wait(milliseconds: aliveSeconds * 1000)
        }
        stayAlive(store)
    }

    /// When the first look is due, in milliseconds since 1970.
    private static func firstDue(_ reader: any SQLReading) throws(StorageError) -> Int64 {
        func moment(_ memory: StoreMemory) throws(StorageError) -> Int64? {
            try reader.remembered(memory).flatMap { Int64($0) }
        }
        let now = wallClockMillis()
        if try reader.remembered(.reconcilePlace) != nil {
            Log.info("a look at everyone was cut off and goes on")
            return now
        }
        if let alive = try moment(.lastAlive), now - alive > stopHours * hour {
            Log.info(
                "the gateway was not there: everyone is looked at",
                ("hours", .integer((now - alive) / hour))
            )
            return now
        }
        guard let last = try moment(.reconciledAt), last <= now else { return now + everyHours * hour }
        return last + everyHours * hour
    }

    private static func stayAlive(_ store: any Store) {
        // One that is not written makes the next start look once too often, never once too seldom.
        _ = store.submit(.remember(.lastAlive, String(wallClockMillis()))) { _ in }
    }

    /// True when everyone could be looked at.
    private static func look(_ sync: ProviderSync, _ store: any Store, _ mailbox: Mailbox<Bool>) -> Bool {
        var options = ReconcileOptions()
        options.isPatient = true
        options.patienceSeconds = patienceSeconds
        var alive = MonotonicNanos.now()
        do {
            let look = try Reconciliation(sync, store, options) { mailbox.isClosed }
            let report = try look.run { _ in
                guard alive.adding(seconds: aliveSeconds) <= .now() else { return }
                alive = .now()
                stayAlive(store)
            } found: { _ in
            }
            guard report.isComplete else { return false }
            Log.info(
                "everyone was looked at",
                ("looked", .integer(Int64(report.looked))),
                ("mended", .integer(Int64(report.differenceCount))),
                ("left_out", .integer(Int64(report.unreadCount)))
            )
            return report.isWhole
        } catch {
            Log.error("a look at everyone failed", ("reason", .string("\(error)")))
            return false
        }
    }
}
