internal import Platform
package import Storage

/// Tells of changed keys while the gateway runs: another process may make and revoke them in the same database.
///
/// On a thread of its own with a connection of its own, so that no loop looks into the database for keys.
package final class KeyWatch: Sendable {
    /// A changed key counts everywhere after this long at the latest.
    private static let lookMillis = 500

    private enum Message: Sendable {}

    private let mailbox: Mailbox<Message>
    private let thread: WorkerThread

    private init(mailbox: Mailbox<Message>, thread: WorkerThread) {
        self.mailbox = mailbox
        self.thread = thread
    }

    /// - Parameter known: The keys that are in use already.
    /// - Parameter onChange: Called on the watching thread with every key that is not revoked.
    package static func start(
        location: any DatabaseLocation,
        known: [KeyRecord],
        onChange: @escaping @Sendable ([KeyRecord]) -> Void
    ) throws(StorageError) -> KeyWatch {
        do throws(SystemError) {
            let mailbox = try Mailbox<Message>(capacity: 1)
            let thread = try WorkerThread.start(name: "keys") {
                var look = Look(location: location, known: known)
                while !mailbox.isClosed {
                    if let keys = look.changed() { onChange(keys) }
                    _ = mailbox.wait(milliseconds: lookMillis)
                }
            }
            return KeyWatch(mailbox: mailbox, thread: thread)
        } catch {
            throw .unavailable("\(error)")
        }
    }

    package func stop() {
        mailbox.close()
        thread.join()
    }
}

/// The watching thread's own view of the database.
private struct Look {
    let location: any DatabaseLocation
    var known: [KeyRecord]
    /// Nil before the first look, and after one that failed.
    private var connection: (any SQLDatabase)?
    private var seen: Int64?
    /// A failure is told once, not with every look.
    private var isFailing = false

    init(location: any DatabaseLocation, known: [KeyRecord]) {
        self.location = location
        self.known = known
    }

    /// The keys, when they are other ones than at the last look.
    ///
    /// A look that fails changes nothing and is made again: the keys that were good stay good.
    mutating func changed() -> [KeyRecord]? {
        do throws(StorageError) {
            let database = try open()
            let mark = try database.commitMark()
            isFailing = false
            // The mark moves with every commit of any other connection: the keys are read only then.
            if let mark, mark == seen { return nil }
            let keys = try KeyRecords.active(in: database)
            seen = mark
            guard keys != known else { return nil }
            known = keys
            return keys
        } catch {
            (connection, seen) = (nil, nil)
            if !isFailing { Log.warning("the keys cannot be read again", ("reason", .string(error.description))) }
            isFailing = true
            return nil
        }
    }

    private mutating func open() throws(StorageError) -> any SQLDatabase {
        if let connection { return connection }
        let opened = try location.connect(.reading)
        connection = opened
        return opened
    }
}
